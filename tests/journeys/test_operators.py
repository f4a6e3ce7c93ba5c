"""Owners and operators who run the bot from chats of their own."""

import re
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from channels.simulators.shared.world import AnyMessage
from gateway.testing.model import Call, Reply
from tests.journeys.house import House, house, said, slow
from tests.journeys.streets import DiscordStreet, PlatformStreet, SlackStreet, TelegramStreet, WebStreet, street

CODE = re.compile(r"\b[2-9A-HJ-NP-Z]{4}(?:-[2-9A-HJ-NP-Z]{4}){3}\b")
FOR_OPERATORS = ("/users", "/requests", "/approve 1", "/deny 1", "/block 1", "/role 1 member", "/invite")


async def let_in(here: House, person: int, role: str | None = None) -> None:
    here.sim.say(person, "/start")
    await here.told(person, "private")
    requests = (await here.operator("GET /v1/pairing"))["requests"]
    (request,) = [one["request"] for one in requests if one["sender"] == f"telegram:{person}"]
    await here.operator(f"POST /v1/pairing/{request}/approve")
    await here.told(person, "You are in")
    if role is not None:
        await here.operator(f"POST /v1/users/telegram:{person}/role", {"role": role})


@pytest.mark.timeout(60)
async def test_an_owner_is_asked_where_they_are_and_every_card_shows_the_verdict(tmp_path: Path) -> None:
    street = DiscordStreet()
    async with AsyncExitStack() as stack:
        await street.open(stack)
        here = await stack.enter_async_context(house(tmp_path, access="pairing", environ=street.environ()))
        street.here = here
        await street.ready(stack, 1)
        await let_in(here, 1)
        await let_in(here, 2, "owner")
        here.model.answers(Reply("Scales are patience."))
        await street.say(7, "How do I practise scales?")
        await street.reads(7, "private")
        owners = {owner: TelegramStreet() for owner in (1, 2)}
        cards = {}
        for owner, chat in owners.items():
            chat.here = here
            message, _, buttons = await chat.reads(owner, "(discord:7) asks")
            cards[owner] = message, buttons
        for owner, label in ((1, "Approve"), (2, "Deny")):
            message, buttons = cards[owner]
            await owners[owner].press(owner, message, buttons[label])
        late = "Nothing was changed"
        await here.until(lambda: any(late in text for who in owners for text in here.texts(who)), "a press too late")
        await here.settled()
        first = next(owner for owner in owners if not any(late in text for text in here.texts(owner)))
        verdict = {1: "Approved", 2: "Denied"}[first]
        for owner in owners:
            by = "you" if owner == first else f"Person {first}"
            await here.told(owner, f"(discord:7) asked to be let in. {verdict} by {by}.")
            assert not [text for text in here.texts(owner) if "(discord:7) asks" in text]
        assert ("discord:7" in await street.roles()) == (first == 1)
        if first == 1:
            await street.reads(7, "Scales are patience.")


async def test_only_operators_decide_in_their_chat(tmp_path: Path) -> None:
    async with house(tmp_path, access="pairing", model=None) as here:
        await let_in(here, 1)
        await let_in(here, 2)
        await let_in(here, 3, "operator")
        for count, command in enumerate(FOR_OPERATORS, 1):
            here.sim.say(2, command)
            name = command.split()[0]
            await here.told(2, f"{name} is for operators")
            assert count == sum("is for operators" in text for text in here.texts(2))
        here.sim.say(2, "/help")
        assert "/block" not in (await here.told(2, "/language")).text
        here.sim.say(3, "/users")
        assert 3 == (await here.told(3, "operator (you)")).text.count("(telegram:")
        for attempt in ("/role telegram:1 member", "/block telegram:1", "/role telegram:3 owner"):
            here.sim.say(3, attempt)
        await here.until(lambda: 3 == sum("not below yours" in text for text in here.texts(3)), "three refusals")
        here.sim.say(1, "/role telegram:1 member")
        await here.told(1, "not below yours")
        here.sim.say(3, "/invite")
        (code, *_) = CODE.findall((await here.told(3, "An invitation")).text)
        here.sim.say(9, code)
        await here.told(9, "You are in")
        kept = await here.rows("SELECT rendered, plain FROM outbox")
        assert not [row for row in kept if code in str(row)]
        here.sim.say(3, "/block telegram:9")
        await here.told(3, "is blocked")
        known = (await here.operator("GET /v1/users"))["users"]
        roles = {user["senders"][0]: user["role"] for user in known}
        expected = {"telegram:1": "owner", "telegram:2": "member", "telegram:3": "operator", "telegram:9": "blocked"}
        assert expected == roles
        audit = (await here.operator("GET /v1/audit"))["changes"]
        operator = next(user["user"] for user in known if user["senders"] == ["telegram:3"])
        assert {"invite_made", "person_blocked"} <= {row["action"] for row in audit if row["by"] == operator}


