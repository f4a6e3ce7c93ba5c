"""Strangers at the door: what they say is kept until they are in, invitations let in, and floods shut nobody out."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from channels.messages import ButtonPressed, ChatKind, CommandInvoked, InboundEvent, InboundMessage, MessageDeleted
from gateway.access import codes, invites
from gateway.access.config import AccessConfig
from gateway.access.invites import Terms
from gateway.access.inviting import InviteOperations
from gateway.access.keys import AccessKeys
from gateway.access.operations import AccessChange, AccessOperations, OperationRefused
from gateway.access.policy import AccessSnapshot
from gateway.access.roles import Role
from gateway.intake import Intake
from gateway.reception import Doorway, take_up
from gateway.store.inbox import InboxRow
from tests.fakes.outages import FickleEngine
from tests.fakes.people import KEY, NOON, minutes
from tests.fakes.spine import QuickStore, Spine

KEYS = AccessKeys.derived(KEY)


@dataclass
class Door:
    """An intake in pairing mode over a real store, an operator behind it, and a clock that is moved."""

    spine: Spine
    access: AccessConfig = field(default_factory=AccessConfig)
    snapshot: AccessSnapshot = field(default_factory=AccessSnapshot)
    rows: list[InboxRow] = field(default_factory=list)
    terminal: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.spine.channel.limited(max_text=2000)
        self.operator = AccessOperations(
            self.spine.store, KEY, lambda *_: None, lambda: self.spine.now, self.changed, take_up
        )
        self.inviting = InviteOperations(self.spine.store, KEYS.invites, lambda: self.spine.now)
        self.under(self.access)

    def under(self, access: AccessConfig) -> None:
        """Begin anew with these rules."""
        doorway = Doorway(KEYS, show=self.terminal.append, clock_s=self.seconds)
        self.intake = Intake(
            self.spine.store, access, self.snapshot, self.spine.delivery, self, lambda _key: 0,
            lambda: self.spine.now, doorway,
        )  # fmt: skip

    def seconds(self) -> float:
        """The same clock for bounds."""
        return (self.spine.now - NOON).total_seconds()

    def changed(self, change: AccessChange) -> None:
        """As a running gateway hears of an operation."""
        if change.person is not None:
            self.snapshot.put(change.person)
        if change.row is not None:
            self.rows.append(change.row)

    def publish(self, row: InboxRow) -> None:
        """As the bus does."""
        self.rows.append(row)

    def reread(self) -> None:
        """As the bus does."""

    async def receive(self, *events: InboundEvent) -> None:
        """As a channel hands it in."""
        await self.intake.receive(self.spine.channel, events, (), None, "default")

    async def say(self, text: str, who: str = "7", **more: object) -> InboundMessage:
        """Somebody writes directly."""
        event = self.spine.message(text, who, f"c{who}", **more)
        await self.receive(event)
        return event

    async def told(self, who: str = "7") -> list[str]:
        """What somebody has been told by now."""
        await self.spine.quiet()
        return self.spine.channel.shown(f"c{who}")

    async def approve(self, who: str = "7") -> None:
        """The operator lets somebody in."""
        (request,) = [one["request"] for one in await self.operator.list_requests() if one["sender"] == f"sim:{who}"]
        await self.operator.approve_request(request, "cli")

    async def invite(self, terms: Terms = Terms()) -> str:
        """A code."""
        return str((await self.inviting.make_for(terms, "cli"))["code"])

    @property
    def taken(self) -> list[str]:
        """What was taken in for a turn or a command."""
        return [row.event.text for row in self.rows if isinstance(row.event, InboundMessage)]

    async def everything(self) -> str:
        """All that is kept anywhere."""
        def dump(connection: sa.Connection) -> str:
            tables = connection.execute(sa.text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars().all()
            return "\n".join(str(connection.execute(sa.text(f'SELECT * FROM "{name}"')).all()) for name in tables)

        return await self.spine.store.read(dump)


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    """Nobody is in yet."""
    store = await QuickStore(FickleEngine(tmp_path / "tenk.db")).start()
    spine = Spine(store)
    spine.now = NOON
    await spine.begin()
    yield Door(spine)
    await spine.kill()
    await store.aclose()


# ---------------------------------------------------------------- what was said before


async def test_what_a_stranger_said_last_is_answered_once_they_are_in(door: Door) -> None:
    """Once, as any message; nothing of it is taken in before."""
    for text in ("hello?", "How do I practise scales?"):
        await door.say(text)
    assert [] == door.taken
    await door.approve()
    assert ["How do I practise scales?"] == door.taken
    assert "How do I practise" not in str(await door.spine.store.read(_kept))


def _kept(connection: sa.Connection) -> list[str | None]:
    return list(connection.execute(sa.text("SELECT kept FROM pairing_requests")).scalars())


async def test_a_greeting_takes_no_ones_place(door: Door) -> None:
    """`/start` is met by the welcome; what was asked before it stays."""
    await door.say("/start", "8")
    await door.say("Can you help me?")
    await door.say("/start")
    await door.approve("8")
    await door.approve("7")
    assert ["Can you help me?"] == door.taken


async def test_what_is_kept_is_bounded_and_holds_no_way_to_be_answered(door: Door) -> None:
    """One message of 4,096 characters; a command's own way is over by then, and its token a secret."""
    await door.say("x" * 20_000)
    (kept,) = await door.spine.store.read(_kept)
    assert kept is not None
    assert len(kept) < 6_000
    await door.approve()
    assert [4096] == [len(text) for text in door.taken]


