"""Retention on every store: only settled, old rows go; a redelivery within the days is recognised."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import asyncpg
import pytest
import sqlalchemy as sa
from pydantic import ValidationError

from agent.pictures import Picture
from agent.transcript import EndReason, Steered, TurnEnded, TurnStarted, UserItem
from channels.messages import AttachmentKind, InboundMessage, Rejected, Rendered, Route
from gateway.ops.housekeeper import sweep
from gateway.ops.retention_config import RetentionConfig
from gateway.store import inbox, journal, outbox, people, reply_routes, retention
from gateway.store.causes import AnswerOf
from gateway.store.engine import Connection, Store
from gateway.store.inbox import NewRow, Outcome
from gateway.store.journal import TurnRow
from gateway.store.outbox import Action, MediaRef, OutboxPart
from gateway.store.people import AuditRow
from gateway.store.tables.base import metadata
from tests.contract.stores import StoreCase
from tests.contract.test_traffic_store import CHAT, KEY, said
from tests.fakes.people import NOON

DAY = timedelta(days=1)
ROUTE = Route("interaction", "token", NOON, 1)
SECRET = "canary-of-a-stranger"


class Kept:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.now = NOON

    async def sweep(self, days: float, config: RetentionConfig | None = None) -> None:
        """Keep house so many days after noon."""
        self.now = NOON + days * DAY

        async def at_once(_: float) -> None:
            pass

        await sweep(self.store, config or RetentionConfig(), self.now, at_once)

    async def admit(self, event: InboundMessage, outcome: Outcome | None = None, at: datetime = NOON) -> int | None:
        """Take an event in, of a known person unless it is refused."""
        user = None if outcome is Outcome.REFUSED else "u1"
        key = KEY if outcome is None else None
        return await self.store.commit(lambda c: inbox.admit(c, NewRow(event, user, key, outcome), at))

    async def count(self, table: str) -> int:
        query = sa.select(sa.func.count()).select_from(metadata.tables[table])
        return await self.store.read(lambda c: int(c.execute(query).scalar_one()))

    async def payloads(self) -> list[str]:
        query = sa.select(metadata.tables["inbox"].c.payload).order_by(metadata.tables["inbox"].c.id)
        return await self.store.read(lambda c: list(c.execute(query).scalars()))


@pytest.fixture
async def kept(store: Store) -> Kept:
    return Kept(store)


def answered(connection: Connection, number: int, at: datetime = NOON) -> int:
    turn_id, event = f"t{number}", replace(said(number), event_id=f"msg:{number}")
    row = inbox.admit(connection, NewRow(event, "u1", KEY), at)
    assert row is not None
    session = journal.open_session(connection, "default", KEY, "steer", 1, at)
    turn = TurnRow(turn_id, "default", session.id, "u1", "chat", CHAT, None, at)
    inbox.claim(connection, [row], turn_id)
    journal.begin_turn(connection, turn)
    item = TurnStarted((UserItem(f"hello {number}"),))
    journal.append(connection, turn, 2 * number, [item, TurnEnded(EndReason.COMPLETED, "hi")], at)
    outbox.put_file(connection, "default", f"blob-{number}", b"x" * 100, at)
    media = (MediaRef(AttachmentKind.DOCUMENT, "a.txt", "text/plain", f"blob-{number}"),)
    part = OutboxPart(AnswerOf(turn_id), 0, 0, Action.SEND, CHAT, Rendered("hi"), "hi", media=media)
    outbox.put(connection, "default", [part], at)
    people.record(connection, "default", AuditRow(at, "cli", "noted", "s", ""))
    inbox.settle_turn(connection, turn_id, row, Outcome.ANSWERED, at)
    journal.end_turn(connection, turn_id, EndReason.COMPLETED, at)
    return row


def sent(connection: Connection, at: datetime = NOON) -> None:
    for part in outbox.open_parts(connection, CHAT.lane, 0, 1000):
        outbox.record_sent(connection, part.id, "m", at)


async def test_each_kind_goes_when_its_days_are_over_and_not_before(kept: Kept) -> None:
    for number in (1, 2):
        await kept.store.commit(lambda c, n=number: answered(c, n) and sent(c))
    before = {"blobs": 2, "inbox": 2, "outbox": 2, "turns": 2, "events": 4, "audit": 2}
    expected = dict(before)
    for days, gone in (
        (7, {"blobs": 0}),
        (30, {"inbox": 1, "outbox": 1}),
        (365, {"turns": 0, "events": 0}),
        (730, {"audit": 1}),
    ):
        for when, left in ((days - 0.01, expected), (days + 0.01, expected | gone)):
            await kept.sweep(when)
            assert left == {table: await kept.count(table) for table in before}, when
        expected |= gone
    assert 1 == await kept.count("sessions")


async def test_a_picture_goes_with_its_turn_and_one_of_no_turn_as_other_files_do(kept: Kept) -> None:

    def take_in(connection: Connection) -> None:
        row = answered(connection, 1)
        turn = TurnRow("t1", "default", kept_in(connection), "u1", "chat", CHAT, None, NOON)
        for id_ in ("shown", "lost"):
            outbox.put_file(connection, "default", id_, b"x", NOON)
        item = UserItem("look", pictures=(Picture("shown", "image/png", 1),))
        journal.append(connection, turn, row + 10, [Steered(0, (item,))], NOON)
        sent(connection)

    await kept.store.commit(take_in)
    for days, left in ((6, 3), (8, 1), (29, 1)):
        await kept.sweep(days)
        assert left == await kept.count("blobs"), days
    await kept.sweep(30.5, RetentionConfig(pictures_days=0, journal_days=30))
    assert 0 == await kept.count("blobs")


async def test_a_picture_is_not_kept_as_long_as_its_conversation(kept: Kept) -> None:
    await kept.store.commit(lambda c: answered(c, 1))
    await kept.store.commit(lambda c: c.execute(sa.text("UPDATE blobs SET turn_id = 't1'")) and None)
    for days, left in ((29.9, 1), (30.1, 0)):
        await kept.sweep(days)
        assert left == await kept.count("blobs"), days


def kept_in(connection: Connection) -> str:
    return str(connection.execute(sa.text("SELECT id FROM sessions")).scalar_one())


async def test_what_is_open_stays_however_old_it_is(kept: Kept) -> None:
    await kept.store.commit(lambda c: answered(c, 1))
    waiting = await kept.admit(said(2))
    await kept.admit(said(3))
    await kept.store.commit(
        lambda c: c.execute(sa.text("UPDATE turns SET end_reason = NULL, ended_at = NULL")) and None
    )
    await kept.sweep(10_000)
    assert [1, 1, 1, 2] == [await kept.count(table) for table in ("outbox", "blobs", "turns", "events")]
    assert waiting in [row.id for row in await kept.store.read(lambda c: inbox.waiting(c, 0, 10))]


async def test_zero_days_keep_for_ever(kept: Kept) -> None:
    for number in (1, 2):
        await kept.store.commit(lambda c, n=number: answered(c, n) and sent(c))
    names = RetentionConfig.model_fields
    await kept.sweep(10_000, RetentionConfig.model_validate(dict.fromkeys(names, 0)))
    assert [2] * 4 == [await kept.count(table) for table in ("inbox", "outbox", "turns", "blobs")]


async def test_more_than_a_batch_goes_in_batches(kept: Kept) -> None:
    for number in range(450):
        await kept.store.try_commit(lambda c, n=number: inbox.admit(c, NewRow(said(n), outcome=Outcome.REFUSED), NOON))
    await kept.sweep(8)
    assert 1 == await kept.count("inbox")


async def test_a_redelivery_is_recognised_for_a_week_at_least(kept: Kept) -> None:
    for number, outcome in enumerate(Outcome):
        await kept.admit(said(2 * number), outcome)
        await kept.admit(said(2 * number + 1), outcome)
    await kept.sweep(6.9)
    forgotten = [each for number, each in enumerate(Outcome) if await kept.admit(said(2 * number)) is not None]
    assert [] == forgotten


@pytest.mark.parametrize("name", ["inbox_days", "refused_days"])
def test_keys_cannot_be_configured_away(name: str) -> None:
    with pytest.raises(ValidationError, match="at least 7 days, or 0 for ever"):
        RetentionConfig.model_validate({name: 6})


# ---------------------------------------------------------------- what is never kept


async def test_of_a_refused_message_only_the_key_is_kept(kept: Kept) -> None:
    named = replace(said(1, SECRET), sender=replace(said(1).sender, display_name=SECRET))
    await kept.admit(named, Outcome.REFUSED)
    row = await kept.admit(said(2, SECRET))
    assert row is not None
    await kept.store.commit(lambda c: inbox.settle(c, row, Outcome.REFUSED, NOON, "the input guard"))
    assert ["", ""] == await kept.payloads()
    assert await kept.admit(named, Outcome.REFUSED) is None


async def test_of_a_chats_talk_the_last_thirty_are_kept(kept: Kept) -> None:
    for number in range(40):
        await kept.admit(said(number, f"talk {number}"), Outcome.CONTEXT)
    await kept.admit(said(99, "elsewhere", address=replace(CHAT, chat="7")), Outcome.CONTEXT)
    texts = [text for text in await kept.payloads() if text]
    assert [*(f"talk {number}" for number in range(10, 40)), "elsewhere"] == [
        inbox.INBOUND_EVENT.validate_json(text).text  # type: ignore[union-attr]  messages are all there is
        for text in texts
    ]
    for number in range(105):
        bad = Rejected(f"bad:{number}", f"raw {number}", "why")
        await kept.store.try_commit(lambda c, b=bad: inbox.quarantine(c, "default", "telegram", "main", b, NOON))
    raw = [text for text in await kept.payloads() if text.startswith("raw")]
    assert [f"raw {number}" for number in range(5, 105)] == raw


async def test_routes_of_old_rows_go_with_them(kept: Kept) -> None:
    for number in (1, 2):
        row = await kept.admit(said(number), Outcome.REFUSED)
        assert row is not None
        await kept.store.commit(reply_routes.add_route, tenant="default", inbox_id=row, route=ROUTE)
    await kept.sweep(8)
    assert [1, 1] == [await kept.count(table) for table in ("inbox", "reply_routes")]


async def test_a_sqlite_file_gets_shorter(tmp_path: Path) -> None:
    store = await Store.open(f"sqlite:///{tmp_path}/home/tenk.db")
    kept = Kept(store)
    for number in range(30):
        await store.commit(lambda c, n=number: outbox.put_file(c, "default", f"b{n}", bytes(100_000), NOON))
    await store.aclose()
    before = (tmp_path / "home" / "tenk.db").stat().st_size
    store = kept.store = await Store.open(f"sqlite:///{tmp_path}/home/tenk.db")
    await kept.sweep(8)
    await store.aclose()
    after = (tmp_path / "home" / "tenk.db").stat().st_size
    assert (True, True) == (before > 3_000_000, after < 2_000_000)


# ---------------------------------------------------------------- twice at once, and again behind a kill

LATE = NOON + 10_000 * DAY
RECENT = {"inbox": 2, "outbox": 1, "turns": 1, "events": 2, "blobs": 1, "audit": 1, "reply_routes": 1}
"""Rows that stay: yesterday's answered ones, and the waiting message with its route."""


