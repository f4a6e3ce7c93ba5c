"""Sessions over a real store: what a message, a stop, an edit and a crash do to the turn that runs."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from agent.errors import FailureKind
from agent.ports import ModelFailure, Turn, TurnPort
from agent.transcript import EndReason, ModelResponded, ToolCall, UserItem
from channels.base import Sign
from channels.messages import InboundEvent, InboundMessage
from gateway.delivery.config import DeliveryConfig
from gateway.guard import GuardConfig, InputGuard
from gateway.sessions.config import SessionsConfig
from gateway.sessions.items import Reader
from gateway.store.tables.turns import events, turns
from tests.fakes.agents import a_tool
from tests.fakes.chat import FakeChannel
from tests.fakes.spine import Spine, quick_store


@pytest.fixture
async def spine(tmp_path: Path) -> AsyncIterator[Spine]:
    """Parts over a fresh store, begun."""
    store = await quick_store(tmp_path / "tenk.db")
    spine = Spine(store)
    await spine.begin()
    yield spine
    await spine.kill()
    await store.aclose()


async def kinds_of(spine: Spine) -> list[str]:
    """The kinds of everything journaled, in order."""
    query = sa.select(events.c.kind).order_by(events.c.session_id, events.c.seq)
    return await spine.store.read(lambda connection: list(connection.execute(query).scalars()))


def said_to_the_model(spine: Spine) -> list[str]:
    """What people had said by the newest request."""
    return [item.text for item in spine.model.requests[-1].items if isinstance(item, UserItem)]


async def test_a_message_is_answered(spine: Spine) -> None:
    """One message, one turn, one answer, one outcome."""
    row = await spine.say("hello")
    await spine.asked()
    spine.model.give("hi there")
    await spine.quiet()
    assert ["hi there"] == spine.channel.shown()
    assert {row: "answered"} == await spine.outcomes()


async def test_what_comes_mid_turn_steers_and_is_merged(spine: Spine) -> None:
    """A message that arrives while the model works is read before the turn ends; the answer before it stands."""
    first = await spine.say("hello")
    await spine.asked()
    second = await spine.say("and this")
    await spine.quiet()
    spine.model.give("one")
    await spine.asked()
    assert ["hello", "and this"] == said_to_the_model(spine)
    spine.model.give("two")
    await spine.quiet()
    assert ["one\n\ntwo"] == spine.channel.shown()
    assert {first: "answered", second: "merged"} == await spine.outcomes()
    assert [("2", Sign.STEERED)] == spine.channels.reactions


async def test_a_stop_clears_what_waits_and_says_so(spine: Spine) -> None:
    """F55: the turn ends, the queue is cleared, the person is told both; the next message works."""
    await spine.say("/mode followup")
    await spine.quiet()
    first = await spine.say("one")
    await spine.asked()
    second = await spine.say("two")
    stop = await spine.say("/stop")
    await spine.quiet()
    outcomes = await spine.outcomes()
    assert ("cleared", "cleared", "answered") == (outcomes[first], outcomes[second], outcomes[stop])
    assert "two" in spine.channel.shown()[-1]
    await spine.say("three")
    await spine.asked()
    spine.model.give("fine")
    await spine.quiet()
    assert "fine" == spine.channel.shown()[-1]


async def test_a_stop_twice_in_a_row_is_answered_twice(spine: Spine) -> None:
    """The second one has nothing left to do and says so; nothing else is touched."""
    await spine.say("one")
    await spine.asked()
    await spine.say("/stop")
    await spine.say("/stop")
    await spine.quiet()
    assert 2 == len(spine.channel.shown())
    assert {"cleared", "answered"} == set((await spine.outcomes()).values())


async def test_a_stop_in_the_tick_of_the_claim_stops_the_turn(spine: Spine) -> None:
    """F58: a message whose claim is on its way while `/stop` is committed does not run on."""
    for _ in range(20):
        message = spine.message("hello")
        stop = spine.message("/stop")
        first = await spine.admit(message)
        await spine.admit(stop)
        await spine.quiet()
        assert spine.model.asked is None
        assert "cleared" == (await spine.outcomes())[first]


async def test_a_stopped_turn_stays_stopped_after_a_crash(spine: Spine) -> None:
    """`/stop` was committed and told, the turn's own end was not: the next start does not answer after all."""
    stuck: list[TurnPort] = []

    async def stubborn(_turn: Turn, port: TurnPort) -> EndReason:
        stuck.append(port)
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