async def test_an_edit_changes_what_is_kept_and_a_deletion_takes_it_away(door: Door) -> None:
    """What a stranger takes back is not answered later, nor kept."""
    said = await door.say("teh question")
    await door.receive(replace(said, event_id="edit:1", text="the question", edited=True))
    await door.approve()
    assert ["the question"] == door.taken
    secret = await door.say("my password is hunter2", "8")
    gone = MessageDeleted(
        event_id="del:1", message_id=secret.message_id, address=secret.address, sender=secret.sender,
        received_at=secret.received_at,
    )  # fmt: skip
    await door.receive(gone)
    assert [None, None] == await door.spine.store.read(_kept)


@pytest.mark.parametrize("end", ["deny", "block", "expire"])
async def test_nothing_is_kept_of_a_request_that_ends_otherwise(door: Door, end: str) -> None:
    """Denied, blocked, run out: the words go with it."""
    await door.say("please")
    number = str((await door.operator.list_requests())[0]["request"])
    if end == "deny":
        await door.operator.deny(number, "cli")
    elif end == "block":
        await door.operator.block(number, "cli")
    else:
        door.spine.later(minutes=61)
        await door.say("hello", "8")
    assert None is (await door.spine.store.read(_kept))[0]


async def test_a_second_approval_takes_nothing_in_again(door: Door) -> None:
    """Nor does a repeated one whose answer nobody heard."""
    await door.say("once, please")
    number = str((await door.operator.list_requests())[0]["request"])
    await door.operator.approve_request(number, "cli")
    with pytest.raises(OperationRefused):
        await door.operator.approve_request(number, "cli")
    assert ["once, please"] == door.taken


# ---------------------------------------------------------------- invitations


@pytest.mark.parametrize("said", ["{0}", "/start {0}", "/pair {1}", " {2} ", "/START@tenk_bot {0}"])
async def test_an_invitation_lets_in_at_once(door: Door, said: str) -> None:
    """As a member, who was told nothing of codes; whatever the spelling."""
    code = await door.invite()
    await door.say(said.format(code, code.replace("-", ""), code.lower()))
    person = door.snapshot.find("default", "sim:7")
    assert "member" == (person and person.role)
    assert ["You are in"] == [text[:10] for text in await door.told()]
    await door.say("hello")
    assert ["hello"] == door.taken


async def test_an_invitation_holds_once(door: Door) -> None:
    """A38: the second to bring it is told that it does not hold, and asks as anybody does."""
    code = await door.invite()
    await door.say(code, "7")
    await door.say(code, "8")
    assert None is door.snapshot.find("default", "sim:8")
    (told,) = await door.told("8")
    assert told.startswith("That invitation does not hold")
    assert codes.BULLETS in told
    assert ["used"] == [one["state"] for one in await door.inviting.list_invites()]


async def test_who_waits_already_is_let_in_by_an_invitation_and_answered(door: Door) -> None:
    """Their request is settled by it."""
    await door.say("What about scales?")
    await door.say(await door.invite())
    assert ["What about scales?"] == door.taken
    assert [] == await door.operator.list_requests()