async def test_in_a_group_nothing_is_told_of_people(tmp_path: Path) -> None:
    """Cover A35."""
    allowed = '[access.accounts."telegram:main"]\nallow_groups = ["telegram:-1001"]\n'
    async with house(tmp_path, access="pairing", model=None, config=allowed) as here:
        await let_in(here, 1)
        await let_in(here, 2)
        here.sim.add_chat(-1001, "supergroup")
        here.sim.say(-1001, f"/users@{here.sim.world.bot().username}", person=1)
        await here.told(-1001, "direct chat with me only")
        said = here.telegram.say(1, "hello")
        await here.told(1, "Hello!")
        here.telegram.edit(1, said, "/block telegram:2")
        here.sim.say(1, "/requests")
        await here.told(1, "Nobody waits")
        assert {"owner", "member"} == {user["role"] for user in (await here.operator("GET /v1/users"))["users"]}


async def heard_in_a_room(tmp_path: Path, kind: Callable[[], PlatformStreet]) -> None:
    async with street(kind, tmp_path, people=2) as here:
        assert isinstance(here, PlatformStreet)
        side, model = here.side, here.here.model
        group = f"/group{side.mention}" if kind is TelegramStreet else f"{side.mention} /group"
        await here.let_in(1)
        await here.let_in(2)
        room = side.room(9)

        def told() -> list[AnyMessage]:
            return side.answers(room, person=1)

        async def reads(words: str) -> AnyMessage:
            await here.here.until(lambda: any(words in one.text for one in told()), f"{words!r} in the room")
            return next(one for one in told() if words in one.text)

        async def asks(person: int, words: str, answer: str) -> None:
            side.say(room, words, person=person)
            await reads(answer)

        side.say(room, f"{side.mention} may I?", person=2)
        model.answers(Reply("Hello Ana."), Reply("Hello Bea."), Reply("To all."))
        side.say(room, f"{side.mention} hello", person=1)
        asked = await reads("not allowed yet")
        assert 1 == len(told())
        for presser in (2, 1):
            side.press(room, asked.message_id, dict(asked.buttons)["Allow this channel"], person=presser)
        await reads("is allowed")
        await reads("Hello Ana.")
        assert [asked.message_id] == [one.message_id for one in told() if "allowed this channel" in one.text]
        await asks(2, f"{side.mention} and now?", "Hello Bea.")
        await asks(2, f"{group} all", "group is for operators")
        await asks(1, f"{group} all", "I answer every message here")
        await asks(2, "nobody in particular", "To all.")
        await asks(1, f"{group} mention", "I answer when you mention me")
        for most, heard in ((0, False), (1, True)):
            side.say(room, f"{group} context {most}", person=1)
            await reads(f"read the last {most} messages" if most != 1 else "read the last message")
            side.say(room, f"tea at {most}", person=2)
            side.say(room, f"cake at {most}", person=2)
            model.answers(Reply(f"Noted {most}."))
            side.say(room, f"{side.mention} when?", person=2)
            await reads(f"Noted {most}.")
            asked = said(model.requests[-1].body)[-1]
            assert (heard, False) == (f"cake at {most}" in asked, f"tea at {most}" in asked)
        await asks(1, f"{group} off", "do not answer in this channel")
        before = len(told())
        side.say(room, f"{side.mention} still there?", person=2)
        await here.here.settled()
        assert before == len(told())
        assert 6 == str((await here.here.operator("GET /v1/audit"))["changes"]).count("group_changed")


@pytest.mark.timeout(60)
async def test_a_group_is_allowed_from_the_chat_itself(tmp_path: Path) -> None:
    await heard_in_a_room(tmp_path, TelegramStreet)