async def test_in_a_group_a_stop_is_about_ones_own_turn(spine: Spine) -> None:
    """Another member's message never interrupts a turn, a `/stop` of theirs included."""
    await spine.say("mine", "p1", "g1")
    await spine.asked()
    waiting = await spine.say("mine too", "p2", "g1")
    await spine.say("/stop", "p2", "g1")
    await spine.quiet()
    assert spine.model.asked is not None
    assert "cleared" == (await spine.outcomes())[waiting]
    spine.model.give("for p1")
    await spine.quiet()
    assert "for p1" == spine.channel.shown("g1")[-1]


async def test_another_member_never_steers(spine: Spine) -> None:
    """A turn acts for one person: what another one says in the group becomes its own turn, after it."""
    first = await spine.say("mine", "p1", "g1")
    await spine.asked()
    other = await spine.say("theirs", "p2", "g1")
    await spine.quiet()
    assert [("2", Sign.QUEUED)] == spine.channels.reactions
    spine.model.give("for p1")
    await spine.asked()
    assert "theirs" == said_to_the_model(spine)[-1]
    spine.model.give("for p2")
    await spine.quiet()
    assert {first: "answered", other: "answered"} == await spine.outcomes()
    assert ["for p1", "for p2"] == spine.channel.shown("g1")


async def test_new_mid_turn_loses_nothing_of_the_old_journal(spine: Spine) -> None:
    """F60: the old turn's end is journaled in its own generation, and the new one begins without history."""
    await spine.say("old")
    await spine.asked()
    spine.model.stream("begun")
    await spine.say("/new")
    await spine.quiet()
    assert ["turn_started", "turn_ended"] == await kinds_of(spine)
    await spine.say("fresh")
    await spine.asked()
    assert ["fresh"] == said_to_the_model(spine)
    spine.model.give("yes")
    await spine.quiet()
    assert 2 == (await kinds_of(spine)).count("turn_ended")


async def test_mode_followup_mid_turn_makes_the_next_message_wait(spine: Spine) -> None:
    """`/mode` holds for the running turn at once."""
    first = await spine.say("one")
    await spine.asked()
    await spine.say("/mode followup")
    await spine.quiet()
    second = await spine.say("two")
    spine.model.give("answer one")
    await spine.asked()
    assert ["one", "two"] == said_to_the_model(spine)
    spine.model.give("answer two")
    await spine.quiet()
    outcomes = await spine.outcomes()
    assert ("answered", "answered") == (outcomes[first], outcomes[second])
    assert ("3", Sign.QUEUED) in spine.channels.reactions


async def test_command_and_message_at_once_in_a_fresh_session_share_no_place_in_the_journal(spine: Spine) -> None:
    """Both read the session for the first time; what the turn journals is all there."""
    for text in ("hello", "/mode", "/mode", "/mode"):
        await spine.say(text)
    await spine.asked()
    await spine.quiet()
    spine.model.give("hi")
    await spine.quiet()
    assert ["turn_started", "model_responded", "turn_ended"] == await kinds_of(spine)


