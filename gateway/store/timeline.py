"""A message's way, read back hop by hop: admitted, claimed, answered, sent, received.

One reader for a conversation, for turns and for messages. It judges nothing and holds no words of people.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa
from pydantic import JsonValue

from agent.transcript import JOURNAL_EVENT, JournalEvent, ModelResponded
from channels.messages import INBOUND_EVENT, SystemEvent
from gateway.store.causes import HEARD, AnswerOf, Cause, Notice, ReplyTo, read_cause
from gateway.store.children import TASK_EVENT
from gateway.store.journal import CHILD_MARK
from gateway.store.tables.traffic import inbox, outbox
from gateway.store.tables.turns import events, sessions, turns, usage

IDS_AT_ONCE = 400
"""Ids bound in one statement; SQLite before 3.32 takes 999."""

BEHIND = ("settled", "part_put")
"""The kinds of event that one commit writes last."""

Facts = Mapping[str, JsonValue]

NO_WORDS = {
    "step": "step",
    "model": "model",
    "name": "tool",
    "call_key": "call_key",
    "outcome": "outcome",
    "stop": "stop",
    "took_s": "took_s",
    "fallback": "fallback",
    "detail": "detail",
    "why": "why",
    "reason": "reason",
    "is_cut": "is_cut",
    "busy_s": "busy_s",
    "approval_id": "approval",
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_tokens",
    "cache_write_tokens": "cache_write_tokens",
    "cost_microusd": "cost_microusd",
    "estimated": "estimated",
}
"""The fields of an event or of its usage that are shown unchanged, with the names they have there."""

COUNTED = {"items": "messages", "text": "chars", "content": "chars"}
"""The fields with words, of which only the length is shown."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One thing that happened to a message, or to the turn that took it."""

    at: datetime
    name: str
    """received, admitted, settled, claimed, called_beside, part_put, part_STATE, handed_over, or a journal event's."""
    turn_id: str | None = None
    inbox_id: int | None = None
    facts: Facts = field(default_factory=dict)  # what there is to know of it: ids, names, counts, seconds; no words


@dataclass(frozen=True, slots=True)
class TurnHead:
    """A turn as lists name it."""

    id: str
    session_id: str
    session_key: str
    user_id: str
    kind: str
    started_at: datetime
    ended_at: datetime | None
    end_reason: str | None  # None: it runs, or waits for its person's word

    @property
    def task(self) -> str:
        """Return the label of the task on which the turn works; "" if it answers a person."""
        return self.session_key.rpartition(CHILD_MARK)[2] if CHILD_MARK in self.session_key else ""


def turns_of_session(connection: sa.Connection, tenant: str, session_id: str, most: int) -> list[TurnHead]:
    """Return the newest turns of a conversation, oldest first."""
    query = _heads.where(turns.c.tenant_id == tenant, turns.c.session_id == session_id)
    rows = connection.execute(query.order_by(turns.c.id.desc()).limit(most)).all()
    return [TurnHead(*row) for row in reversed(rows)]


def turns_by_id(connection: sa.Connection, tenant: str, ids: Collection[str]) -> list[TurnHead]:
    """Return these turns, oldest first."""
    found = (
        connection.execute(_heads.where(turns.c.tenant_id == tenant, turns.c.id.in_(some))) for some in _batches(ids)
    )
    return sorted((TurnHead(*row) for rows in found for row in rows), key=lambda head: head.id)


_heads = sa.select(
    turns.c.id,
    turns.c.session_id,
    sessions.c.key,
    turns.c.user_id,
    turns.c.kind,
    turns.c.started_at,
    turns.c.ended_at,
    turns.c.end_reason,
).join(sessions, sessions.c.id == turns.c.session_id)


def tasks_of(connection: sa.Connection, tenant: str, turn_ids: Collection[str]) -> dict[str, str]:
    """Return the turns of tasks that these turns have begun, also through other tasks, each with its parent's turn."""
    keys = {head.session_key for head in turns_by_id(connection, tenant, turn_ids)}
    query = (
        sa.select(turns.c.id, inbox.c.event_id)
        .join(sessions, sessions.c.id == turns.c.session_id)
        .join(inbox, inbox.c.turn_id == turns.c.id)
        .where(sessions.c.tenant_id == tenant, inbox.c.event_id.startswith(TASK_EVENT, autoescape=True))
        .order_by(turns.c.id)
    )
    beneath: dict[str, str] = {}
    for key in sorted(keys):
        found = query.where(sessions.c.key.startswith(f"{key}{CHILD_MARK}", autoescape=True))
        for row in connection.execute(found):
            parent = row.event_id.removeprefix(TASK_EVENT).partition("/")[0]
            if parent in turn_ids or parent in beneath:
                beneath[row.id] = parent
    return beneath


