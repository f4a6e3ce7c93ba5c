"""The durable inbox: what came in, whether a turn claimed it, and the one outcome of each row.

Plain functions over a connection, the same on every engine; the writer decides when they run.
"""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa

from channels.messages import INBOUND_EVENT, ButtonPressed, CommandInvoked, InboundEvent, Rejected, Route
from gateway.store import reply_routes, retention
from gateway.store.dialect import insert_new
from gateway.store.journal import shard_of
from gateway.store.people import ids_of
from gateway.store.tables.traffic import REDACTED, inbox, outbox
from gateway.store.writer import note_outcome

PRESSED = "reply:"
"""Begins the ids of what was said by pressing a suggested reply."""


class Outcome(StrEnum):
    """The outcome of an inbound row. Every row ends with exactly one."""

    ANSWERED = "answered"
    MERGED = "merged"  # another row's turn took it; `turn_id` says which
    REFUSED = "refused"  # detail says why
    FAILED = "failed"  # the person was told
    CLEARED = "cleared"  # `/stop`, `/new` or its sender took it away
    CONTEXT = "context"  # read along, never answered
    REPLACED = "replaced"  # an edit took its place, or it was an edit that did
    QUARANTINED = "quarantined"  # it could not be understood


@dataclass(frozen=True, slots=True)
class InboxRow:
    """An admitted row that waits: the pointer that the bus and the mailboxes carry."""

    id: int
    tenant: str
    session_key: str
    user_id: str
    event: InboundEvent
    admitted_at: datetime
    attempts: int = 0  # since its last journaled step, as far as it was read from the store


@dataclass(frozen=True, slots=True)
class NewRow:
    """A row about to be admitted. With an outcome it ends right there."""

    event: InboundEvent
    user_id: str | None = None
    session_key: str | None = None
    outcome: Outcome | None = None
    detail: str | None = None
    kept: bool = True  # False: of what it says nothing is stored
    from_turn: str | None = None  # the turn that hands it over; None: no turn does


def admit(connection: sa.Connection, row: NewRow, now: datetime) -> int | None:
    """Insert the row. Return its id, or None if this event was admitted before."""
    event = row.event
    id_: int | None = connection.execute(
        insert_new(connection, inbox, inbox.c.id),
        {
            "tenant_id": event.tenant,
            "channel": event.address.channel,
            "account": event.address.account,
            "event_id": event.event_id,
            "kind": event.type,
            "chat": event.address.chat,
            "message_id": getattr(event, "message_id", None),
            "sender": event.sender_key,
            "user_id": row.user_id,
            "session_key": row.session_key,
            "from_turn": row.from_turn,
            "shard": None if row.session_key is None else shard_of(row.session_key),
            "payload": _payload(row),
            "received_at": event.received_at,
            "admitted_at": now,
            "attempts": 0,
            "outcome": row.outcome,
            "detail": row.detail,
            "done_at": now if row.outcome else None,
        },
    ).scalar()
    if id_ is None:
        return None
    if row.outcome is not None:
        note_outcome(connection, row.outcome, 1)
    if row.outcome is Outcome.CONTEXT:
        retention.forget_older(connection, id_)
    if (route := route_of(row.event)) is not None and route.token:
        reply_routes.add_route(connection, row.event.tenant, id_, route)
    return id_


def _payload(row: NewRow) -> str:
    """Return the event as text; nothing of it if it is refused, from an unknown sender, or not to be kept."""
    if not row.kept or row.outcome is Outcome.REFUSED or (row.outcome is not None and row.user_id is None):
        return retention.NOTHING
    return INBOUND_EVENT.dump_json(_without_token(row.event)).decode()


def _without_token(event: InboundEvent) -> InboundEvent:
    """Return the event without the token of its reply route, which stands in `reply_routes` alone."""
    if isinstance(event, ButtonPressed | CommandInvoked) and event.route is not None:
        return replace(event, route=replace(event.route, token=""))
    return event


def route_of(event: InboundEvent) -> Route | None:
    """Return the event's own reply route; None if the answer goes to the chat."""
    return event.route if isinstance(event, ButtonPressed | CommandInvoked) else None


RAW_CHARS = 16_384


