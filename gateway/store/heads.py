"""Conversations as lists show them: who was in each last, when, how many turns it took and what they cost.

What it says is read by `gateway.store.conversations`; nothing that reads a whole journal is loaded here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from agent.wellformed import clean, read_object
from gateway.store.tables.base import Instant
from gateway.store.tables.people import users
from gateway.store.tables.turns import events, sessions, turns, usage

Connection = sa.Connection
"""For rooms that may not import SQLAlchemy."""

IDS_AT_ONCE = 400
"""Ids bound in one statement; SQLite before 3.32 takes 999."""

TITLE_CHARS = 60

LEAST_ID_CHARS = 6
"""The shortest end of an id that stands for it: `tenk sessions` shows the last eight characters."""


@dataclass(frozen=True, slots=True)
class ConversationHead:
    """A conversation as lists show it; only such in which something was said, or that go on from such a one."""

    id: str
    key: str
    generation: int
    living: bool  # what is said in its chat next goes on with it
    mode: str
    title: str  # "": it has none yet
    user_id: str  # who spoke in it last
    person: str  # their name; "": nobody is known by that id any more
    turns: int
    created_at: datetime
    used_at: datetime  # of the newest event in its journal
    cost_microusd: int | None  # of the calls whose cost is known; None: of none

    @property
    def agent(self) -> str:
        return self.key.split(":")[1]

    @property
    def platform(self) -> str:
        return self.key.split(":")[2].capitalize()


_last = sa.select(events).where(events.c.session_id == sessions.c.id).order_by(events.c.seq.desc()).limit(1)
_last_at = _last.with_only_columns(events.c.at).correlate(sessions).scalar_subquery()
_used_at = sa.func.coalesce(_last_at, sessions.c.created_at, type_=Instant).label("used_at")
_last_turn = _last.with_only_columns(events.c.turn_id).correlate(sessions).scalar_subquery()
_spoken = turns.alias("spoken")
_newest = sessions.alias("newest")
_is_living = ~sa.exists().where(
    _newest.c.tenant_id == sessions.c.tenant_id,
    _newest.c.key == sessions.c.key,
    _newest.c.generation > sessions.c.generation,
).correlate(sessions)
_heads = (
    sa.select(
        sessions.c.id,
        sessions.c.key,
        sessions.c.generation,
        _is_living.label("living"),
        sessions.c.mode,
        sessions.c.title,
        sa.func.coalesce(turns.c.user_id, "").label("user_id"),
        users.c.display_name,
        sessions.c.created_at,
        _used_at,
    )
    .select_from(sessions)
    .outerjoin(turns, turns.c.id == _last_turn)
    .where(sa.or_(turns.c.id.is_not(None), sessions.c.continues_id.is_not(None)))
    .outerjoin(users, users.c.id == turns.c.user_id)
    .order_by(_used_at.desc(), sessions.c.id.desc())
)

MOST_WALKED = 5_000
"""Turns that are looked at, from the one that ended last, for the conversations that were used last."""


def _used_last(connection: sa.Connection, tenant: str, most: int) -> list[str] | None:
    """So many conversations in which turns ended last, and those at work; None: too many turns were in too few."""
    in_tenant = sa.select(turns.c.session_id).where(turns.c.tenant_id == tenant)
    ended = in_tenant.where(turns.c.ended_at.is_not(None)).order_by(turns.c.ended_at.desc()).limit(MOST_WALKED)
    walked = connection.execute(ended).scalars().all()
    found = list(dict.fromkeys(walked))[:most]
    if len(found) < most and len(walked) == MOST_WALKED:
        return None
    return [*found, *connection.execute(in_tenant.where(turns.c.end_reason.is_(None)).limit(IDS_AT_ONCE)).scalars()]


def list_heads(
    connection: sa.Connection,
    tenant: str,
    most: int,
    *,
    key: str | None = None,
    user_id: str | None = None,
    ids: Sequence[str] | None = None,
) -> list[ConversationHead]:
    """Return a tenant's last used conversations: of one key, of the last speaker, or with these ids."""
    query = _heads.where(sessions.c.tenant_id == tenant).limit(most)
    if (key, user_id, ids) == (None, None, None) and most <= IDS_AT_ONCE:
        ids = _used_last(connection, tenant, most)
    if key is not None:
        query = query.where(sessions.c.key == key)
    if user_id is not None:
        theirs = sa.select(_spoken.c.session_id).where(_spoken.c.user_id == user_id)
        query = query.where(turns.c.user_id == user_id, sessions.c.id.in_(theirs))
    if ids is not None:
        query = query.where(sessions.c.id.in_(ids))
    rows = connection.execute(query).all()
    used = _sum_use(connection, [row.id for row in rows])
    untitled = [row.id for row in rows if row.title is None]
    first_words = _first_words(connection, untitled)
    return [
        ConversationHead(
            row.id,
            row.key,
            row.generation,
            bool(row.living),
            row.mode,
            row.title or first_words.get(row.id, ""),
            row.user_id,
            row.display_name or "",
            used[row.id][0],
            row.created_at,
            row.used_at,
            used[row.id][1],
        )
        for row in rows
    ]


def find_head(connection: sa.Connection, tenant: str, id_end: str) -> list[ConversationHead]:
    """Return the conversations with this id or end of an id; two at most, and none if it is too short."""
    if not is_id_end(id_end):
        return []
    query = sa.select(sessions.c.id).where(sessions.c.tenant_id == tenant, sessions.c.id.endswith(id_end))
    ids = list(connection.execute(query.limit(2)).scalars())
    return list_heads(connection, tenant, len(ids), ids=ids) if ids else []


def is_id_end(words: str) -> bool:
    """Return True if enough of an id is given."""
    return len(words) >= LEAST_ID_CHARS and set(words) <= set("0123456789abcdef-")


def _sum_use(connection: sa.Connection, ids: Sequence[str]) -> dict[str, tuple[int, int | None]]:
    """Return the turns and the known cost of each of these conversations."""
    used: dict[str, tuple[int, int | None]] = dict.fromkeys(ids, (0, None))
    for start in range(0, len(ids), IDS_AT_ONCE):
        summed = (
            sa.select(turns.c.session_id, sa.func.count(turns.c.id.distinct()), sa.func.sum(usage.c.cost_microusd))
            .outerjoin(usage, usage.c.turn_id == turns.c.id)
            .where(turns.c.session_id.in_(ids[start : start + IDS_AT_ONCE]))
            .group_by(turns.c.session_id)
        )
        for id_, count, cost in connection.execute(summed):
            used[id_] = (count, None if cost is None else int(cost))
    return used


def _first_words(connection: sa.Connection, ids: Sequence[str]) -> dict[str, str]:
    """Titles for conversations of a time when they had none, by what was said first."""
    first = sa.select(events.c.session_id, events.c.payload).where(events.c.seq == 0, events.c.kind == "turn_started")
    titles = {}
    for start in range(0, len(ids), IDS_AT_ONCE):
        for id_, payload in connection.execute(first.where(events.c.session_id.in_(ids[start : start + IDS_AT_ONCE]))):
            started: Any = read_object(payload) or {}
            if items := started.get("items"):
                titles[id_] = title_of(items[0]["text"])
    return titles


def title_of(text: str) -> str:
    """Return the title of a conversation that begins with these words: their first line, cut between words."""
    lines = (clean(line).strip() for line in text[: 8 * TITLE_CHARS].splitlines())
    words = " ".join(next((line for line in lines if line), "").split())
    if len(words) <= TITLE_CHARS:
        return words
    return words[: TITLE_CHARS - 1].rsplit(" ", 1)[0] + "…"
