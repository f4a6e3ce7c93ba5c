"""Inbox, outbox and journal, the same on every engine."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
import sqlalchemy as sa

from agent.errors import Fenced
from agent.transcript import (
    EndReason,
    JournalEvent,
    ModelResponded,
    ToolCall,
    ToolResultRewritten,
    ToolReturned,
    TurnEnded,
    TurnStarted,
    Usage,
    UserItem,
    fold,
)
from channels.messages import Address, Attachment, AttachmentKind, InboundMessage, Rejected, Rendered
from gateway.store import earlier, inbox, journal, outbox
from gateway.store.causes import AnswerOf
from gateway.store.engine import VALUE_REFUSED, Store
from gateway.store.inbox import InboxRow, NewRow, Outcome
from gateway.store.journal import Fence, SessionState, TurnRow
from gateway.store.outbox import Action, OutboxPart, OutboxRow, PartState
from tests.fakes.people import NOON, message

KEY = "agent:coach:telegram:main:direct:42"
CHAT = Address("telegram", "main", "42")


def said(number: int, text: str = "hello", **more: object) -> InboundMessage:
    return replace(message(text=text), event_id=f"msg:{number}", message_id=str(number), **more)  # type: ignore[arg-type]  by name


async def admitted(store: Store, event: InboundMessage, key: str = KEY) -> InboxRow:
    id_ = await store.commit(lambda c: inbox.admit(c, NewRow(event, "u1", key), NOON))
    assert id_ is not None
    return InboxRow(id_, event.tenant, key, "u1", event, NOON)


# ---------------------------------------------------------------- inbox


async def test_an_event_is_admitted_once(store: Store) -> None:
    event = said(1, "Añ😀\n\x00", attachments=(Attachment(AttachmentKind.PHOTO, "h", name="x"),))
    row = await admitted(store, event)
    again = await store.commit(lambda c: inbox.admit(c, NewRow(event, "u1", KEY), NOON))
    assert again is None
    elsewhere = replace(event, address=replace(event.address, account="other"))
    assert await store.commit(lambda c: inbox.admit(c, NewRow(elsewhere, "u1", "other"), NOON))
    assert [row] == await store.read(lambda c: inbox.waiting(c, 0, 10, KEY))
    assert 2 == await store.read(inbox.open_count)


async def test_a_lone_surrogate_is_refused(store: Store) -> None:
    """Cover F40."""
    with pytest.raises(VALUE_REFUSED):
        await store.commit(lambda c: inbox.admit(c, NewRow(said(1, "\ud800"), "u1", KEY), NOON))
    await admitted(store, said(2))


async def test_quarantine_takes_whatever_it_is_given(store: Store) -> None:
    bad = Rejected("e" * 900, "raw \x00 \ud800" + "x" * 20_000, "why \x00")
    await store.commit(lambda c: inbox.quarantine(c, "default", "telegram", "main", bad, NOON))
    assert 0 == await store.read(inbox.open_count)


async def test_a_row_is_claimed_by_one_turn_and_ends_once(store: Store) -> None:
    first, second = [await admitted(store, said(number)) for number in (1, 2)]
    claims = [await store.commit(inbox.claim, ids=[first.id], turn_id=turn) for turn in ("t1", "t1", "t2")]
    assert [1, 1, 0] == claims
    await store.commit(inbox.claim, ids=[second.id], turn_id="t1")
    assert [first.id, second.id] == [id_ for id_, _ in await store.read(partial(inbox.rows_of_turn, turn_id="t1"))]
    assert [] == await store.read(lambda c: inbox.waiting(c, 0, 10))
    await store.commit(lambda c: inbox.settle_turn(c, "t1", first.id, Outcome.ANSWERED, NOON, "completed"))
    assert not await store.commit(lambda c: inbox.settle(c, first.id, Outcome.FAILED, NOON))
    original = await store.read(lambda c: earlier.original_of(c, replace(first, id=99)))
    assert earlier.Original(first.id, "t1", "answered", NOON) == original
    merged = await store.read(lambda c: earlier.original_of(c, replace(second, id=99)))
    assert earlier.Original(second.id, "t1", "merged", NOON) == merged


async def test_each_job_of_a_group_sees_what_the_jobs_before_it_wrote(store: Store) -> None:

    def admit(connection: sa.Connection, number: int) -> int | None:
        return inbox.admit(connection, NewRow(said(number), "u1", KEY), NOON)

    async with asyncio.TaskGroup() as tasks:
        admits = [tasks.create_task(store.commit(admit, number)) for number in (1, 2, 3, 1, 3)]
    first, second, third, *known = [task.result() for task in admits]
    assert first is not None and second is not None and third is not None and first < second < third
    assert [None, None] == known
    wanted = ("t1", first), ("t2", second), ("t2", first)
    given = [part(0), part(1)], [part(1), part(2)], [part(3)]
    async with asyncio.TaskGroup() as tasks:
        claims = [tasks.create_task(store.commit(inbox.claim, [id_], turn)) for turn, id_ in wanted]
        puts = [tasks.create_task(store.commit(outbox.put, "default", parts, NOON)) for parts in given]
    assert [1, 1, 0] == [task.result() for task in claims]
    rows = [task.result() for task in puts]
    assert [[0, 1], [1, 2], [3]] == [[row.part.number for row in each] for each in rows]
    assert [0, 1, 2, 3] == [row.part.number for row in await open_rows(store)]
    assert sorted({row.id for each in rows for row in each}) == [row.id for row in await open_rows(store)]


async def test_a_secret_is_blanked_and_a_refused_row_reopened(store: Store) -> None:
    row = await admitted(store, said(1, "/connect sk-secret"))
    await store.commit(lambda c: inbox.settle(c, row.id, Outcome.REFUSED, NOON))
    await store.commit(lambda c: inbox.reopen(c, row.id, row.event, "u1", KEY))
    assert [row] == await store.read(lambda c: inbox.waiting(c, 0, 10, KEY))
    await store.commit(lambda c: inbox.settle(c, row.id, Outcome.ANSWERED, NOON))
    await store.commit(lambda c: inbox.redact(c, row.id))
    held = await store.read(lambda c: c.execute(sa.text("SELECT payload FROM inbox")).scalar())
    assert "secret" not in held


# ---------------------------------------------------------------- outbox


def part(number: int, op: int = 0, action: Action = Action.SEND, cause: str = "t1") -> OutboxPart:
    return OutboxPart(AnswerOf(cause), number, op, action, CHAT, Rendered(f"text {number}", "[]"), f"text {number}")


async def put(store: Store, *parts: OutboxPart, claimed: bool = False) -> list[OutboxRow]:
    """Commit parts."""
    return await store.commit(lambda c: outbox.put(c, "default", parts, NOON, first_claimed=claimed))


async def open_rows(store: Store) -> list[OutboxRow]:
    return await store.read(lambda c: outbox.open_parts(c, CHAT.lane, 0, 10))


async def test_an_attempt_is_kept_with_what_it_made_of_the_row(store: Store) -> None:
    (row,) = await put(store, part(0, 1, Action.EDIT))
    assert await store.commit(outbox.mark_sending, row.id, Action.SEND)
    (sending,) = await open_rows(store)
    assert (PartState.SENDING, Action.SEND, 1) == (sending.state, sending.part.action, sending.attempts)
    after = replace(
        sending,
        state=PartState.READY,
        maybe_duplicate=True,
        not_before=NOON + timedelta(microseconds=1),
        part=replace(sending.part, rendered=Rendered("plain")),
    )
    await store.commit(lambda c: outbox.save(c, after, "cut", NOON))
    assert [after] == await open_rows(store)
    await store.commit(lambda c: outbox.record_sent(c, row.id, "m1", NOON))
    assert not await store.commit(outbox.mark_sending, row.id, Action.SEND)
    assert [] == await open_rows(store)
    assert "m1" == await store.read(lambda c: outbox.standing_id(c, part(0, 2)))
    assert {} == await store.read(outbox.depths)


async def test_a_receipt_that_comes_late_does_not_change_how_a_part_ended(store: Store) -> None:
    (row,) = await put(store, part(0, 0, Action.PLACEHOLDER))
    unknown = replace(row, state=PartState.UNKNOWN)
    await store.commit(lambda c: outbox.save(c, unknown, "the process ended during the call", NOON))
    await store.commit(lambda c: outbox.record_sent(c, row.id, "m1", NOON))
    assert None is await store.read(lambda c: outbox.standing_id(c, part(0, 1)))


async def test_a_look_for_what_pages_show_leaves_out_what_is_known(store: Store) -> None:
    page = Address("web", "main", "1")
    rows = await put(store, *(replace(part(number), address=page) for number in range(3)))
    newest_id, found = await store.read(lambda c: outbox.shown_after(c, rows[0].id, {rows[1].id}))
    assert (rows[2].id, [rows[2].id]) == (newest_id, [row.id for row in found])


async def test_the_rest_of_a_refused_reply_is_given_up_and_no_other(store: Store) -> None:
    rows = await put(store, part(0), part(1), part(2), part(0, cause="t2"))
    assert 2 == await store.commit(lambda c: outbox.dead_letter_rest(c, "t1", rows[0].id, "no", NOON))
    assert [rows[0], rows[3]] == await open_rows(store)


# ---------------------------------------------------------------- journal


async def begun(store: Store, turn_id: str = "t1", generation: int = 1) -> tuple[SessionState, TurnRow]:
    state = await store.commit(lambda c: journal.open_session(c, "default", KEY, "steer", generation, NOON))
    turn = TurnRow(turn_id, "default", state.id, "u1", "chat", replace(CHAT, thread="7"), "1", NOON)
    await store.commit(lambda c: journal.begin_turn(c, turn))
    return state, turn


async def test_a_session_is_begun_once_a_generation(store: Store) -> None:
    assert await store.read(lambda c: journal.load_session(c, "default", KEY, 10)) is None
    first, _ = await begun(store)
    again = await store.commit(lambda c: journal.open_session(c, "default", KEY, "steer", 1, NOON))
    assert first.id == again.id
    second, _ = await begun(store, "t2", 2)
    await store.commit(lambda c: journal.set_mode(c, second.id, "followup"))
    living = await store.read(lambda c: journal.load_session(c, "default", KEY, 10))
    assert living is not None
    assert (second.id, 2, "followup", ()) == (living.id, living.generation, living.mode, living.events)


async def test_what_is_journaled_is_read_back_whole_turns_only(store: Store) -> None:
    state, turn = await begun(store)
    events = [TurnStarted((UserItem("hi\x00", at="now"),)), ModelResponded(0, "hé😀", usage=Usage(3, 4))]
    for _ in range(2):
        await store.commit(lambda c: journal.append(c, turn, 0, events, NOON))
    assert tuple(events) == await store.read(lambda c: journal.events_of_turn(c, "t1"))
    assert 2 == await store.read(lambda c: journal.next_seq(c, state.id))
    running = await store.read(lambda c: journal.load_session(c, "default", KEY, 10))
    assert running is not None and (2, ()) == (running.next_seq, running.events)
    await store.commit(lambda c: journal.append(c, turn, 2, [TurnEnded(EndReason.COMPLETED, "hé😀")], NOON))
    for _ in range(2):
        await store.commit(lambda c: journal.end_turn(c, "t1", EndReason.COMPLETED, NOON))
    ended = await store.read(lambda c: journal.load_session(c, "default", KEY, 10))
    assert ended is not None and 2 == len(fold(ended.events))
    cut = await store.read(lambda c: journal.load_session(c, "default", KEY, 2))
    assert cut is not None and (3, ()) == (cut.next_seq, cut.events)


async def test_a_turn_that_waited_stands_where_it_ended(store: Store) -> None:
    _, waited = await begun(store, "t1")
    _, other = await begun(store, "t2")
    ended = TurnEnded(EndReason.COMPLETED, "so")
    await store.commit(lambda c: journal.append(c, waited, 0, [TurnStarted(())], NOON))
    await store.commit(lambda c: journal.append(c, other, 1, [TurnStarted(()), ended], NOON))
    await store.commit(lambda c: journal.append(c, waited, 3, [ended], NOON))
    for id_ in ("t1", "t2"):
        await store.commit(journal.end_turn, turn_id=id_, reason=EndReason.COMPLETED, now=NOON)
    for limit, ids in ((10, ["t2", "t1"]), (3, ["t2"])):
        state = await store.read(partial(journal.load_session, tenant="default", key=KEY, limit=limit))
        assert state is not None and ids == [turn.id for turn in state.past]


async def test_a_result_that_is_rewritten_twice_reads_as_it_was_left(store: Store) -> None:
    _, turn = await begun(store)
    events: list[JournalEvent] = [
        ModelResponded(0, "", (ToolCall("c1", "look", "{}"),)),
        ToolReturned(0, "t1/0/0", "c1", "look", '{"data":"long and secret"}'),
        ToolResultRewritten(0, "t1/0/0", "c1", '{"data":"secret"}', is_cut=True),
        ToolResultRewritten(0, "t1/0/0", "c1", '{"data":"-"}'),
    ]
    await store.commit(lambda c: journal.append(c, turn, 0, events[:3], NOON))
    await store.commit(lambda c: journal.append(c, turn, 3, events[3:], NOON))
    assert tuple(events) == await store.read(lambda c: journal.events_of_turn(c, "t1"))
    whole = partial(journal.whole_result, session_id=turn.session_id, user_id=turn.user_id, call_key="t1/0/0")
    assert '{"data":"-"}' == await store.read(whole)


async def test_an_earlier_owner_is_fenced(store: Store) -> None:
    """Cover F62."""
    shard = journal.shard_of(KEY)
    old = await store.commit(journal.take_all_shards, owner="a")
    await store.commit(lambda c: journal.check_fence(c, Fence(shard, old)))
    new = await store.commit(journal.take_all_shards, owner="b")
    with pytest.raises(Fenced):
        await store.commit(lambda c: journal.check_fence(c, Fence(shard, old)))
    await store.commit(lambda c: journal.check_fence(c, Fence(shard, new)))
