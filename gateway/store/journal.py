"""Sessions, turns and their journal, each write of a turn fenced by the owner's epoch.

Plain functions over a connection. A fenced write changes nothing and raises; the caller then drops what it holds.
"""

import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from agent import journal
from agent.context.history import PastTurn
from agent.errors import Fenced
from agent.permission_rules import Mode
from agent.transcript import (
    JOURNAL_EVENT,
    EndReason,
    JournalEvent,
    Steered,
    ToolResultRewritten,
    ToolReturned,
    TurnEnded,
    TurnStarted,
)
from channels.messages import Address
from gateway.store.dialect import insert_new
from gateway.store.tables.base import new_id
from gateway.store.tables.people import users
from gateway.store.tables.traffic import inbox
from gateway.store.tables.turns import SHARDS, blobs, events, sessions, shards, turns

JOURNAL_VERSION = 1
RESULT_KINDS = ("tool_returned", "tool_result_rewritten")


@dataclass(frozen=True, slots=True)
class Fence:
    """The right of a process to write a session's turns."""

    shard: int
    epoch: int


CHILD_MARK = ":subagent:"
"""Stands in the key of a child's session between that of its parent and its label."""


def root_of(session_key: str) -> str:
    """Return the key of the session in which people talk: the session itself, or the one its tasks come from."""
    return session_key.partition(CHILD_MARK)[0]


def shard_of(session_key: str) -> int:
    """Return the shard of a session; the same on every machine and for ever. Children run where their parent does."""
    return zlib.crc32(root_of(session_key).encode()) % SHARDS


def take_all_shards(connection: sa.Connection, owner: str) -> int:
    """Own every shard and fence earlier owners; return the epoch that holds for all."""
    epoch = int(connection.execute(sa.select(sa.func.coalesce(sa.func.max(shards.c.epoch), 0))).scalar_one()) + 1
    connection.execute(sa.update(shards).values(owner=owner, epoch=epoch))
    return epoch


def let_go(connection: sa.Connection, epoch: int) -> None:
    """Release every shard at a stop without a crash: no attempt at what is left open counts."""
    if connection.execute(sa.update(shards).where(shards.c.epoch == epoch).values(owner=None)).rowcount:
        forget_attempts(connection)


def forget_attempts(connection: sa.Connection, *which: sa.ColumnElement[bool]) -> None:
    """Count the attempts at these open rows anew: they got on, or the process stops without a crash."""
    counted = inbox.c.outcome.is_(None), inbox.c.attempts > 0
    connection.execute(sa.update(inbox).where(*counted, *which).values(attempts=0))


_EPOCH = (
    # while this transaction runs no other process takes the shard
    sa.select(shards.c.epoch)
    .where(shards.c.shard == sa.bindparam("b_shard"))
    .with_for_update(read=True, key_share=True)
)


def check_fence(connection: sa.Connection, fence: Fence) -> None:
    """Raise Fenced if another process owns the shard by now."""
    if connection.execute(_EPOCH, {"b_shard": fence.shard}).scalar() != fence.epoch:
        raise Fenced(f"shard {fence.shard} has a newer owner than epoch {fence.epoch}")


@dataclass(frozen=True, slots=True)
class SessionState:
    """A session as its worker takes it up."""

    id: str
    generation: int
    mode: str
    next_seq: int
    past: tuple[PastTurn, ...]  # the newest turns that have ended, in order, each whole
    continues: bool = False  # it goes on from a conversation of another chat
    permission_mode: Mode | None = None  # set by an owner; None: the configured one

    @property
    def events(self) -> tuple[JournalEvent, ...]:
        """The events of these turns, whosever they are."""
        return tuple(event for turn in self.past for event in turn.events)


_newest = (
    sa.select(
        sessions.c.id,
        sessions.c.generation,
        sessions.c.mode,
        sessions.c.permission_mode,
        sessions.c.continues_id,
        sessions.c.continues_seq,
    )
    .where(sessions.c.tenant_id == sa.bindparam("b_tenant"), sessions.c.key == sa.bindparam("b_key"))
    .order_by(sessions.c.generation.desc())
    .limit(1)
)


def load_session(connection: sa.Connection, tenant: str, key: str, limit: int) -> SessionState | None:
    """Return the living conversation of a key with its newest ended turns; None before the first message.

    A conversation that continues another one begins with the turns of that.
    """
    found = connection.execute(_newest, {"b_tenant": tenant, "b_key": key}).first()
    if found is None:
        return None
    past, last_seq = _past_of(connection, found, limit)
    next_seq = 0 if last_seq is None else last_seq + 1
    own_mode = None if found.permission_mode is None else Mode(found.permission_mode)
    continues = found.continues_id is not None
    return SessionState(found.id, found.generation, found.mode, next_seq, tuple(past), continues, own_mode)


