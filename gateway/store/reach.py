"""What a person may go on with where they are, and how a conversation of another chat is gone on with (decision 0025).

By a new one of this chat, which names the other and begins with what was said there. Plain functions over a connection.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import sqlalchemy as sa

from gateway.store import conversations, people
from gateway.store.conversations import KeptTurn, kept_turns
from gateway.store.heads import ConversationHead, list_heads
from gateway.store.journal import next_seq
from gateway.store.tables.base import new_id
from gateway.store.tables.turns import sessions, turns

MOST_REACHED = 500
"""Conversations of a person among which those used last are looked for: so many that began last."""


def list_reachable(
    connection: sa.Connection, tenant: str, key: str, user_id: str, most: int, id_end: str = ""
) -> list[ConversationHead]:
    """What a person may go on with in the chat of this key, used last first; those whose id ends so.

    In a direct chat that is also what was said in their other direct chats, with the same agent; never a group's talk.
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
    """The newest turns of a conversation of another chat that a person may go on with here, oldest first.

    Those that are theirs by now, and as the journal has them: files of another platform are not to be had here.
    """
    heads = list_reachable(connection, tenant, key, user_id, 1, session_id)
    if not heads:
        return []
    found = kept_turns(connection, tenant, heads[0].key, session_id, most, of=people.ids_of(user_id))
    return [replace(turn, said=None) for turn in found]


def gone_on(of: sa.Select[str]) -> sa.Select[str]:
    """The ids of these conversations and of what goes on from them: it begins with what was said there."""
    line = sa.select(sessions.c.id).where(sessions.c.id.in_(of)).cte(recursive=True)
    return sa.select(line.union(sa.select(sessions.c.id).join(line, sessions.c.continues_id == line.c.id)).c.id)


def keys_gone_on_under(connection: sa.Connection, user_id: str) -> list[str]:
    """The keys of a person's own chats under which it is gone on with what this user said, perhaps in silence."""
    held = sa.select(turns.c.session_id).where(turns.c.user_id == user_id)
    keys = connection.execute(sa.select(sessions.c.key).where(sessions.c.id.in_(gone_on(held))).distinct()).scalars()
    senders = people.senders_of(connection, people.now_of(connection, user_id))
    return [key for key in keys if sender_of(key) in senders]


def sender_of(key: str) -> str | None:
    """Whose direct chat has conversations of this key, canonical (`telegram:42`); None: it is none's alone."""
    match key.split(":"):
        case ["agent", _, channel, _, "direct", peer] | ["agent", _, channel, _, "direct", peer, "thread", _]:
            return ":".join(part.replace("%3A", ":").replace("%25", "%") for part in (channel, peer))
    return None


def _may_go_on(key: str, from_key: str, senders: Sequence[str]) -> bool:
    """Whether what was said under one key may be gone on with under another, of somebody who is all these senders."""
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
    mine = sa.update(sessions).where(*of_key, sessions.c.id == session_id)
    if connection.execute(mine.values(generation=newest + 1)).rowcount == 1:
        return True
    heads = list_heads(connection, tenant, 1, ids=[session_id])
    if not heads or not _may_go_on(key, heads[0].key, people.senders_of(connection, user_id)):
        return False
    here = new_id()
    row = {
        "id": here, "tenant_id": tenant, "key": key, "generation": newest + 1, "mode": mode,
        "title": heads[0].title or None, "created_at": now, "continues_id": session_id,
        "continues_seq": next_seq(connection, session_id),
    }  # fmt: skip
    connection.execute(sa.insert(sessions), row)
    conversations.take_summaries_along(connection, session_id, here)
    return True