def hops(
    connection: sa.Connection, tenant: str, *, turn_ids: Collection[str] = (), inbox_ids: Collection[int] = ()
) -> list[Hop]:
    """Whatever is known of these turns and messages, in the order of time.

    A message brings the turn that took it, a turn the messages it took and the turns of its tasks: the whole way
    stands there either way.
    """
    with_turn = sa.select(inbox.c.turn_id).where(inbox.c.tenant_id == tenant, inbox.c.turn_id.is_not(None))
    theirs = (connection.execute(with_turn.where(inbox.c.id.in_(some))) for some in _batches(inbox_ids))
    taken = {*turn_ids, *(row.turn_id for rows in theirs for row in rows)}
    wanted = sorted({*taken, *tasks_of(connection, tenant, taken)})
    journal = list(_of_journal(connection, tenant, wanted))
    waits = Counter(hop.turn_id for hop in journal if hop.name == "parked")
    causes: list[Cause] = [cause for id_ in inbox_ids for cause in (ReplyTo(id_), Notice(HEARD, str(id_)))]
    causes += [AnswerOf(id_, wait) for id_ in wanted for wait in range(waits[id_] + 1)]
    found = [
        *_of_messages(connection, tenant, wanted, inbox_ids),
        *_of_turns(connection, tenant, wanted),
        *journal,
        *_of_calls_beside(connection, tenant, wanted),
        *_of_parts(connection, tenant, causes),
        *_of_handed(connection, tenant, wanted),
    ]
    return sorted(found, key=lambda hop: (hop.at, hop.name in BEHIND))  # stable: of one instant as listed above


def _of_messages(
    connection: sa.Connection, tenant: str, turn_ids: Collection[str], inbox_ids: Collection[int]
) -> Iterator[Hop]:
    columns = sa.select(
        inbox.c.id,
        inbox.c.turn_id,
        inbox.c.kind,
        inbox.c.channel,
        inbox.c.account,
        inbox.c.sender,
        inbox.c.message_id,
        inbox.c.received_at,
        inbox.c.admitted_at,
        inbox.c.attempts,
        inbox.c.outcome,
        inbox.c.detail,
        inbox.c.done_at,
    ).where(inbox.c.tenant_id == tenant)
    queries = [columns.where(inbox.c.turn_id.in_(some)) for some in _batches(turn_ids)]
    queries += [columns.where(inbox.c.id.in_(some)) for some in _batches(inbox_ids)]
    rows = {row.id: row for query in queries for row in connection.execute(query)}
    for id_, row in sorted(rows.items()):
        said = {"event": row.kind, "sender": row.sender, "message_id": row.message_id}
        yield Hop(row.received_at, "received", row.turn_id, id_, said)
        yield Hop(row.admitted_at, "admitted", row.turn_id, id_, {"account": f"{row.channel}:{row.account}"})
        if row.done_at is not None:
            ended = {"outcome": row.outcome, "detail": row.detail}
            yield Hop(row.done_at, "settled", row.turn_id, id_, ended)


def _of_turns(connection: sa.Connection, tenant: str, turn_ids: Collection[str]) -> Iterator[Hop]:
    for head in turns_by_id(connection, tenant, turn_ids):
        yield Hop(head.started_at, "claimed", head.id, None, {"kind": head.kind, "task": head.task})


def _of_journal(connection: sa.Connection, tenant: str, turn_ids: Collection[str]) -> Iterator[Hop]:
    columns = sa.select(events.c.turn_id, events.c.payload, events.c.at).where(events.c.tenant_id == tenant)
    for some in _batches(turn_ids):
        for row in connection.execute(columns.where(events.c.turn_id.in_(some)).order_by(events.c.seq)):
            event = JOURNAL_EVENT.validate_json(row.payload)
            yield Hop(row.at, event.kind, row.turn_id, None, _facts_of(event))