def _storable(text: str, chars: int) -> str:
    """Return unreadable text in a form that every database accepts."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()[:chars]


def quarantine(
    connection: sa.Connection, tenant: str, channel: str, account: str, rejected: Rejected, now: datetime
) -> None:
    """Keep what could not be understood, for the operator."""
    inserted = connection.execute(
        insert_new(connection, inbox, inbox.c.id),
        {
            "tenant_id": tenant,
            "channel": channel,
            "account": account,
            "event_id": _storable(rejected.event_id, 256),
            "kind": "rejected",
            "chat": "",
            "message_id": None,
            "sender": "",
            "user_id": None,
            "session_key": None,
            "from_turn": None,
            "payload": _storable(rejected.raw, RAW_CHARS),
            "received_at": now,
            "admitted_at": now,
            "attempts": 0,
            "outcome": Outcome.QUARANTINED,
            "detail": _storable(rejected.reason, RAW_CHARS),
            "done_at": now,
        },
    ).scalar()
    if inserted is not None:
        note_outcome(connection, Outcome.QUARANTINED, 1)
        retention.forget_older(connection, inserted)


_WAITING = sa.select(
    inbox.c.id,
    inbox.c.tenant_id,
    inbox.c.session_key,
    inbox.c.user_id,
    inbox.c.payload,
    inbox.c.admitted_at,
    inbox.c.attempts,
).where(inbox.c.outcome.is_(None), inbox.c.turn_id.is_(None), inbox.c.session_key.is_not(None))


_WAITING_BEHIND = (
    _WAITING.where(inbox.c.id > sa.bindparam("b_after")).order_by(inbox.c.id).limit(sa.bindparam("b_limit"))
)
_WAITING_OF_SESSION = _WAITING_BEHIND.where(inbox.c.session_key == sa.bindparam("b_session"))


class UnreadableRow(Exception):
    """A row whose event cannot be read: another version wrote it, or something else did."""

    def __init__(self, id_: int, why: str) -> None:
        super().__init__(f"its event cannot be read: {why}")
        self.id = id_


def _rows(result: "Iterable[sa.Row[int, str, str | None, str | None, str, datetime, int]]") -> list[InboxRow]:
    return [
        InboxRow(id_, tenant, key or "", user_id or "", _event(id_, payload), admitted_at, attempts)
        for id_, tenant, key, user_id, payload, admitted_at, attempts in result
    ]


def _event(id_: int, payload: str) -> InboundEvent:
    try:
        return INBOUND_EVENT.validate_json(payload)
    except ValueError as error:  # a ValidationError is one
        raise UnreadableRow(id_, str(error).partition("\n")[0]) from None


def set_aside(connection: sa.Connection, id_: int, reason: str) -> None:
    """End a row that cannot be read; it stays for the operator."""
    done = connection.execute(
        sa.update(inbox)
        .where(inbox.c.id == id_, inbox.c.outcome.is_(None))
        .values(outcome=Outcome.QUARANTINED, detail=reason, done_at=inbox.c.admitted_at)
    )
    note_outcome(connection, Outcome.QUARANTINED, done.rowcount)


def waiting(
    connection: sa.Connection, after_id: int, limit: int, session_key: str | None = None, *which: sa.ColumnElement[bool]
) -> list[InboxRow]:
    """Rows that no turn has claimed, in order of admission, of one session or of all; of those, `which`.

    Raises:
        UnreadableRow: the first of them that is no event.
    """
    query = _WAITING_BEHIND if session_key is None else _WAITING_OF_SESSION
    values = {"b_after": after_id, "b_limit": limit} | ({} if session_key is None else {"b_session": session_key})
    return _rows(connection.execute(query.where(*which) if which else query, values))


_CLAIM = (
    sa.update(inbox)
    .where(
        inbox.c.id == sa.bindparam("b_id"),
        inbox.c.outcome.is_(None),
        sa.or_(inbox.c.turn_id.is_(None), inbox.c.turn_id == sa.bindparam("b_turn")),
    )
    .values(turn_id=sa.bindparam("b_turn"), attempts=sa.case((inbox.c.attempts == 0, 1), else_=inbox.c.attempts))
)


def claim(connection: sa.Connection, ids: Sequence[int], turn_id: str) -> int:
    """Give open rows to a turn, at least one attempt counted; how many it got. A row cleared meanwhile is left out."""
    return sum(connection.execute(_CLAIM, {"b_id": id_, "b_turn": turn_id}).rowcount for id_ in ids)


def count_attempt(connection: sa.Connection, ids: Sequence[int]) -> int:
    """Count an attempt at rows that a crash may have interrupted; return how many there were since their last step."""
    return _count_attempt(connection, inbox.c.id.in_(ids))


def count_turn_attempt(connection: sa.Connection, turn_id: str) -> int:
    """Count an attempt at the rows of a turn, as `count_attempt` does."""
    return _count_attempt(connection, inbox.c.turn_id == turn_id)


def _count_attempt(connection: sa.Connection, which: sa.ColumnElement[bool]) -> int:
    counted = sa.update(inbox).where(which).values(attempts=inbox.c.attempts + 1).returning(inbox.c.attempts)
    return max((int(row.attempts) for row in connection.execute(counted)), default=0)


def most_attempts(connection: sa.Connection) -> int:
    """Return the most attempts at any open row since its last step."""
    return connection.execute(sa.select(sa.func.max(inbox.c.attempts)).where(inbox.c.outcome.is_(None))).scalar() or 0


def open_of(connection: sa.Connection, ids: Sequence[int], turn_id: str) -> list[int]:
    """Those of the rows that this turn could claim, in order."""
    free = sa.or_(inbox.c.turn_id.is_(None), inbox.c.turn_id == turn_id)
    query = sa.select(inbox.c.id).where(inbox.c.id.in_(ids), inbox.c.outcome.is_(None), free).order_by(inbox.c.id)
    return list(connection.execute(query).scalars())


_SETTLE = (
    sa.update(inbox)
    .where(inbox.c.id == sa.bindparam("b_id"), inbox.c.outcome.is_(None))
    .values(outcome=sa.bindparam("b_outcome"), detail=sa.bindparam("b_detail"), done_at=sa.bindparam("b_now"))
)
_REFUSE = _SETTLE.values(payload=retention.NOTHING)


def settle(connection: sa.Connection, id_: int, outcome: Outcome, now: datetime, detail: str | None = None) -> bool:
    """Record the outcome of an open row; False where it had one already. Of a refused one only the key is kept."""
    statement = _REFUSE if outcome is Outcome.REFUSED else _SETTLE
    values = {"b_id": id_, "b_outcome": outcome, "b_detail": detail, "b_now": now}
    done = connection.execute(statement, values).rowcount
    if done == 1:
        note_outcome(connection, outcome, 1)
        if outcome is Outcome.CONTEXT:
            retention.forget_older(connection, id_)
    return done == 1


_SETTLE_TURN = (
    sa.update(inbox)
    .where(inbox.c.turn_id == sa.bindparam("b_turn"), inbox.c.outcome.is_(None))
    .values(
        outcome=sa.case((inbox.c.id == sa.bindparam("b_first"), sa.bindparam("b_outcome")), else_=Outcome.MERGED.value),
        detail=sa.bindparam("b_detail"),
        done_at=sa.bindparam("b_now"),
    )
    .returning(inbox.c.outcome)
)


def settle_turn(
    connection: sa.Connection, turn_id: str, first_id: int, outcome: Outcome, now: datetime, detail: str | None = None
) -> None:
    """Record the outcome of a turn's rows: `first_id` gets it, what joined later was merged."""
    values = {"b_turn": turn_id, "b_first": first_id, "b_outcome": outcome, "b_detail": detail, "b_now": now}
    for ended in connection.execute(_SETTLE_TURN, values).scalars().all():
        note_outcome(connection, ended, 1)


