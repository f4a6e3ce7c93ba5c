"""Conversations: read, named, summarised and resumed. Each is a generation of its key; the highest is the living one.

A summary stands for the older part of a conversation in one person's prompts: a row for each session and person,
replaced whole. `agent.context` makes them.

Plain functions over a connection. `list_heads` lists them; `gateway.sessions.conversation` is the
memory of a session.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import sqlalchemy as sa

from agent.consent import Parked
from agent.ports import Summary
from agent.transcript import JOURNAL_EVENT, JournalEvent
from channels.messages import INBOUND_EVENT, InboundMessage
from gateway.store import people
from gateway.store.causes import AnswerOf
from gateway.store.dialect import insert_into, upsert
from gateway.store.heads import ConversationHead, list_heads
from gateway.store.journal import TurnRow, next_seq, permission_mode_of
from gateway.store.tables.base import new_id
from gateway.store.tables.people import users
from gateway.store.tables.traffic import inbox
from gateway.store.tables.turns import events, sessions, summaries, turns
from gateway.store.timeline import IDS_AT_ONCE

_VALUES = ("notes", "turn_id", "step", "condensed", "left_out", "kept_at")


def keep_summary(connection: sa.Connection, turn: TurnRow, summary: Summary, now: datetime) -> Summary | None:
    """Put a summary in place of the one before, which is given back; None where it is the first."""
    before = find_summaries(connection, turn.session_id).get(turn.user_id)
    row = {
        "session_id": turn.session_id,
        "user_id": turn.user_id,
        "tenant_id": turn.tenant,
        "notes": summary.notes,
        "turn_id": summary.turn_id,
        "step": summary.step,
        "condensed": summary.condensed,
        "left_out": summary.left_out,
        "kept_at": now,
    }
    connection.execute(upsert(connection, summaries, _VALUES), row)
    return before


def find_summaries(connection: sa.Connection, session_id: str) -> dict[str, Summary]:
    """Return the summaries of a session by the person in whose prompts they stand; of two linked users the newest."""
    owner = sa.func.coalesce(users.c.alias_of, summaries.c.user_id).label("owner")
    query = sa.select(summaries, owner).outerjoin_from(summaries, users, users.c.id == summaries.c.user_id)
    rows = connection.execute(query.where(summaries.c.session_id == session_id).order_by(summaries.c.kept_at))
    return {
        row.owner: Summary(row.notes, row.turn_id, row.step, row.condensed, row.left_out, row.kept_at) for row in rows
    }


def take_summaries_along(connection: sa.Connection, session_id: str, into: str) -> None:
    """Copy the summaries of a conversation into the one that continues it."""
    columns = [column for column in summaries.c if column.name != "session_id"]
    copied = sa.select(sa.literal(into), *columns).where(summaries.c.session_id == session_id)
    names = ["session_id", *(column.name for column in columns)]
    connection.execute(insert_into(connection, summaries).from_select(names, copied))


WORDS = ("turn_started", "steered", "parked", "turn_ended")
"""The events of a turn that hold what was said, or tell by what its answer is known."""


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """A turn as it is kept: the messages of its person, and the answers."""

    id: str
    started_at: datetime
    ended_at: datetime | None
    said: Sequence[InboundMessage] | None  # as they were taken in; None: only the journal has the words still
    events: Sequence[JournalEvent]  # how it began, what joined it, how often it waited, how it ended

    @property
    def answer(self) -> AnswerOf:
        """Return the cause of the answer."""
        return AnswerOf(self.id, sum(isinstance(event, Parked) and event.asks for event in self.events))


def kept_turns(
    connection: sa.Connection,
    tenant: str,
    key: str,
    session_id: str,
    most: int,
    *,
    of: sa.CompoundSelect[str] | None = None,
) -> list[KeptTurn]:
    """Return the newest turns of a conversation of this key, oldest first; `of` these users' alone."""
    query = sa.select(sessions.c.id).where(sessions.c.tenant_id == tenant, sessions.c.key == key)
    found = connection.execute(query.where(sessions.c.id == session_id)).scalar()
    if found is None:
        return []
    rows = connection.execute(
        sa.select(turns.c.id, turns.c.started_at, turns.c.ended_at)
        .where(turns.c.session_id == found, sa.true() if of is None else turns.c.user_id.in_(of))
        .order_by(turns.c.id.desc())
        .limit(min(most, IDS_AT_ONCE))
    ).all()
    ids = [row.id for row in rows]
    said = _by_turn(connection, sa.select(inbox.c.turn_id, inbox.c.payload), inbox, ids)
    told = _by_turn(
        connection, sa.select(events.c.turn_id, events.c.payload).where(events.c.kind.in_(WORDS)), events, ids
    )
    return [
        KeptTurn(
            row.id,
            row.started_at,
            row.ended_at,
            _messages(said[row.id]) if said[row.id] else None,
            [JOURNAL_EVENT.validate_json(raw) for raw in told[row.id]],
        )
        for row in reversed(rows)
    ]


def _messages(payloads: Sequence[str]) -> list[InboundMessage]:
    taken = [INBOUND_EVENT.validate_json(raw) for raw in payloads]
    return [event for event in taken if isinstance(event, InboundMessage)]


def _by_turn(
    connection: sa.Connection, query: sa.Select[str, str], table: sa.Table, ids: Sequence[str]
) -> dict[str, list[str]]:
    """Return the payloads of these turns' rows, in order; empty ones are left out."""
    payloads: dict[str, list[str]] = {id_: [] for id_ in ids}
    order = table.c.id if "id" in table.c else table.c.seq
    for turn_id, payload in connection.execute(query.where(table.c.turn_id.in_(ids)).order_by(order)):
        if payload:
            payloads[turn_id].append(payload)
    return payloads