async def test_an_edit_of_a_waiting_message_is_what_is_answered(spine: Spine) -> None:
    """F59: it takes the message's place and its own row is settled as replaced."""
    await spine.say("/mode followup")
    await spine.quiet()
    await spine.say("one")
    await spine.asked()
    typo = spine.message("tow")
    waiting = await spine.admit(typo)
    edit = await spine.say("two", message_id=typo.message_id, edited=True)
    await spine.quiet()
    spine.model.give("answer one")
    await spine.asked()
    assert "two" in said_to_the_model(spine)[-1]
    spine.model.give("answer two")
    await spine.quiet()
    outcomes = await spine.outcomes()
    assert ("answered", "replaced") == (outcomes[waiting], outcomes[edit])


async def test_an_edit_of_what_waits_for_a_slot_is_what_is_answered(tmp_path: Path) -> None:
    """The message has left the mailbox and no turn has claimed it yet: the edit still holds."""
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


async def test_a_message_deleted_before_it_steered_is_not_read(spine: Spine) -> None:
    """F59: what was taken back while the model worked is in no transcript."""
    await spine.say("one")
    await spine.asked()
    regret = spine.message("never mind this")
    row = await spine.admit(regret)
    await spine.take_back(regret.message_id)
    await spine.quiet()
    spine.model.give("answer")
    await spine.quiet()
    if spine.model.asked is not None:
        spine.model.give("again")
        await spine.quiet()
    assert "cleared" == (await spine.outcomes())[row]
    assert all(said_to_the_model(spine) == ["one"] for _ in spine.model.requests)


async def test_a_person_who_is_shut_out_mid_turn_gets_no_further_tool(tmp_path: Path) -> None:
    """A33: the next tool is refused, the turn ends."""
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


async def test_a_turn_of_somebody_shut_out_is_not_gone_on_with(spine: Spine) -> None:
    """A33: also not after a restart, with a role made up for them."""
    await spine.say("hello")
    await spine.asked()
    await spine.kill()
    del spine.people.known["p1"]
    asked = len(spine.model.requests)
    await spine.begin()
    await spine.quiet()
    assert asked == len(spine.model.requests)
    assert None not in (await spine.outcomes()).values()


async def test_a_crash_goes_on_from_the_journal(spine: Spine) -> None:
    """D5: the turn is taken up, its message is answered once."""
    row = await spine.say("hello")
    await spine.asked()
    await spine.kill()
    await spine.begin()
    await spine.asked()
    spine.model.give("after all")
    await spine.quiet()
    assert ["after all"] == spine.channel.shown()
    assert {row: "answered"} == await spine.outcomes()


async def test_a_turn_that_breaks_three_times_is_apologised_for(spine: Spine) -> None:
    """D5: counted at each attempt, then failed, and the person is told."""

    async def broken(_turn: Turn, _port: TurnPort) -> EndReason:
        raise KeyError("a bug")

    await spine.kill()
    spine.agent = broken
    await spine.begin()
    row = await spine.say("hello")
    await spine.quiet()
    assert ["Something broke."] == spine.channel.shown()
    assert {row: "failed"} == await spine.outcomes()


async def test_a_turn_that_was_abandoned_is_apologised_for_at_the_next_start(spine: Spine) -> None:
    """No row is left without an outcome because even the apology failed once."""
    await spine.say("hello")
    await spine.asked()
    await spine.kill()
    await spine.store.write(lambda connection: connection.execute(sa.update(turns).values(attempts=9)))
    await spine.begin()
    await spine.quiet()
    assert ["Something broke."] == spine.channel.shown()
    assert ["failed"] == list((await spine.outcomes()).values())


async def test_what_cannot_even_begin_is_told_and_the_gateway_lives(spine: Spine) -> None:
    """A message that breaks its reading is failed; the one after it is answered."""

    class Picky(Reader):
        def read(self, event: InboundEvent, *more: object) -> UserItem | None:
            if isinstance(event, InboundMessage) and event.text == "bad":
                raise KeyError("a bug")
            return super().read(event, *more)

    await spine.kill()
    spine.reader = Picky(InputGuard(GuardConfig()))
    await spine.begin()
    bad = await spine.say("bad")
    good = await spine.say("good", "p2", "c2")
    await spine.asked()
    spine.model.give("fine")
    await spine.quiet()
    assert ["Something broke."] == spine.channel.shown("c1")
    assert ["fine"] == spine.channel.shown("c2")
    assert {bad: "failed", good: "answered"} == await spine.outcomes()


