"""Strangers in intake: their words are kept until they are in, and floods of them exclude no one."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from channels.messages import ButtonPressed, ChatKind, MessageDeleted
from gateway.access import codes
from gateway.access.config import AccessConfig, Policy
from gateway.access.policy import AccessSnapshot, Enrol
from gateway.operators.actions import OperationRefused
from gateway.operators.models import BlockWish
from gateway.store import people
from gateway.store.erasure import Forgotten
from tests.fakes.door import Door, pairing_door
from tests.fakes.people import KEY, NOON


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with pairing_door(tmp_path) as door:
        yield door


# ---------------------------------------------------------------- what was said before


async def test_what_a_stranger_said_last_is_answered_once_they_are_in(door: Door) -> None:
    for text in ("hello?", "How do I practise scales?"):
        await door.say(text)
    assert [] == door.taken
    await door.approve()
    assert ["How do I practise scales?"] == door.taken
    assert "How do I practise" not in str(await door.spine.store.read(_kept))


def _kept(connection: sa.Connection) -> list[str | None]:
    return list(connection.execute(sa.text("SELECT kept FROM tickets")).scalars())


async def test_a_greeting_takes_no_ones_place(door: Door) -> None:
    await door.say("/start", "8")
    await door.say("Can you help me?")
    await door.say("/start")
    await door.approve("8")
    await door.approve("7")
    assert ["Can you help me?"] == door.taken


async def test_what_is_kept_is_bounded_and_holds_no_way_to_be_answered(door: Door) -> None:
    await door.say("x" * 20_000)
    (kept,) = await door.spine.store.read(_kept)
    assert kept is not None
    assert len(kept) < 6_000
    await door.approve()
    assert [4096] == [len(text) for text in door.taken]


async def test_an_edit_changes_what_is_kept_and_a_deletion_takes_it_away(door: Door) -> None:
    said = await door.say("teh question")
    await door.receive(replace(said, event_id="edit:1", text="the question", edited=True))
    await door.approve()
    assert ["the question"] == door.taken
    secret = await door.say("my password is hunter2", "8")
    gone = MessageDeleted(
        event_id="del:1",
        message_id=secret.message_id,
        address=secret.address,
        sender=secret.sender,
        received_at=secret.received_at,
    )
    await door.receive(gone)
    assert [None, None] == await door.spine.store.read(_kept)


@pytest.mark.parametrize("end", ["deny", "block", "expire"])
async def test_nothing_is_kept_of_a_request_that_ends_otherwise(door: Door, end: str) -> None:
    await door.say("please")
    number = (await door.operators.list_requests("cli")).requests[0].request
    if end == "deny":
        await door.operators.deny("cli", number)
    elif end == "block":
        await door.operators.block("cli", BlockWish(who=number))
    else:
        door.spine.later(minutes=61)
        await door.say("hello", "8")
    assert None is (await door.spine.store.read(_kept))[0]


async def test_a_second_approval_takes_nothing_in_again(door: Door) -> None:
    await door.say("once, please")
    number = (await door.operators.list_requests("cli")).requests[0].request
    await door.operators.approve_request("cli", number)
    with pytest.raises(OperationRefused):
        await door.operators.approve_request("cli", number)
    assert ["once, please"] == door.taken


# ---------------------------------------------------------------- floods


async def test_under_a_flood_everybody_is_told_a_code_and_the_operator_of_the_flood(door: Door) -> None:
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
    """Cover A45, A67."""
    event = door.spine.message("hi", "7", "c7")
    await door.receive(replace(event, sender=replace(event.sender, display_name="A\u202eda\x1b[2J\nok")))
    (line,) = door.terminal
    assert "A⟨U+202E⟩da⟨U+001B⟩[2J⟨U+000A⟩ok (sim:7) asks to be let in to sim:main" in line
    number = (await door.operators.list_requests("cli")).requests[0].request
    assert codes.code_of(KEY, number) not in line


# ---------------------------------------------------------------- bounds


def _bounded(**more: object) -> AccessConfig:
    return AccessConfig.model_validate(
        {
            "limits": {"burst_messages": 3, "messages_per_min": 1},
            "accounts": {"sim:main": {"direct": "open", "groups": "open", "allow_groups": ["sim:g1"]}},
        }
        | more
    )


async def test_an_open_accounts_newcomer_is_bounded_from_the_first_message_on(door: Door) -> None:
    door.under(_bounded())
    await door.receive(*[door.spine.message(str(number), "7", "c7") for number in range(300)])
    assert ["0", "1", "2"] == door.taken
    await door.receive(*[door.spine.message(str(number), "7", "c7") for number in range(10)])
    assert 4 == len(door.taken)  # what made them known was free
    assert 1 == len(await door.told())


async def test_talk_in_a_group_that_is_not_meant_for_the_bot_is_never_answered_with_a_notice(door: Door) -> None:
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
    """Cover A34."""
    door.under(_bounded())
    said = await door.say("hello")
    for number in range(10):
        pressed = ButtonPressed(
            event_id=f"press:{number}",
            address=said.address,
            sender=said.sender,
            received_at=NOON,
            message_id="m1",
            kind=ChatKind.DIRECT,
            data="block:web:owner",
        )
        await door.receive(pressed)
    assert 3 == sum(isinstance(row.event, ButtonPressed) for row in door.rows)
    assert 1 == len(await door.told())


# ---------------------------------------------------------------- who was forgotten


async def test_what_was_said_before_its_sender_was_forgotten_is_not_taken_in_again(door: Door) -> None:
    door.under(AccessConfig(direct=Policy.OPEN))
    before = await door.say("one")
    (person,) = await door.spine.store.read(people.everybody)
    mark = door.snapshot.mark("default", before.sender_key)
    forgotten = Forgotten("default", mark, person.user_id, before.received_at)
    door.snapshot.forget(person.user_id, [forgotten])
    await door.receive(replace(before, event_id="read again"))
    assert ["one"] == door.taken
    again = replace(before, event_id="new", received_at=before.received_at + timedelta(seconds=1))
    plan = door.intake.plan(again)
    assert plan is not None and isinstance(plan.decision, Enrol)
    assert person.user_id == plan.decision.newcomer.former_id
    await door.say("two", "8")
    assert ["one", "two"] == door.taken
    later = AccessSnapshot()
    later.begin(b"the key of another home", [forgotten])
    assert not later.is_forgotten(before)


async def test_who_is_not_answered_has_a_line_in_the_log(door: Door) -> None:
    with capture_logs() as logs:
        said = await door.say("the canary sings")
        await door.receive(said)
    (line,) = [line for line in logs if line["event"] == "message_refused"]
    assert ("info", "sim:main", "sim:7", "pairing") == tuple(
        line[key] for key in ("log_level", "account", "sender", "why")
    )
    assert "canary" not in str(logs)
