"""Faults in one chat, session, row or event: they end there, and others are served."""

from collections.abc import Awaitable, Callable, Iterator, MutableMapping

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from channels.messages import Address
from gateway import failpoints
from gateway.delivery.config import DeliveryConfig
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.sessions.config import SessionsConfig
from gateway.store.causes import AnswerOf
from gateway.store.tables.traffic import inbox as inbox_table
from gateway.store.tables.traffic import outbox as outbox_table
from tests.fakes.spine import Spine, put_unheard

PAST_ALL_DATES_US = 9 * 10**18


@pytest.fixture(autouse=True)
def logs() -> Iterator[list[MutableMapping[str, object]]]:
    with capture_logs() as logged:
        yield logged


async def written(spine: Spine, text: str, chat: str, cause: str) -> None:
    parts = to_parts(spine.channel, OutboundMessage(Address("sim", "main", chat), AnswerOf(cause), text))
    await spine.store.commit(put_unheard, "default", parts, spine.now)


async def poison(spine: Spine, table: sa.Table, where: object, **values: object) -> None:
    change = sa.update(table).where(where).values(values)  # type: ignore[arg-type]  a clause
    await spine.store.commit(lambda connection: connection.execute(change))


def names(spine: Spine, chat: str) -> list[str]:
    return spine.channel.shown(chat)


async def served(spine: Spine, chat: str = "c2", user: str = "p2") -> None:
    await spine.say("hello", user, chat)
    await spine.asked()
    spine.model.give(f"hello {user}")
    await spine.until(lambda: f"hello {user}" in names(spine, chat))


async def test_a_lane_that_breaks_rests_alone(spine: Spine) -> None:
    spine.breaks = True
    await written(spine, "first", "c1", "t1")
    await written(spine, "second", "c1", "t2")
    await poison(spine, outbox_table, outbox_table.c.cause == "t1", buttons="no JSON")
    spine.delivery.reread(Address("sim", "main", "c1"))
    await spine.until(lambda: bool(spine.rested_s))
    await served(spine)
    assert ["lane sim:main:c1"] == list(spine.faults.resting())
    await spine.quiet()
    assert not spine.delivery.works_before(spine.now)
    assert [] == names(spine, "c1")
    await poison(spine, outbox_table, outbox_table.c.cause == "t1", buttons=None)
    spine.rested.set()
    await spine.until(lambda: len(names(spine, "c1")) == 2)
    assert (["first", "second"], {}) == (names(spine, "c1"), spine.faults.resting())


async def test_a_lane_is_tried_again_by_the_next_start(spine: Spine) -> None:
    spine.breaks = True
    await written(spine, "first", "c1", "t1")
    await poison(spine, outbox_table, outbox_table.c.cause == "t1", buttons="no JSON")
    spine.delivery.reread(Address("sim", "main", "c1"))
    await spine.until(lambda: bool(spine.rested_s))
    await spine.kill()
    await poison(spine, outbox_table, outbox_table.c.cause == "t1", buttons=None)
    await spine.begin()
    await spine.until(lambda: names(spine, "c1") == ["first"])


@pytest.mark.parametrize("not_before", [PAST_ALL_DATES_US, -PAST_ALL_DATES_US, 2 * 10**15])
async def test_a_wait_from_an_earlier_life_is_bounded(spine: Spine, not_before: int) -> None:
    spine.live = DeliveryConfig(typing_after_s=1e6, longest_wait_s=0.01)
    await written(spine, "at last", "c1", "t1")
    change = sa.text("UPDATE outbox SET not_before = :at").bindparams(at=not_before)
    await spine.store.commit(lambda connection: connection.execute(change))
    await spine.kill()
    await spine.begin()
    await spine.until(lambda: names(spine, "c1") == ["at last"])