async def test_an_invitation_ends_and_can_be_taken_back(door: Door) -> None:
    """A37, A47: to the moment, and no clock set back revives it."""
    first, second, third = [await door.invite(Terms(valid=minutes(60))) for _ in range(3)]
    newest, *_ = await door.inviting.list_invites()
    await door.inviting.revoke(str(newest["invite"])[-8:], "cli")
    await door.say(third, "7")
    door.spine.later(minutes=59.9)
    await door.say(first, "8")
    door.spine.later(minutes=0.1)
    await door.say(second, "9")
    await door.spine.store.write(partial(invites.expire, now=door.spine.now))
    door.spine.later(minutes=-30)
    await door.say(second, "10")
    assert ["sim:8"] == [sender for n in (7, 8, 9, 10) if door.snapshot.find("default", sender := f"sim:{n}")]
    states = [one["state"] for one in await door.inviting.list_invites()]
    assert ["revoked", "expired", "used"] == states


async def test_an_invitations_code_is_kept_nowhere(door: Door) -> None:
    """A45: not by whom it let in, not by whom it did not, not by a member who says it, not in the log."""
    used, unused, stranger = await door.invite(), await door.invite(), "2345-6789-ABCD-EFGH"
    with capture_logs() as logs:
        await door.say(f"/start {used}")
        await door.say(f"/start {unused}")
        await door.say(stranger, "8")
        command = CommandInvoked(
            event_id="cmd:1", address=door.spine.message("").address, sender=replace(door.spine.message("").sender, id="9"),
            received_at=NOON, name="start", arguments=unused, kind=ChatKind.DIRECT,
        )  # fmt: skip
        await door.receive(command)
    assert door.snapshot.find("default", "sim:9")
    kept = await door.everything() + str(logs) + "\n".join(door.terminal)
    for code in (used, unused, stranger):
        assert code not in kept
        assert code.replace("-", "") not in kept
    assert [f"/start {codes.BULLETS}"] == door.taken


async def test_guesses_of_a_stranger_are_bounded_and_lock_out_nobody_else(door: Door) -> None:
    """A42, FAULTS 5.3: five in a quarter of an hour, then an hour of nothing, not even the right one."""
    code = await door.invite()
    for guess in range(6):
        await door.say("2345-6789-ABCD-EFG" + "23456789"[guess])
    await door.say(code)
    assert None is door.snapshot.find("default", "sim:7")
    door.spine.later(minutes=59)
    await door.say(code)
    assert None is door.snapshot.find("default", "sim:7")
    await door.say(code, "8")
    assert door.snapshot.find("default", "sim:8")
    door.spine.later(minutes=2)
    await door.say(await door.invite())
    assert door.snapshot.find("default", "sim:7")


async def test_wrong_invitations_lock_no_operator_out(door: Door) -> None:
    """Strangers' tries are not approvers' guesses: a flood of them stops no approval."""
    for number in range(30):
        await door.say("2345-6789-ABCD-EFGH", str(number))
    await door.say("hello", "99")
    waiting = [one for one in await door.operator.list_requests() if one["sender"] == "sim:99"]
    code = codes.code_of(KEY, str(waiting[0]["request"]))
    assert "owner" == (await door.operator.approve(code, "cli"))["role"]


async def test_the_first_by_an_invitation_is_no_owner_but_by_the_link_to_become_it(door: Door) -> None:
    """A colleague with a member's link does not own the bot; the link to own it is void once there is an owner."""
    founding = Terms(Role.OWNER, founding=True)
    old, link = await door.invite(founding), await door.invite(founding)
    await door.say(await door.invite(), "7")
    await door.say(old, "8")
    await door.say(link, "9")
    third = await door.invite(founding)
    await door.say(third, "10")
    roles = {n: person and person.role for n in (7, 8, 9, 10) if (person := door.snapshot.find("default", f"sim:{n}"))}
    assert {7: "member", 9: "owner"} == roles


async def test_the_blocked_come_in_by_no_invitation(door: Door) -> None:
    """And do not use it up."""
    code = await door.invite()
    await door.operator.block("sim:7", "cli")
    await door.say(code, "7")
    assert [] == await door.told("7")
    await door.say(code, "8")
    assert door.snapshot.find("default", "sim:8")


# ---------------------------------------------------------------- floods