@pytest.mark.gate
@pytest.mark.timeout(90)
@pytest.mark.parametrize("kind", [DiscordStreet, SlackStreet])
async def test_a_channel_is_allowed_from_itself(tmp_path: Path, kind: Callable[[], PlatformStreet]) -> None:
    await heard_in_a_room(tmp_path, kind)


@pytest.mark.gate
@pytest.mark.timeout(90)
async def test_a_visitor_of_the_page_says_who_they_are(tmp_path: Path) -> None:
    page, chat = WebStreet(), TelegramStreet()
    async with street(lambda: page, tmp_path, people=1) as here:
        chat.here = here.here
        await chat.let_in(5)
        await here.say(1, "hello")
        await here.reads(1, "tell me your name")
        for name in ("Ana", "Mallory"):
            await here.say(1, f"/name {name}")
        await here.reads(1, "Thank you, <code>Ana")
        await chat.reads(5, "Ana (web:")
        await here.here.settled()
        assert ["Ana"] == [request["name"] for request in (await here.here.operator("GET /v1/pairing"))["requests"]]


@pytest.mark.gate
async def test_a_turn_of_a_person_who_is_let_in_no_more_runs_no_further_tool(tmp_path: Path) -> None:
    """Cover A33."""
    async with house(tmp_path, access="pairing") as here:
        await let_in(here, 1)
        await let_in(here, 2)
        calls = (Call("get_user_skills", "{}", id="one"),)
        here.model.answers(replace(slow("Let me look at your skills, one by one."), calls=calls))
        here.sim.say(2, "how do I do?")
        await here.asked()
        await here.operator("POST /v1/users/telegram:2/revoke", {"account": "telegram:main"})
        await here.settled()
        (turn,) = await here.rows("SELECT end_reason FROM turns")
        assert "stopped" == turn["end_reason"]
        assert 1 == len(here.model.requests)


@pytest.mark.gate
async def test_a_turn_taken_up_after_a_restart_runs_no_tool_for_who_was_let_in_no_more(tmp_path: Path) -> None:
    """Cover A33."""
    for undo in ("DELETE FROM grants WHERE user_id = :who", "UPDATE users SET role = 'member' WHERE id = :who"):
        home = tmp_path / undo[:6]
        home.mkdir()
        async with house(home, access="pairing") as here:
            await let_in(here, 1)
            await let_in(here, 2)
            (user,) = [
                u["user"] for u in (await here.operator("GET /v1/users"))["users"] if u["senders"] == ["telegram:2"]
            ]
            if undo.startswith("UPDATE"):  # let in by a role alone
                await here.operator("POST /v1/users/telegram:2/role", {"role": "operator"})
                await here.operator("POST /v1/users/telegram:2/revoke", {"account": "telegram:main"})
            here.model.answers(slow("Let me look at your skills, one by one.", 30.0))
            here.sim.say(2, "how do I do?")
            await here.asked()
        engine = sa.create_engine(f"sqlite:///{home / 'home' / 'tenk.db'}")
        with engine.begin() as connection:
            connection.execute(sa.text(undo), {"who": user})
        engine.dispose()
        async with house(home, access="pairing") as here:
            await here.settled()
            (turn,) = await here.rows("SELECT end_reason FROM turns")
            assert "stopped" == turn["end_reason"]
            assert not here.model.requests


@pytest.mark.gate
async def test_whatever_help_names_on_slack_can_be_typed_there(tmp_path: Path) -> None:
    async with street(SlackStreet, tmp_path, people=1, model=None) as here:
        assert isinstance(here, SlackStreet)
        await here.let_in(1)
        chat = here.side.direct(1)
        here.side.command(chat, "coach", "help")
        listed = (await here.reads(1, "/log"))[1]
        names = re.findall(r"/(coach /?\w+|\w+)", listed)
        behind = [name.removeprefix("coach ") for name in names if name.startswith("coach ")]
        assert {"/help", "usage", "/name", "/role"} <= set(behind) and {"log", "sessions"} <= set(names)
        for name in behind:
            before = len(here.side.messages(chat, 1))
            here.side.command(chat, "coach", name)
            await here.here.until(partial(_has_more, here, chat, before), f"an answer to /coach {name}")
        assert not [text for _, text, _ in here.seen(1) if "I don't know /" in text]


def _has_more(here: SlackStreet, chat: str, before: int) -> bool:
    return len(here.side.messages(chat, 1)) > before