def past_before(connection: sa.Connection, session_id: str, seq: int, limit: int) -> tuple[PastTurn, ...]:
    """Return the newest turns of a conversation that had ended before this place in its journal, each whole."""
    found = connection.execute(_by_id, {"b_id": session_id}).first()
    return () if found is None else tuple(_past_of(connection, found, limit, seq)[0])


def _past_of(
    connection: sa.Connection, found: Any, limit: int, below: int | None = None
) -> tuple[list[PastTurn], int | None]:
    """Return the newest turns that ended in a conversation, below this place of it, and the place of its last event."""
    rows = _newest_events(connection, found.id, limit, below)
    past = _whole_turns(connection, rows, cut=len(rows) == limit)
    later: Any = found
    room, seen = limit - len(rows), {None, found.id}
    while room > 0 and later is not None and later.continues_id not in seen:
        seen.add(later.continues_id)
        there = _newest_events(connection, later.continues_id, room, later.continues_seq)
        ended = _whole_turns(connection, there, cut=len(there) == room)
        past = [*(replace(turn, elsewhere=True) for turn in ended), *past]
        room, later = room - len(there), connection.execute(_by_id, {"b_id": later.continues_id}).first()
    return past, rows[-1].seq if rows else None


_by_id = sa.select(sessions.c.id, sessions.c.continues_id, sessions.c.continues_seq).where(
    sessions.c.id == sa.bindparam("b_id")
)


def _newest_events(connection: sa.Connection, session_id: str, limit: int, below: int | None = None) -> Sequence[Any]:
    """So many events of a conversation, in order; those below this place."""
    query = sa.select(events.c.seq, events.c.turn_id, events.c.payload).where(events.c.session_id == session_id)
    query = query if below is None else query.where(events.c.seq < below)
    return connection.execute(query.order_by(events.c.seq.desc()).limit(limit)).all()[::-1]


def _whole_turns(connection: sa.Connection, rows: Sequence[Any], *, cut: bool) -> list[PastTurn]:
    """Return the turns that end in these events, in order; if the events are `cut`, without the turns cut in two."""
    by_turn: dict[str, list[JournalEvent]] = {}
    for row in rows:
        by_turn.setdefault(row.turn_id, []).append(JOURNAL_EVENT.validate_json(row.payload))
    by_turn = {id_: found for id_, found in by_turn.items() if isinstance(found[-1], TurnEnded)}
    if cut:
        by_turn = {id_: found for id_, found in by_turn.items() if isinstance(found[0], TurnStarted)}
    last_seq = {row.turn_id: row.seq for row in rows}
    owners = _ended_owners(connection, by_turn)
    ended = sorted(owners, key=last_seq.__getitem__)  # one that waited ended behind those that ran meanwhile
    return [PastTurn(owners[id_][0], tuple(by_turn[id_]), id_, owners[id_][1]) for id_ in ended]


_now_of = sa.func.coalesce(users.c.alias_of, turns.c.user_id)
"""The person for whom a turn acted, as known by now: a link may have made them another user."""


def _ended_owners(connection: sa.Connection, turn_ids: Collection[str]) -> dict[str, tuple[str, datetime]]:
    """Whom each of these turns acted for and when it ended, as far as it has."""
    if not turn_ids:
        return {}
    ended = turns.c.id.in_(turn_ids), turns.c.end_reason.is_not(None)
    query = sa.select(turns.c.id, _now_of.label("owner"), turns.c.ended_at).where(*ended)
    found = connection.execute(query.outerjoin_from(turns, users, users.c.id == turns.c.user_id))
    return {row.id: (row.owner, row.ended_at) for row in found}


def open_session(
    connection: sa.Connection, tenant: str, key: str, mode: str, generation: int, now: datetime
) -> SessionState:
    """Begin a generation of a conversation; also where it was begun before."""
    connection.execute(
        insert_new(connection, sessions),
        {
            "id": new_id(),
            "tenant_id": tenant,
            "key": key,
            "generation": generation,
            "mode": mode,
            "permission_mode": permission_mode_of(connection, tenant, key),
            "title": None,
            "created_at": now,
        },
    )
    state = load_session(connection, tenant, key, 1)
    if state is None:
        raise RuntimeError("a session was begun and is not there")
    return replace(state, past=())