def _facts_of(event: JournalEvent) -> Facts:
    """Return the facts of an event that are no words of people."""
    facts: dict[str, JsonValue] = {}
    for holder in (event, getattr(event, "usage", None)):
        facts |= {called: getattr(holder, name) for name, called in NO_WORDS.items() if hasattr(holder, name)}
    facts |= {called: len(getattr(event, name)) for name, called in COUNTED.items() if hasattr(event, name)}
    if isinstance(event, ModelResponded):
        facts["calls"] = [call.name for call in event.tool_calls]
    return facts


def _of_calls_beside(connection: sa.Connection, tenant: str, turn_ids: Collection[str]) -> Iterator[Hop]:
    """Model calls that are no steps of a turn: notes of what is old."""
    columns = sa.select(
        usage.c.turn_id, usage.c.model, usage.c.at, usage.c.input_tokens, usage.c.output_tokens, usage.c.cost_microusd
    ).where(usage.c.tenant_id == tenant, usage.c.step < 0)
    for some in _batches(turn_ids):
        for row in connection.execute(columns.where(usage.c.turn_id.in_(some)).order_by(usage.c.id)):
            used = {name: getattr(row, name) for name in ("model", "input_tokens", "output_tokens", "cost_microusd")}
            yield Hop(row.at, "called_beside", row.turn_id, None, used)


def _of_parts(connection: sa.Connection, tenant: str, causes: Collection[Cause]) -> Iterator[Hop]:
    """Return what was sent, part by part; after each wait a turn has another cause."""
    columns = sa.select(
        outbox.c.id,
        outbox.c.kind,
        outbox.c.cause,
        outbox.c.lane,
        outbox.c.part,
        outbox.c.op,
        outbox.c.action,
        outbox.c.state,
        outbox.c.attempts,
        outbox.c.platform_id,
        outbox.c.marked,
        outbox.c.error,
        outbox.c.created_at,
        outbox.c.done_at,
    ).where(outbox.c.tenant_id == tenant)
    for some in _batches(map(str, causes)):
        for row in connection.execute(columns.where(outbox.c.cause.in_(some)).order_by(outbox.c.id)):
            cause = read_cause(row.kind, row.cause)
            turn_id = cause.turn_id if isinstance(cause, AnswerOf) else None
            row_id = cause.inbox_id if isinstance(cause, ReplyTo) else None
            part: dict[str, JsonValue] = {"kind": cause.kind, "target": row.lane, "outbox_id": row.id}
            part |= {"part": row.part, "op": row.op, "action": row.action}
            yield Hop(row.created_at, "part_put", turn_id, row_id, part)
            receipt = {
                "attempts": row.attempts,
                "platform_id": row.platform_id,
                "marked": row.marked,
                "error": row.error,
            }
            if row.done_at is not None or row.attempts:
                yield Hop(row.done_at or row.created_at, f"part_{row.state}", turn_id, row_id, part | receipt)


def _of_handed(connection: sa.Connection, tenant: str, turn_ids: Collection[str]) -> Iterator[Hop]:
    """Return the events that turns sent to other sessions, over the channel `system`."""
    columns = sa.select(
        inbox.c.id,
        inbox.c.from_turn,
        inbox.c.session_key,
        inbox.c.payload,
        inbox.c.admitted_at,
        inbox.c.outcome,
        inbox.c.turn_id,
    ).where(inbox.c.tenant_id == tenant)
    for some in _batches(turn_ids):
        for row in connection.execute(columns.where(inbox.c.from_turn.in_(some)).order_by(inbox.c.id)):
            event = INBOUND_EVENT.validate_json(row.payload) if row.payload else None
            facts = {
                "kind": event.name if isinstance(event, SystemEvent) else None,
                "target": row.session_key,
                "state": row.outcome or ("claimed" if row.turn_id else "waiting"),
                "inbox_id": row.id,
                "to_turn": row.turn_id,
            }
            yield Hop(row.admitted_at, "handed_over", row.from_turn, None, facts)


def _batches(ids: Iterable[str | int]) -> Iterator[list[str | int]]:
    wanted = list(ids)
    for start in range(0, len(wanted), IDS_AT_ONCE):
        yield wanted[start : start + IDS_AT_ONCE]
