"""Ends of turns that break, are cut, come too late or do not fit: each with one outcome, none silent."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from agent.errors import FailureKind
from agent.ports import ModelFailure, Turn, TurnPorts
from agent.transcript import EndReason, ModelResponded, UserItem
from channels.base import Channel
from channels.messages import Address, InboundEvent, InboundMessage
from gateway.delivery.config import DeliveryConfig
from gateway.safety.guard import GuardConfig, InputGuard
from gateway.sessions.config import SessionsConfig
from gateway.sessions.user_items import UserItemBuilder
from gateway.store.journal import TurnRow
from gateway.store.tables.traffic import inbox
from tests.fakes.chat import FakeChannel
from tests.fakes.spine import SORRY, Spine, quick_store


def said_to_the_model(spine: Spine) -> list[str]:
    return [item.text for item in spine.model.requests[-1].items if isinstance(item, UserItem)]


async def test_a_turn_that_breaks_three_times_is_apologised_for(spine: Spine) -> None:

    async def broken(_turn: Turn, _ports: TurnPorts) -> EndReason:
        raise KeyError("a bug")

    await spine.kill()
    spine.agent = broken
    await spine.begin()
    row = await spine.say("hello")
    await spine.quiet()
    assert [SORRY] == spine.channel.shown()
    assert {row: "failed"} == await spine.outcomes()


async def test_a_turn_that_breaks_behind_each_new_step_is_apologised_for(spine: Spine) -> None:
    begun: list[Turn] = []

    async def broken(turn: Turn, ports: TurnPorts) -> EndReason:
        begun.append(turn)
        await ports.journal.record(ModelResponded(len(begun), "one moment"))
        raise KeyError("a bug")

    await spine.kill()
    spine.agent = broken
    await spine.begin()
    row = await spine.say("hello")
    await spine.quiet()
    assert 3 == len(begun)
    assert [SORRY] == spine.channel.shown()
    assert {row: "failed"} == await spine.outcomes()


async def test_a_turn_that_was_abandoned_is_apologised_for_at_the_next_start(spine: Spine) -> None:
    await spine.say("hello")
    await spine.asked()
    await spine.kill()
    await spine.store.commit(lambda connection: connection.execute(sa.update(inbox).values(attempts=9)))
    await spine.begin()
    await spine.quiet()
    assert [SORRY] == spine.channel.shown()
    assert ["failed"] == list((await spine.outcomes()).values())


async def test_what_cannot_even_begin_is_told_and_the_gateway_lives(spine: Spine) -> None:

    class Picky(UserItemBuilder):
        async def build(self, event: InboundEvent, channel: Channel, turn: TurnRow | None = None) -> UserItem | None:
            if isinstance(event, InboundMessage) and event.text == "bad":
                raise KeyError("a bug")
            return await super().build(event, channel)

    await spine.kill()
    spine.reader = Picky(InputGuard(GuardConfig()), "coach")
    await spine.begin()
    bad = await spine.say("bad")
    good = await spine.say("good", "p2", "c2")
    await spine.asked()
    spine.model.give("fine")
    await spine.quiet()
    assert [SORRY] == spine.channel.shown("c1")
    assert ["fine"] == spine.channel.shown("c2")
    assert {bad: "failed", good: "answered"} == await spine.outcomes()


async def test_an_answer_of_which_nothing_is_left_is_not_silence(tmp_path: Path) -> None:
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
    """Cover F57."""
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
        await spine.store.commit(lambda _: None)
    await spine.begin()
    await spine.until(lambda: len(spine.channel.shown("g1")) >= 12)
    await spine.quiet()
    answered = [word for text in spine.channel.shown("g1") for word in text.split()]
    assert [f"M{number}" for number in range(12)] == answered
    assert None not in (await spine.outcomes()).values()
    await spine.kill()
    await store.aclose()


async def test_more_commands_than_memory_holds_all_run(tmp_path: Path) -> None:
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
    await spine.say("hello")
    await spine.asked()
    await spine.kill()
    asked = len(spine.model.requests)
    spine.later(hours=30)
    await spine.begin()
    await spine.quiet()
    assert asked == len(spine.model.requests)
    assert "30 hours" in spine.channel.shown()[-1]


async def test_an_account_taken_out_of_the_configuration_stops_no_other(spine: Spine) -> None:
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


class WaitingChannel(FakeChannel):
    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    async def show_wait(self, address: Address, for_s: float) -> None:
        self.waits.append(for_s)


async def test_a_busy_model_is_shown_as_a_wait_until_an_answer_comes(tmp_path: Path) -> None:
    channel = WaitingChannel()
    spine = Spine(await quick_store(tmp_path / "tenk.db"), channel)
    await spine.begin()
    busy = [ModelFailure(FailureKind.RATE_LIMIT, "busy", 429, False, after_s) for after_s in (300.0, None)]
    for answer in (*busy, "Here it is."):
        await spine.say("hello")
        await spine.asked()
        spine.model.give(answer)
        await spine.quiet()
    assert [300.0, 60.0, 0.0] == channel.waits
    await spine.kill()
    await spine.store.aclose()
