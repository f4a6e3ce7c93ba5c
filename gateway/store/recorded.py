"""Turns as they were recorded, to run them again: what was journaled, and what stood before it. It writes nothing.

Plain functions over a connection.
"""

from dataclasses import dataclass

import sqlalchemy as sa

from agent.context.history import PastTurn
from agent.ports import Summary
from agent.transcript import JournalEvent
from gateway.store import conversations
from gateway.store.heads import is_id_end
from gateway.store.journal import TurnRow, events_of_turn, past_before, unpack_address
from gateway.store.tables.people import users
from gateway.store.tables.turns import events, sessions, turns

Connection = sa.Connection
"""For rooms that may not import SQLAlchemy."""


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A turn and its journal."""

    row: TurnRow  # its user as known by now: a link may have made them another one
    session_key: str
    has_ended: bool
    events: tuple[JournalEvent, ...]

    @property
    def agent(self) -> str:
        """Return the name of the agent that it was for."""
        return self.session_key.split(":")[1]


@dataclass(frozen=True, slots=True)
class StoredPast:
    """The part of a conversation that stood before a turn."""

    turns: tuple[PastTurn, ...]
    summary: Summary | None  # that stood then; None: none did, or it was replaced since
    summarised_since: bool
    begins_later: bool  # the beginning of the conversation is not kept any more


def find_turns(connection: sa.Connection, tenant: str, id_end: str) -> list[str]:
    """Return the turns with this id or end of an id; two at most, and none if it is too short."""
    if not is_id_end(id_end):
        return []
    query = sa.select(turns.c.id).where(turns.c.tenant_id == tenant, turns.c.id.endswith(id_end)).limit(2)
    return list(connection.execute(query).scalars())


def read_turn(connection: sa.Connection, turn_id: str) -> StoredTurn | None:
    """Return a turn; None if it is gone."""
    query = (
        sa.select(turns, sessions.c.key, sa.func.coalesce(users.c.alias_of, turns.c.user_id).label("owner"))
        .join(sessions, sessions.c.id == turns.c.session_id)
        .outerjoin(users, users.c.id == turns.c.user_id)
    )
    row = connection.execute(query.where(turns.c.id == turn_id)).first()
    if row is None:
        return None
    address = unpack_address(row.address)
    turn = TurnRow(row.id, row.tenant_id, row.session_id, row.owner, row.kind, address, row.reply_to, row.started_at)
    return StoredTurn(turn, row.key, row.end_reason is not None, events_of_turn(connection, turn_id))


def read_past(connection: sa.Connection, turn: TurnRow, limit: int) -> StoredPast:
    """Return what stood before a turn in its conversation: the newest `limit` events, whole turns of them."""
    mine = events.c.session_id == turn.session_id
    first = connection.execute(sa.select(sa.func.min(events.c.seq)).where(mine, events.c.turn_id == turn.id)).scalar()
    begin = connection.execute(sa.select(sa.func.min(events.c.seq)).where(mine)).scalar()
    past = () if first is None else past_before(connection, turn.session_id, first, limit)
    summary = conversations.find_summaries(connection, turn.session_id).get(turn.user_id)
    came_later = summary is not None and (summary.kept_at is None or summary.kept_at > turn.started_at)
    return StoredPast(past, None if came_later else summary, came_later, bool(begin))