async def test_an_answer_of_which_nothing_is_left_is_not_silence(tmp_path: Path) -> None:
    """The last look may take everything away; the person reads that it did."""
    store = await quick_store(tmp_path / "clean.db")
    spine = Spine(store, clean=lambda _text: "  ")
    await spine.begin()
    await spine.say("hello")
    await spine.asked()
    spine.model.give("<tool>secret</tool>")
    await spine.quiet()
    assert ["My answer came out empty. Please ask me again."] == spine.channel.shown()
    await spine.kill()
    await store.aclose()


@pytest.mark.parametrize("end", ["answer", "empty", "stop", "failure", "crash"])
async def test_no_placeholder_stays_open(tmp_path: Path, end: str) -> None:
    """Whatever ends a turn whose live answer is shown, "…" is not what the person is left with."""
    store = await quick_store(tmp_path / "live.db")
    live = DeliveryConfig(typing_after_s=0.0, placeholder_after_s=0.0)
    spine = Spine(store, live=live, clean=(lambda _text: "") if end == "empty" else str)
    await spine.begin()
    await spine.say("hello")
    await spine.asked()
    await spine.until(lambda: spine.channel.shown() == ["…"])
    await spine.quiet()
    if end == "stop":
        await spine.say("/stop")
    elif end == "crash":
        await spine.kill()
        await spine.begin()
        await spine.asked()
        spine.model.give("done")
    elif end == "failure":
        spine.model.give(ModelFailure(FailureKind.AUTH, "no key"))
    else:
        spine.model.give("done")
    await spine.quiet()
    assert "…" not in spine.channel.shown()
    assert None not in (await spine.outcomes()).values()
    if end in {"answer", "crash"}:
        assert ["done"] == spine.channel.shown()
    await spine.kill()
    await store.aclose()


async def test_a_live_answer_that_breaks_leaves_the_turn_alone(tmp_path: Path) -> None:
    """A bug in showing an answer as it grows costs the showing, not the answer, not the gateway."""
    store = await quick_store(tmp_path / "broken.db")
    live = DeliveryConfig(typing_after_s=0.0, placeholder_after_s=0.0)
    spine = Spine(store, live=live)
    spine.channel.sign_error = KeyError("a bug in the adapter")
    await spine.begin()
    await spine.say("hello")
    await spine.asked()
    await spine.until(lambda: spine.channel.typed > 0)
    spine.model.give("done")
    await spine.quiet()
    assert ["done"] == spine.channel.shown()[-1:]
    await spine.kill()
    await store.aclose()


async def test_a_mailbox_over_its_bound_answers_everything_in_order(tmp_path: Path) -> None:
    """F57: what does not fit stays in the inbox; commands and deletions among it cut nothing off and start no turn."""
    store = await quick_store(tmp_path / "full.db")
    spine = Spine(store, sessions=SessionsConfig(mailbox_size=2, mode="followup"))
    spine.model.answer_at_once = lambda request: ModelResponded(
        0, next(item.text for item in reversed(request.items) if isinstance(item, UserItem)).upper()
    )
    await spine.begin()
    await spine.kill()
    rows = []
    for number in range(12):
        if number % 3 == 2:
            rows.append(await spine.admit(spine.message("/mode"), silently=True))
        rows.append(await spine.admit(spine.message(f"m{number}", "p2" if number % 2 else "p1", "g1"), silently=True))
        await spine.store.write(lambda _: None)
    await spine.begin()
    await spine.until(lambda: len(spine.channel.shown("g1")) >= 12)
    await spine.quiet()
    answered = [word for text in spine.channel.shown("g1") for word in text.split()]
    assert [f"M{number}" for number in range(12)] == answered
    assert None not in (await spine.outcomes()).values()
    await spine.kill()
    await store.aclose()