def permission_mode_of(connection: sa.Connection, tenant: str, key: str) -> str | None:
    """Return the permission mode of the newest conversation of a key; each later one begins with it."""
    newest = connection.execute(_newest, {"b_tenant": tenant, "b_key": key}).first()
    return None if newest is None else newest.permission_mode


def set_permission_mode(connection: sa.Connection, session_id: str, mode: Mode | None) -> None:
    """Change the permission mode of a conversation; None: the configured one."""
    connection.execute(sa.update(sessions).where(sessions.c.id == session_id).values(permission_mode=mode))


def next_seq(connection: sa.Connection, session_id: str) -> int:
    """Return the first free place in the journal of a generation."""
    highest = connection.execute(sa.select(sa.func.max(events.c.seq)).where(events.c.session_id == session_id)).scalar()
    return 0 if highest is None else int(highest) + 1


def set_mode(connection: sa.Connection, session_id: str, mode: str) -> None:
    """Change how messages that arrive mid-turn are taken."""
    connection.execute(sa.update(sessions).where(sessions.c.id == session_id).values(mode=mode))


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn as it is stored."""

    id: str
    tenant: str
    session_id: str
    user_id: str
    kind: str  # chat | plan
    address: Address
    reply_to: str | None
    started_at: datetime


def _pack(address: Address) -> str:
    return "\x1f".join((address.channel, address.account, address.chat, address.thread or ""))


def unpack_address(text: str) -> Address:
    """Return the address of a turn from its row."""
    channel, account, chat, thread = text.split("\x1f")
    return Address(channel, account, chat, thread or None)


def begin_turn(connection: sa.Connection, turn: TurnRow) -> None:
    """Record that a turn runs."""
    connection.execute(
        insert_new(connection, turns),
        {
            "id": turn.id,
            "tenant_id": turn.tenant,
            "session_id": turn.session_id,
            "user_id": turn.user_id,
            "kind": turn.kind,
            "address": _pack(turn.address),
            "reply_to": turn.reply_to,
            "started_at": turn.started_at,
        },
    )


_END_TURN = (
    sa.update(turns)
    .where(turns.c.id == sa.bindparam("b_id"), turns.c.end_reason.is_(None))
    .values(end_reason=sa.bindparam("b_reason"), ended_at=sa.bindparam("b_now"))
)


def turn_of(connection: sa.Connection, turn_id: str) -> TurnRow | None:
    """Return a turn; None if it is gone: its person may have been forgotten."""
    row = connection.execute(sa.select(turns).where(turns.c.id == turn_id)).first()
    return None if row is None else _as_turn(row)


def end_turn(connection: sa.Connection, turn_id: str, reason: EndReason, now: datetime) -> None:
    """Record that a turn is over; one that was before stays as it ended."""
    connection.execute(_END_TURN, {"b_id": turn_id, "b_reason": reason, "b_now": now})


def person_of(connection: sa.Connection, turn_id: str) -> str | None:
    """Return the person of a turn; None if the turn is gone: its person may have been forgotten."""
    return connection.execute(sa.select(turns.c.user_id).where(turns.c.id == turn_id)).scalar()


def key_of(connection: sa.Connection, turn_id: str) -> str | None:
    """Return the key of a turn's session; None if the turn is gone."""
    query = sa.select(sessions.c.key).join(turns, turns.c.session_id == sessions.c.id)
    return connection.execute(query.where(turns.c.id == turn_id)).scalar()


def append(connection: sa.Connection, turn: TurnRow, seq: int, added: Sequence[JournalEvent], now: datetime) -> None:
    """Append events to the journal of a turn, from `seq` on. The same events at the same place change nothing.

    Of each kind there is one a call, but for what is made of its result: that may be rewritten again. Pictures that are
    named in it are kept from now on as long as it is.
    """
    rows = [
        {
            "session_id": turn.session_id,
            "seq": seq + index,
            "tenant_id": turn.tenant,
            "turn_id": turn.id,
            "step": getattr(event, "step", 0),
            "call_key": None if isinstance(event, ToolResultRewritten) else getattr(event, "call_key", None),
            "kind": event.kind,
            "version": JOURNAL_VERSION,
            "payload": JOURNAL_EVENT.dump_json(event).decode(),
            "at": now,
        }
        for index, event in enumerate(added)
    ]
    if rows:
        connection.execute(insert_new(connection, events), rows)
    said = [item for event in added if isinstance(event, TurnStarted | Steered) for item in event.items]
    if pictures := [picture.id for item in said for picture in item.pictures if picture.id]:
        connection.execute(sa.update(blobs).where(blobs.c.id.in_(pictures)).values(turn_id=turn.id))