def rows_of_turn(connection: sa.Connection, turn_id: str) -> list[tuple[int, InboundEvent]]:
    """Return the rows that a turn has claimed, in order."""
    result = connection.execute(
        sa.select(inbox.c.id, inbox.c.payload).where(inbox.c.turn_id == turn_id).order_by(inbox.c.id)
    )
    return [(id_, INBOUND_EVENT.validate_json(payload)) for id_, payload in result]


def sender_of_turn(connection: sa.Connection, turn_id: str) -> str | None:
    """Return the canonical sender of the first row that a turn has claimed; None if it has none."""
    return connection.execute(
        sa.select(inbox.c.sender).where(inbox.c.turn_id == turn_id).order_by(inbox.c.id).limit(1)
    ).scalar()


def clear_session(
    connection: sa.Connection, session_key: str, before_id: int, now: datetime, why: str, user_id: str | None = None
) -> list[InboxRow]:
    """Clear what waits in a session before a given row, of one person or of all; what was cleared, in order."""
    query = _WAITING.where(inbox.c.session_key == session_key, inbox.c.id < before_id).order_by(inbox.c.id)
    if user_id is not None:
        query = query.where(inbox.c.user_id.in_(ids_of(user_id)))
    found = connection.execute(query).all()
    rows = []
    for row in found:
        settle(connection, row.id, Outcome.CLEARED, now, why)
        with contextlib.suppress(UnreadableRow):  # nobody can be told of it
            rows += _rows([row])
    return rows