async def test_a_bug_in_an_adapter_costs_the_chat_it_is_about(spine: Spine) -> None:
    spine.channel.fates.extend([RuntimeError("a bug")] * 4)
    await written(spine, "lost", "c1", "t1")
    spine.delivery.reread(Address("sim", "main", "c1"))
    await spine.quiet()
    spine.channel.fates.clear()
    await served(spine)
    states = sa.select(outbox_table.c.state).order_by(outbox_table.c.id)
    assert "unknown" == (await spine.store.read(lambda connection: connection.execute(states).scalars().first()))


async def test_a_row_that_cannot_be_read_is_set_aside_at_the_start(spine: Spine) -> None:
    bad = await spine.admit(spine.message("unreadable"), silently=True)
    good = await spine.admit(spine.message("readable", "p2", "c2"), "p2", silently=True)
    await poison(spine, inbox_table, inbox_table.c.id == bad, payload='{"type": "of another version"}')
    await spine.kill()
    await spine.begin()
    await spine.asked()
    spine.model.give("yes")
    await spine.quiet()
    assert {bad: "quarantined", good: "answered"} == await spine.outcomes()


async def test_a_row_that_cannot_be_read_is_set_aside_in_a_full_mailbox(spine: Spine) -> None:
    await spine.kill()
    spine.sessions = SessionsConfig(mailbox_size=1, mode="followup")
    await spine.begin()
    ids = [await spine.say(text) for text in ("one", "two", "three", "four")]
    await spine.asked()
    await poison(spine, inbox_table, inbox_table.c.id == ids[2], payload="{")
    for answer in ("1", "2", "4"):
        await spine.asked()
        spine.model.give(answer)
        await spine.quiet()
    assert ["answered", "answered", "quarantined", "answered"] == list((await spine.outcomes()).values())


async def test_a_row_whose_routing_breaks_once_is_answered(spine: Spine) -> None:
    failpoints.arm("routed:1:raise")
    row = await spine.say("one")
    await spine.asked()
    spine.model.give("1")
    await spine.quiet()
    assert "answered" == (await spine.outcomes())[row]
    assert ["1"] == names(spine, "c1")


async def test_a_row_that_cannot_be_routed_ends_alone(spine: Spine) -> None:
    said = spine.message("one")
    original = await spine.admit(said)
    await spine.asked()
    spine.model.give("an answer")
    await spine.quiet()
    await poison(spine, inbox_table, inbox_table.c.id == original, done_at=sa.literal_column("'yesterday'"))
    first = await spine.admit(spine.message("changed", message_id=said.message_id, edited=True))
    await served(spine)
    assert "failed" == (await spine.outcomes())[first]
    assert any("omething broke" in text for text in names(spine, "c1"))


async def test_a_turn_whose_rows_cannot_be_read_is_given_up(spine: Spine) -> None:
    row = await spine.say("one")
    await spine.asked()
    await spine.kill()
    await poison(spine, inbox_table, inbox_table.c.id == row, payload="{")
    await spine.begin()
    await spine.quiet()
    await served(spine, "c1", "p1")


async def no_bug(spine: Spine) -> None:
    pass


async def a_sign_breaks(spine: Spine) -> None:
    spine.channel.sign_error = KeyError("a bug")


async def cleaning_breaks(spine: Spine) -> None:
    spine.live = DeliveryConfig(typing_after_s=0.0, placeholder_after_s=0.0)
    spine.clean = lambda text: str(1 / 0) if text == "half" else text


@pytest.mark.parametrize("bug", [no_bug, a_sign_breaks, cleaning_breaks])
async def test_what_is_only_shown_may_break(spine: Spine, bug: Callable[[Spine], Awaitable[None]]) -> None:
    await spine.kill()
    await bug(spine)
    await spine.begin()
    await spine.say("hello")
    await spine.asked()
    spine.model.stream("half")
    await spine.quiet()
    spine.model.give("whole")
    await spine.until(lambda: any("whole" in text for text in names(spine, "c1")))