def entitle(connection: sa.Connection, session_id: str, title: str, *, anew: bool) -> None:
    """Call a conversation so; one that has a title keeps it, unless it is to be called so `anew`."""
    named = sa.update(sessions).where(sessions.c.id == session_id).values(title=title)
    connection.execute(named if anew else named.where(sessions.c.title.is_(None)))


MOST_REACHED = 500
"""Conversations of a person among which those used last are looked for: so many that began last."""


def list_reachable(
    connection: sa.Connection, tenant: str, key: str, user_id: str, most: int, id_end: str = ""
) -> list[ConversationHead]:
    """Return the conversations that a person may continue in the chat of this key, last used first; those whose id ends
    so.

    A direct chat also offers those of the person's other direct chats with the same agent, and never a group's.
    """
    held = sa.select(turns.c.session_id).where(turns.c.user_id.in_(people.ids_of(user_id)))
    there = sa.and_(sessions.c.id.in_(held), sessions.c.key.contains(":direct:"))
    mine = sa.or_(sessions.c.key == key, there) if sender_of(key) is not None else sessions.c.key == key
    query = sa.select(sessions.c.id, sessions.c.key).where(sessions.c.tenant_id == tenant, mine)
    if id_end:
        query = query.where(sessions.c.id.endswith(id_end, autoescape=True))
    rows = connection.execute(query.order_by(sessions.c.id.desc()).limit(MOST_REACHED)).all()
    senders = people.senders_of(connection, user_id)
    ids = [row.id for row in rows if row.key == key or _may_go_on(key, row.key, senders)]
    return list_heads(connection, tenant, most, ids=ids)


def read_reachable(
    connection: sa.Connection, tenant: str, key: str, user_id: str, session_id: str, most: int
) -> list[KeptTurn]:
    """Return the newest turns of a conversation of another chat that a person may continue here, oldest first.

    Only the turns of this person, as the journal has them: files of another platform cannot be fetched here.
    """
    heads = list_reachable(connection, tenant, key, user_id, 1, session_id)
    if not heads:
        return []
    found = kept_turns(connection, tenant, heads[0].key, session_id, most, of=people.ids_of(user_id))
    return [replace(turn, said=None) for turn in found]


def gone_on(of: sa.Select[str]) -> sa.Select[str]:
    """Return the ids of these conversations and of those that continue them, which begin with the same turns."""
    line = sa.select(sessions.c.id).where(sessions.c.id.in_(of)).cte(recursive=True)
    return sa.select(line.union(sa.select(sessions.c.id).join(line, sessions.c.continues_id == line.c.id)).c.id)


def keys_of_continued(connection: sa.Connection, user_id: str) -> list[str]:
    """Return the keys of a user's direct chats that continue a conversation begun in another of the user's chats."""
    held = sa.select(turns.c.session_id).where(turns.c.user_id == user_id)
    keys = connection.execute(sa.select(sessions.c.key).where(sessions.c.id.in_(gone_on(held))).distinct()).scalars()
    senders = people.senders_of(connection, people.now_of(connection, user_id))
    return [key for key in keys if sender_of(key) in senders]


def sender_of(key: str) -> str | None:
    """Return the sender (`telegram:42`) whose direct chat has conversations of this key; None if it is not one
    person's.
    """
    match key.split(":"):
        case ["agent", _, channel, _, "direct", peer] | ["agent", _, channel, _, "direct", peer, "thread", _]:
            return ":".join(part.replace("%3A", ":").replace("%25", "%") for part in (channel, peer))
    return None


def _may_go_on(key: str, from_key: str, senders: Sequence[str]) -> bool:
    """Return True if a person with all these senders may continue one key's conversation under another key."""
    agent, chats = key.split(":")[1:2], (sender_of(key), sender_of(from_key))
    return agent == from_key.split(":")[1:2] and all(chat in senders for chat in chats)


def revive(
    connection: sa.Connection, tenant: str, key: str, session_id: str, user_id: str, mode: str, now: datetime
) -> bool:
    """Go on with an earlier conversation from now on; False where this person may not, or there is none of this id.

    One of another chat stays as it is and where it is, also where it is at work: here begins one that goes on from it.
    """
    of_key = sessions.c.tenant_id == tenant, sessions.c.key == key
    newest = connection.execute(sa.select(sa.func.max(sessions.c.generation)).where(*of_key)).scalar() or 0
    permission_mode = permission_mode_of(connection, tenant, key)
    mine = sa.update(sessions).where(*of_key, sessions.c.id == session_id)
    if connection.execute(mine.values(generation=newest + 1, permission_mode=permission_mode)).rowcount == 1:
        return True
    heads = list_heads(connection, tenant, 1, ids=[session_id])
    if not heads or not _may_go_on(key, heads[0].key, people.senders_of(connection, user_id)):
        return False
    here = new_id()
    row = {
        "id": here,
        "tenant_id": tenant,
        "key": key,
        "generation": newest + 1,
        "mode": mode,
        "permission_mode": permission_mode,
        "title": heads[0].title or None,
        "created_at": now,
        "continues_id": session_id,
        "continues_seq": next_seq(connection, session_id),
    }
    connection.execute(sa.insert(sessions), row)
    take_summaries_along(connection, session_id, here)
    return True