async def test_under_a_flood_everybody_is_told_a_code_and_the_operator_of_the_flood(door: Door) -> None:
    """50 puppets that ask every 5 s for three minutes, a person every 10 s: each is told with their first message."""
    await door.say("I run this", "owner")
    await door.approve("owner")
    people: list[str] = []
    with capture_logs() as logs:
        for second in range(0, 180, 5):
            batch = [door.spine.message("let me in", f"puppet{one}", f"cpuppet{one}") for one in range(50)]
            if second % 10 == 0:
                people.append(f"person{second}")
                batch.append(door.spine.message("good morning", people[-1], f"c{people[-1]}"))
            await door.receive(*batch)
            door.spine.later(seconds=5)
    await door.spine.quiet()
    assert [] == [who for who in people if "This bot is private" not in "".join(door.spine.channel.shown(f"c{who}"))]
    owner = await door.told("owner")
    assert 1 == sum("Many strangers are writing" in text for text in owner)
    assert len(owner) <= 45
    assert 1 == sum(one["event"] == "strangers_flood" for one in logs)
    assert ["sim:main"] == list(door.intake.floods)
    door.spine.later(minutes=11)
    assert {} == door.intake.floods


async def test_a_first_morning_is_no_flood(door: Door) -> None:
    """Thirty colleagues who each write three times: the owner is asked about each of them, the terminal as well."""
    await door.say("I run this", "owner")
    await door.approve("owner")
    with capture_logs() as logs:
        for colleague in range(30):
            for text in ("hi", "hello?", "anybody there?"):
                await door.say(text, f"colleague{colleague}")
            door.spine.later(seconds=10)
    assert 30 == sum("asks to be let in" in text for text in await door.told("owner"))
    assert 31 == len(door.terminal)
    assert "tenk pairing approve --request" in door.terminal[-1]
    assert [] == [one for one in logs if one["event"] == "strangers_flood"]


async def test_the_terminal_shows_names_spelled_out_and_no_code(door: Door) -> None:
    """A45, A67: a name moves no cursor and starts no line."""
    event = door.spine.message("hi", "7", "c7")
    await door.receive(replace(event, sender=replace(event.sender, display_name="A\u202eda\x1b[2J\nok")))
    (line,) = door.terminal
    assert "A⟨U+202E⟩da⟨U+001B⟩[2J⟨U+000A⟩ok (sim:7) asks to be let in to sim:main" in line
    number = str((await door.operator.list_requests())[0]["request"])
    assert codes.code_of(KEY, number) not in line


# ---------------------------------------------------------------- bounds


def _bounded(**more: object) -> AccessConfig:
    return AccessConfig.model_validate(
        {"limits": {"burst_messages": 3, "messages_per_min": 1},
         "accounts": {"sim:main": {"direct": "open", "groups": "open", "allow_groups": ["sim:g1"]}}} | more
    )  # fmt: skip


async def test_an_open_accounts_newcomer_is_bounded_from_the_first_message_on(door: Door) -> None:
    """Hundreds of messages in one batch are as many as a known person may send, and one notice."""
    door.under(_bounded())
    await door.receive(*[door.spine.message(str(number), "7", "c7") for number in range(300)])
    assert ["0", "1", "2"] == door.taken
    await door.receive(*[door.spine.message(str(number), "7", "c7") for number in range(10)])
    assert 4 == len(door.taken)  # what made them known was free
    assert 1 == len(await door.told())


async def test_talk_in_a_group_that_is_not_meant_for_the_bot_is_never_answered_with_a_notice(door: Door) -> None:
    """Whatever is over the bound; nor does it use up what its sender may ask the bot."""
    door.under(_bounded())
    talk = [door.spine.message(str(n), "7", "g1", mentions_bot=False) for n in range(100)]
    await door.receive(*talk)
    await door.spine.quiet()
    assert [] == door.spine.channel.shown("g1")
    await door.receive(*[door.spine.message(f"bot, {n}", "7", "g1") for n in range(10)])
    await door.spine.quiet()
    assert 3 <= len(door.taken) <= 4
    assert 1 == len(door.spine.channel.shown("g1"))


async def test_presses_count_as_messages_do(door: Door) -> None:
    """A34: whoever hammers a button is over their bound like whoever hammers the keyboard."""
    door.under(_bounded())
    said = await door.say("hello")
    for number in range(10):
        pressed = ButtonPressed(
            event_id=f"press:{number}", address=said.address, sender=said.sender, received_at=NOON, message_id="m1",
            kind=ChatKind.DIRECT, data="block:web:owner",
        )  # fmt: skip
        await door.receive(pressed)
    assert 3 == sum(isinstance(row.event, ButtonPressed) for row in door.rows)
    assert 1 == len(await door.told())