def clear_claimed(
    connection: sa.Connection, session_key: str, before_id: int, now: datetime, why: str, user_id: str | None = None
) -> int:
    """Record that what turns of a session are answering was stopped: a crash must not let them go on; how many rows."""
    stopped = (
        sa.update(inbox)
        .where(
            inbox.c.session_key == session_key,
            inbox.c.id < before_id,
            inbox.c.outcome.is_(None),
            inbox.c.turn_id.is_not(None),
        )
        .values(outcome=Outcome.CLEARED, detail=why, done_at=now)
    )
    if user_id is not None:
        stopped = stopped.where(inbox.c.user_id.in_(ids_of(user_id)))
    rows = connection.execute(stopped).rowcount
    note_outcome(connection, Outcome.CLEARED, rows)
    return rows


def clear_person(
    connection: sa.Connection, user_id: str, before_id: int | None, now: datetime, why: str, *, beside_id: int
) -> None:
    """Clear whatever waits of one person before a given row, in any session, and record that the rest was stopped.

    None: whatever waits. The row `beside_id` stays as it is.
    """
    open_rows = sa.update(inbox).where(
        inbox.c.user_id == user_id,
        inbox.c.id != beside_id,
        inbox.c.outcome.is_(None),
        *(() if before_id is None else (inbox.c.id < before_id,)),
    )
    note_outcome(
        connection,
        Outcome.CLEARED,
        connection.execute(open_rows.values(outcome=Outcome.CLEARED, detail=why, done_at=now)).rowcount,
    )


def is_settled(connection: sa.Connection, id_: int) -> bool:
    """Return True if a row has its outcome."""
    return connection.execute(sa.select(inbox.c.outcome).where(inbox.c.id == id_)).scalar() is not None


def redact(connection: sa.Connection, id_: int) -> None:
    """Blank what a row said, for a command that held a secret."""
    connection.execute(sa.update(inbox).where(inbox.c.id == id_).values(payload=REDACTED))


def reopen(connection: sa.Connection, id_: int, event: InboundEvent, user_id: str, session_key: str | None) -> None:
    """Take a row that was just refused after all: its sender was let in a moment before."""
    payload = INBOUND_EVENT.dump_json(_without_token(event)).decode()
    values: dict[str, object] = {"user_id": user_id, "session_key": session_key, "payload": payload}
    values |= {"shard": None if session_key is None else shard_of(session_key)}
    values |= dict.fromkeys(("outcome", "detail", "done_at"))
    connection.execute(sa.update(inbox).where(inbox.c.id == id_).values(values))
    note_outcome(connection, Outcome.REFUSED, -1)


def newest(connection: sa.Connection) -> tuple[int, int]:
    """Return the ids of the newest inbox row and of the newest outbox row; 0 if there is none."""
    ids = (sa.select(sa.func.coalesce(sa.func.max(table.c.id), 0)).scalar_subquery() for table in (inbox, outbox))
    in_id, out_id = connection.execute(sa.select(*ids)).one()
    return in_id, out_id


def open_count(connection: sa.Connection) -> int:
    """Return how many rows have no outcome yet."""
    return int(connection.execute(sa.select(sa.func.count()).where(inbox.c.outcome.is_(None))).scalar_one())
