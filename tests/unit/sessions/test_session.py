"""Sessions over a real store: messages, stops, edits and crashes while a turn runs."""

import asyncio
from pathlib import Path

import sqlalchemy as sa

from agent.ports import Turn, TurnPorts
from agent.transcript import EndReason, ModelResponded, ToolCall, UserItem
from channels.base import Channel, Reaction
from channels.messages import InboundEvent, InboundMessage
from gateway.safety.guard import GuardConfig, InputGuard
from gateway.sessions.config import SessionsConfig
from gateway.sessions.user_items import UserItemBuilder
from gateway.store.journal import TurnRow
from gateway.store.tables.turns import events
from tests.fakes.agents import a_tool
from tests.fakes.spine import KEY, Spine, quick_store


async def kinds_of(spine: Spine) -> list[str]:
    query = sa.select(events.c.kind).order_by(events.c.session_id, events.c.seq)
    return await spine.store.read(lambda connection: list(connection.execute(query).scalars()))


def said_to_the_model(spine: Spine) -> list[str]:
    return [item.text for item in spine.model.requests[-1].items if isinstance(item, UserItem)]


async def test_a_stop_twice_in_a_row_is_answered_twice(spine: Spine) -> None:
    await spine.say("one")
    await spine.asked()
    await spine.say("/stop")
    await spine.say("/stop")
    await spine.quiet()
    assert 2 == len(spine.channel.shown())
    assert {"cleared", "answered"} == set((await spine.outcomes()).values())


async def test_a_stop_in_the_tick_of_the_claim_stops_the_turn(spine: Spine) -> None:
    """Cover F58."""
    for _ in range(20):
        message = spine.message("hello")
        stop = spine.message("/stop")
        first = await spine.admit(message)
        await spine.admit(stop)
        await spine.quiet()
        assert spine.model.asked is None
        assert "cleared" == (await spine.outcomes())[first]


async def test_a_stopped_turn_stays_stopped_after_a_crash(spine: Spine) -> None:
    stuck: list[TurnPorts] = []

    async def stubborn(_turn: Turn, ports: TurnPorts) -> EndReason:
        stuck.append(ports)
        await asyncio.Event().wait()
        return EndReason.COMPLETED

    await spine.kill()
    spine.agent = stubborn
    await spine.begin()
    first = await spine.say("hello")
    await spine.until(lambda: bool(stuck))
    await spine.say("/stop")
    await spine.quiet()
    await spine.kill()
    spine.agent = None
    await spine.begin()
    await spine.quiet()
    assert spine.model.asked is None
    assert [] == spine.model.requests
    assert "cleared" == (await spine.outcomes())[first]
    assert 1 == len(spine.channel.shown())


async def test_a_stop_that_passes_another_command_by_does_not_swallow_it(spine: Spine) -> None:
    await spine.kill()
    await spine.begin()
    rows = [spine.message(text, user, "g1") for user, text in (("p1", "/stop"), ("p1", "/mode"), ("p2", "/stop"))]
    for user, message in zip(("p1", "p1", "p2"), rows, strict=True):
        await spine.admit(message, user)
    await spine.quiet()
    assert ["answered"] * 3 == list((await spine.outcomes()).values())


async def test_a_stop_of_now_does_not_swallow_one_from_before_a_crash(spine: Spine) -> None:
    """Cover F58."""
    for _ in range(5):
        await spine.say("hello", "p1", "g1")
        await spine.say("/stop", "p1", "g1")
        await spine.kill()
        await spine.begin()
        await spine.say("/stop", "p2", "g1")
        await spine.quiet()
        assert None not in (await spine.outcomes()).values()


async def test_new_mid_turn_loses_nothing_of_the_old_journal(spine: Spine) -> None:
    """Cover F60."""
    await spine.say("old")
    await spine.asked()
    spine.model.stream("begun")
    await spine.say("/new")
    await spine.quiet()
    assert ["turn_started", "response_discarded", "turn_ended"] == await kinds_of(spine)
    await spine.say("fresh")
    await spine.asked()
    assert ["fresh"] == said_to_the_model(spine)
    spine.model.give("yes")
    await spine.quiet()
    assert 2 == (await kinds_of(spine)).count("turn_ended")


async def test_mode_followup_mid_turn_makes_the_next_message_wait(spine: Spine) -> None:
    first = await spine.say("one")
    await spine.asked()
    await spine.say("/mode followup")
    await spine.quiet()
    second = await spine.say("two")
    await spine.quiet()
    spine.model.give("answer one")
    await spine.asked()
    assert ["one", "two"] == said_to_the_model(spine)
    spine.model.give("answer two")
    await spine.quiet()
    outcomes = await spine.outcomes()
    assert ("answered", "answered") == (outcomes[first], outcomes[second])
    assert ("3", Reaction.QUEUED) in spine.channels.reactions


