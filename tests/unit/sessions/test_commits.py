"""Each commit of a turn; a session that lost its shard writes nothing."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from agent.errors import Fenced
from agent.transcript import (
    EndReason,
    JournalEvent,
    ModelResponded,
    ToolReturned,
    TurnEnded,
    TurnStarted,
    Usage,
    UserItem,
)
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.sessions import commits
from gateway.sessions.commits import JournalPlace
from gateway.sessions.inbox_rules import new_turn
from gateway.store import inbox, journal
from gateway.store.causes import AnswerOf
from gateway.store.inbox import InboxRow, NewRow, Outcome
from gateway.store.journal import Fence
from gateway.store.tables.traffic import inbox as inbox_table
from gateway.store.tables.traffic import outbox as outbox_table
from tests.fakes.chat import FakeChannel
from tests.fakes.spine import KEY, NOON, QuickStore, Spine, quick_store

STARTED = TurnStarted((UserItem("hello"),))
RETURNED = ToolReturned(0, "t1/0/0", "c1", "log", "")


@dataclass
class Rig:
    store: QuickStore
    rows: list[InboxRow]
    place: JournalPlace

    async def claim(self, count: int = 1) -> None:
        """Begin the turn with the first rows."""
        ids = [row.id for row in self.rows[:count]]
        assert ids == await self.write(commits.claim, ids=ids, started=STARTED)

    async def write(self, commit: Callable[..., Any], *, seq: int = 0, **more: object) -> Any:
        return await self.store.commit(commit, place=replace(self.place, seq=seq), **more)

    async def events(self) -> tuple[JournalEvent, ...]:
        return await self.store.read(partial(journal.events_of_turn, turn_id=self.place.turn.id))

    async def outcomes(self) -> list[str | None]:
        query = sa.select(inbox_table.c.outcome).order_by(inbox_table.c.id)
        return await self.store.read(lambda c: list(c.execute(query).scalars()))

    async def said(self) -> list[str]:
        return await self.store.read(lambda c: list(c.execute(sa.select(outbox_table.c.state)).scalars()))


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    store = await quick_store(tmp_path / "tenk.db")
    epoch = await store.commit(journal.take_all_shards, owner="test")
    state = await store.commit(journal.open_session, tenant="default", key=KEY, mode="steer", generation=1, now=NOON)
    messages = [Spine(store).message(text) for text in ("hello", "and", "more")]
    messages = [replace(message, event_id=f"e{n}") for n, message in enumerate(messages)]

    def admit(connection: sa.Connection) -> list[InboxRow]:
        ids = [inbox.admit(connection, NewRow(message, "p1", KEY), NOON) for message in messages]
        return [
            InboxRow(id_, "default", KEY, "p1", message, NOON)
            for id_, message in zip(ids, messages, strict=True)
            if id_ is not None
        ]

    rows = await store.commit(admit)
    turn = new_turn(rows[0], state.id, "chat", NOON)
    yield Rig(store, rows, JournalPlace(Fence(journal.shard_of(KEY), epoch), turn, 0))
    await store.aclose()


def clock() -> Any:
    return NOON


async def test_a_claim_of_rows_of_which_one_was_taken_back_begins_nothing(rig: Rig) -> None:
    settle = partial(inbox.settle, id_=rig.rows[1].id, outcome=Outcome.CLEARED, now=NOON)
    await rig.store.commit(settle)
    ids = [row.id for row in rig.rows]
    assert [ids[0], ids[2]] == await rig.write(commits.claim, ids=ids, started=STARTED)
    assert [] == await rig.write(commits.claim, ids=[ids[1]], started=STARTED)
    assert () == await rig.events()


async def test_what_a_response_cost_is_in_its_commit(rig: Rig) -> None:
    await rig.claim()
    response = ModelResponded(0, "hm", usage=Usage(7, 3), model="sim:one")
    for _ in range(2):
        await rig.write(commits.record, seq=1, events=[response], clock=clock)
    assert (STARTED, response) == await rig.events()
    assert 1 == await rig.store.read(lambda c: c.execute(sa.text("SELECT count(*) FROM usage")).scalar_one())


async def test_a_local_effect_is_applied_once_a_key(rig: Rig) -> None:
    await rig.claim()
    applied: list[sa.Connection] = []

    def run(connection: sa.Connection) -> str:
        applied.append(connection)
        return f'{{"success":true,"data":{len(applied)},"error":null}}'

    first = await rig.write(commits.apply, seq=1, returned=RETURNED, run=run, clock=clock)
    assert first == await rig.write(commits.apply, seq=2, returned=RETURNED, run=run, clock=clock)
    assert 1 == len(applied)
    assert (STARTED, first) == await rig.events()


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        (EndReason.COMPLETED, "answered"),
        (EndReason.TIMEOUT, "answered"),
        (EndReason.STOPPED, "cleared"),
        (EndReason.MODEL_ERROR, "failed"),
        (EndReason.CONTEXT_EXHAUSTED, "failed"),
    ],
)
async def test_an_end_is_journal_outcomes_and_deliveries_at_once(rig: Rig, reason: EndReason, outcome: str) -> None:
    await rig.claim(2)
    turn = rig.place.turn
    parts = to_parts(FakeChannel(), OutboundMessage(turn.address, AnswerOf(turn.id), "bye"))
    await rig.write(
        commits.end,
        seq=1,
        events=[TurnEnded(reason, "bye")],
        reason=reason,
        first_id=rig.rows[0].id,
        parts=parts,
        clock=clock,
        first_by=None,
    )
    assert ["ready"] == await rig.said()
    assert [outcome, "merged", None] == await rig.outcomes()
    assert (STARTED, TurnEnded(reason, "bye")) == await rig.events()
    assert [] == await rig.store.read(journal.open_turns)


async def test_a_session_that_lost_its_shard_writes_nothing(rig: Rig) -> None:
    """Cover F62."""
    await rig.claim()
    await rig.store.commit(journal.take_all_shards, owner="another")
    ended = [TurnEnded(EndReason.COMPLETED, "bye")]
    for commit, more in (
        (commits.claim, {"ids": [rig.rows[1].id], "started": STARTED}),
        (commits.record, {"events": ended, "clock": clock}),
        (commits.apply, {"returned": RETURNED, "run": lambda _: "{}", "clock": clock}),
        (
            commits.steer,
            {"step": 0, "overtaken": (), "read": [(rig.rows[1], UserItem("and"))], "heard": {}, "clock": clock},
        ),
        (
            commits.end,
            {
                "events": ended,
                "reason": EndReason.COMPLETED,
                "first_id": rig.rows[0].id,
                "parts": (),
                "clock": clock,
                "first_by": None,
            },
        ),
    ):
        with pytest.raises(Fenced):
            await rig.write(commit, seq=1, **more)
    lost = Fence(journal.shard_of(KEY), -1)
    with pytest.raises(Fenced):
        await rig.store.commit(commits.count_attempt, lost, "t1")
    assert (STARTED,) == await rig.events()
    assert [None, None, None] == await rig.outcomes()