_FORGET_ATTEMPTS = (
    sa.update(inbox)
    .where(inbox.c.turn_id == sa.bindparam("b_turn"), inbox.c.outcome.is_(None), inbox.c.attempts > 0)
    .values(attempts=0)
)


def append_step(
    connection: sa.Connection, turn: TurnRow, seq: int, added: Sequence[JournalEvent], at: datetime
) -> None:
    """Append the events of a step; the attempts at the turn count anew."""
    append(connection, turn, seq, added, at)
    connection.execute(_FORGET_ATTEMPTS, {"b_turn": turn.id})


def whole_result(connection: sa.Connection, session_id: str, user_id: str, call_key: str) -> str | None:
    """Return the whole result of a call of this conversation and person, as hooks left it; None if it is gone."""
    of_turn = events.c.turn_id == call_key.partition("/")[0], events.c.kind.in_(RESULT_KINDS)
    rows = (
        sa.select(events.c.payload)
        .join(turns, turns.c.id == events.c.turn_id)
        .outerjoin(users, users.c.id == turns.c.user_id)
        .where(*of_turn, _now_of == user_id, events.c.session_id.in_(_line_of(session_id)))
    )
    payloads = connection.execute(rows.order_by(events.c.seq)).scalars()
    return journal.whole_result(map(JOURNAL_EVENT.validate_json, payloads), call_key)


def _line_of(session_id: str) -> sa.Select[str]:
    """Select the ids of a conversation and of those that it continues."""
    line = sa.select(sessions.c.id, sessions.c.continues_id).where(sessions.c.id == session_id).cte(recursive=True)
    before = sa.select(sessions.c.id, sessions.c.continues_id).join(line, line.c.continues_id == sessions.c.id)
    return sa.select(line.union(before).c.id)


def result_of(connection: sa.Connection, call_key: str) -> ToolReturned | None:
    """Return the journaled result of a call, or None."""
    payload = connection.execute(
        sa.select(events.c.payload).where(events.c.call_key == call_key, events.c.kind == "tool_returned")
    ).scalar()
    if payload is None:
        return None
    event = JOURNAL_EVENT.validate_json(payload)
    return event if isinstance(event, ToolReturned) else None


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn that was running when its process ended."""

    turn: TurnRow
    session_key: str
    parked: bool = False  # it waits for its person's word
    attempts: int = 0  # since its last journaled step


_attempts = sa.select(sa.func.max(inbox.c.attempts)).where(inbox.c.turn_id == turns.c.id).scalar_subquery()
_open = (
    sa.select(turns, sessions.c.key, _attempts.label("attempts"))
    .join(sessions, sessions.c.id == turns.c.session_id)
    .where(turns.c.end_reason.is_(None))
)


def open_turns(connection: sa.Connection) -> list[OpenTurn]:
    """Return the turns that have not ended, oldest first."""
    return [_as_open(row) for row in connection.execute(_open.order_by(turns.c.id))]


def _as_open(row: sa.Row[Any]) -> OpenTurn:
    return OpenTurn(_as_turn(row), row.key, row.parked_at is not None, row.attempts or 0)


def _as_turn(row: sa.Row[Any]) -> TurnRow:
    return TurnRow(
        row.id,
        row.tenant_id,
        row.session_id,
        row.user_id,
        row.kind,
        unpack_address(row.address),
        row.reply_to,
        row.started_at,
    )


def events_of_turn(connection: sa.Connection, turn_id: str) -> tuple[JournalEvent, ...]:
    """Return the journal of one turn, in order."""
    payloads = connection.execute(
        sa.select(events.c.payload).where(events.c.turn_id == turn_id).order_by(events.c.seq)
    ).scalars()
    return tuple(JOURNAL_EVENT.validate_json(payload) for payload in payloads)


def ended_of(connection: sa.Connection, tenant: str, key: str, user_id: str, limit: int) -> Sequence[str]:
    """Return a person's turns that ended in the living conversation of a key, the newest first."""
    living = connection.execute(_newest, {"b_tenant": tenant, "b_key": key}).first()
    if living is None:
        return ()
    ended = sa.select(events.c.turn_id).join(turns, turns.c.id == events.c.turn_id)
    ended = ended.outerjoin(users, users.c.id == turns.c.user_id)
    ended = ended.where(events.c.session_id == living.id, events.c.kind == "turn_ended", _now_of == user_id)
    return connection.execute(ended.order_by(events.c.seq.desc()).limit(limit)).scalars().all()