async def test_command_and_message_at_once_in_a_fresh_session_share_no_place_in_the_journal(spine: Spine) -> None:
    for text in ("hello", "/mode", "/mode", "/mode"):
        await spine.say(text)
    await spine.asked()
    await spine.quiet()
    spine.model.give("hi")
    await spine.quiet()
    assert ["turn_started", "model_responded", "turn_ended"] == await kinds_of(spine)


async def test_an_edit_of_what_waits_for_a_slot_is_what_is_answered(tmp_path: Path) -> None:
    store = await quick_store(tmp_path / "one.db")
    spine = Spine(store, sessions=SessionsConfig(max_turns=1))
    await spine.begin()
    await spine.say("occupied", "p2", "c2")
    await spine.asked()
    typo = spine.message("tow")
    await spine.admit(typo)
    await spine.quiet()
    await spine.say("two", message_id=typo.message_id, edited=True)
    await spine.quiet()
    spine.model.give("to p2")
    await spine.until(lambda: len(spine.model.requests) == 2)
    await spine.asked()
    assert ["(I changed my earlier message to:) two"] == said_to_the_model(spine)
    await spine.kill()
    await store.aclose()


async def test_a_person_who_is_shut_out_mid_turn_gets_no_further_tool(tmp_path: Path) -> None:
    """Cover A33."""
    ran: list[int] = []

    async def count(_context: object, arguments: object) -> int:
        ran.append(1)
        return 1

    store = await quick_store(tmp_path / "a33.db")
    spine = Spine(store, tools=(a_tool("count", count),))
    await spine.begin()
    row = await spine.say("count")
    await spine.asked()
    del spine.people.known["p1"]
    spine.model.give(ModelResponded(0, "", (ToolCall("c1", "count", "{}"),)))
    await spine.quiet()
    assert [] == ran
    assert spine.model.asked is None
    assert (await spine.outcomes())[row] is not None
    await spine.kill()
    await store.aclose()


async def test_a_turn_of_a_person_shut_out_is_not_continued(spine: Spine) -> None:
    """Cover A33."""
    await spine.say("hello")
    await spine.asked()
    await spine.kill()
    del spine.people.known["p1"]
    asked = len(spine.model.requests)
    await spine.begin()
    await spine.quiet()
    assert asked == len(spine.model.requests)
    assert None not in (await spine.outcomes()).values()


LONG = "x" * 150
"""Near the limit of the fake channel: its client may have split it."""


async def test_what_a_client_split_is_one_turn_and_ends_as_one(spine: Spine) -> None:
    first = await spine.say(LONG)
    second = await spine.say("the end")
    await spine.quiet()
    spine.later(seconds=2)
    await spine.asked()
    assert [f"{LONG}\nthe end"] == said_to_the_model(spine)
    spine.model.give("read")
    await spine.quiet()
    assert {first: "answered", second: "merged"} == await spine.outcomes()


async def test_the_rest_of_a_split_message_is_answered_when_its_beginning_is_taken_back(spine: Spine) -> None:
    """Cover F59."""
    beginning = spine.message(LONG)
    first = await spine.admit(beginning)
    await spine.take_back(beginning.message_id)
    await spine.quiet()
    second = await spine.say("the end")
    await spine.quiet()
    spine.later(seconds=2)
    await spine.asked()
    assert ["the end"] == said_to_the_model(spine)
    spine.model.give("read")
    await spine.quiet()
    outcomes = await spine.outcomes()
    assert ("cleared", "answered") == (outcomes[first], outcomes[second])


async def test_all_rows_of_a_split_message_are_refused_with_it(spine: Spine) -> None:
    await spine.say(LONG)
    await spine.say("the end")
    del spine.people.known["p1"]
    spine.later(seconds=2)
    await spine.until(lambda: not spine.router.session("default", KEY).busy)
    await spine.quiet()
    assert ["refused", "refused"] == list((await spine.outcomes()).values())


async def test_steering_that_cannot_be_read_waits_on(spine: Spine) -> None:
    failures = [KeyError("a bug")]

    class Moody(UserItemBuilder):
        async def build(self, event: InboundEvent, channel: Channel, turn: TurnRow | None = None) -> UserItem | None:
            if isinstance(event, InboundMessage) and event.text == "more" and failures:
                raise failures.pop()
            return await super().build(event, channel)

    await spine.kill()
    spine.reader = Moody(InputGuard(GuardConfig()), "coach")
    await spine.begin()
    first = await spine.say("hello")
    await spine.asked()
    second = await spine.say("more")
    await spine.quiet()
    spine.model.give("one")
    await spine.quiet()
    while spine.model.asked is not None:
        spine.model.give("two")
        await spine.quiet()
    assert {first: "answered", second: "merged"} == await spine.outcomes()