async def fill(kept: Kept) -> None:

    def job(connection: Connection) -> None:
        for number in range(retention.TURNS_BATCH + 5):
            row = answered(connection, number)
            reply_routes.add_route(connection, "default", row, ROUTE)
        sent(connection)
        answered(connection, 98, LATE - DAY)
        sent(connection, LATE - DAY)
        waits = inbox.admit(connection, NewRow(said(99), "u1", KEY), NOON)
        assert waits is not None
        reply_routes.add_route(connection, "default", waits, ROUTE)

    await kept.store.commit(job)


async def left(kept: Kept) -> dict[str, int]:
    return {table: await kept.count(table) for table in RECENT}


class Died(Exception):
    pass


async def sweep_some(store: Store, batches: int = 10_000) -> None:
    """Sweep, and die behind so many batches."""
    lives = iter(range(batches))

    async def pause(_: float) -> None:
        if next(lives, None) is None:
            raise Died

    await sweep(store, RetentionConfig(), LATE, pause)


@pytest.mark.parametrize("batches", [0, 3])
async def test_a_sweep_that_died_is_continued(kept: Kept, batches: int) -> None:
    await fill(kept)
    with pytest.raises(Died):
        await sweep_some(kept.store, batches)
    assert RECENT != await left(kept)
    await sweep_some(kept.store)
    assert RECENT == await left(kept)


async def test_two_sweeps_at_once_take_what_one_would(kept: Kept, case: StoreCase) -> None:
    await fill(kept)
    other = await case.open()
    async with asyncio.timeout(50), asyncio.TaskGroup() as sweeps, held_up(case.url, 2):
        for store in (kept.store, other):
            sweeps.create_task(sweep_some(store))
    await other.aclose()
    assert RECENT == await left(kept)


@asynccontextmanager
async def held_up(url: str, waiting: int) -> AsyncIterator[None]:
    if url.startswith("sqlite"):
        yield
        return
    holder, looker = await asyncpg.connect(url), await asyncpg.connect(url)
    async with holder.transaction():
        await holder.execute("SELECT 1 FROM inbox FOR UPDATE")
        yield
        while await looker.fetchval(_WAITING) < waiting:
            await asyncio.sleep(0.01)
    await holder.close()
    await looker.close()


_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