async def test_more_commands_than_memory_holds_all_run(tmp_path: Path) -> None:
    """What a session's command lane does not keep is read from the store."""
    store = await quick_store(tmp_path / "commands.db")
    spine = Spine(store)
    await spine.begin()
    await spine.kill()
    rows = [await spine.admit(spine.message("/mode"), silently=True) for _ in range(130)]
    await spine.begin()
    await spine.until(lambda: len(spine.channel.shown()) >= len(rows))
    await spine.quiet()
    assert {"answered"} == set((await spine.outcomes()).values())
    await spine.kill()
    await store.aclose()


async def test_what_waited_over_a_day_is_told_as_missed(spine: Spine) -> None:
    """D7: once for all that did, never answered; what comes now is answered."""
    await spine.kill()
    old = [await spine.admit(spine.message(text), silently=True) for text in ("one", "two")]
    spine.later(hours=25)
    await spine.begin()
    await spine.quiet()
    assert [] == spine.model.requests
    assert 1 == len(spine.channel.shown())
    assert "25 hours" in spine.channel.shown()[0]
    assert dict.fromkeys(old, "failed") == await spine.outcomes()


async def test_a_turn_that_was_cut_over_a_day_ago_is_told_as_missed(spine: Spine) -> None:
    """D7: nobody wants yesterday's answer today."""
    await spine.say("hello")
    await spine.asked()
    await spine.kill()
    asked = len(spine.model.requests)
    spine.later(hours=30)
    await spine.begin()
    await spine.quiet()
    assert asked == len(spine.model.requests)
    assert "30 hours" in spine.channel.shown()[-1]


async def test_an_account_taken_out_of_the_configuration_stops_nobody(spine: Spine) -> None:
    """Its turns, rows and parts wait in the store until it is back; the others go on."""
    await spine.say("hello")
    await spine.asked()
    await spine.kill()
    removed = spine.channels
    other = FakeChannel(name="other")
    spine.channel, spine.channels = other, type(removed)(other)
    await spine.begin()
    row = await spine.say("hi", channel="other")
    await spine.asked()
    spine.model.give("fine")
    await spine.quiet()
    assert ["fine"] == other.shown()
    outcomes = await spine.outcomes()
    assert ("answered", [None]) == (outcomes.pop(row), list(outcomes.values()))


async def test_a_channel_that_never_loads_holds_up_no_other(tmp_path: Path) -> None:
    """Its messages wait without a slot, the missed ones too; other channels are answered."""
    store = await quick_store(tmp_path / "dead.db")
    spine = Spine(store, sessions=SessionsConfig(max_turns=1))
    spine.channels.never_loads("dead")
    await spine.begin()
    await spine.admit(spine.message("anybody there?", channel="dead"))
    await spine.kill()
    spine.later(hours=25)
    await spine.begin()
    await spine.admit(spine.message("still nobody?", channel="dead"))
    row = await spine.say("hello", "p2", "c2")
    await spine.asked()
    spine.model.give("here")
    await spine.quiet()
    assert "answered" == (await spine.outcomes())[row]
    await spine.kill()
    await store.aclose()


async def test_closing_begins_no_further_turn(spine: Spine) -> None:
    """D7: what runs goes on to its end, what waits is left to the next start."""
    await spine.say("/mode followup")
    await spine.quiet()
    await spine.say("one")
    await spine.asked()
    waiting = await spine.say("two")
    await spine.quiet()
    spine.router.close()
    spine.model.give("answer one")
    await spine.quiet()
    assert spine.model.asked is None
    assert not spine.router.busy
    assert (await spine.outcomes())[waiting] is None
    await spine.kill()
    await spine.begin()
    await spine.asked()
    assert "two" == said_to_the_model(spine)[-1]
