"""Conversations are listed, named and taken up again. Each is a generation of its key; the highest is the living one.

Plain functions over a connection. What a session remembers of its own is `gateway.sessions.conversation`'s matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from agent.consent import Parked
from agent.transcript import JOURNAL_EVENT, JournalEvent, TurnStarted
from agent.wellformed import clean
from channels.messages import INBOUND_EVENT, InboundMessage
from gateway.store.tables.traffic import inbox
from gateway.store.tables.turns import events, sessions, turns, usage
from gateway.store.timeline import IDS_AT_ONCE

TITLE_CHARS = 60
WORDS = ("turn_started", "steered", "parked", "turn_ended")
"""The events of a turn that hold what was said, or tell by what its answer is known."""

LEAST_ID_CHARS = 6
"""Of an id that is not written out: `tenk sessions` shows the last eight."""


@dataclass(frozen=True, slots=True)
class ConversationHead:
    """A conversation as lists show it; only such in which something was said."""

    id: str
    key: str
    generation: int
    living: bool  # what is said in its chat next goes on with it
    mode: str
    title: str  # "": it has none yet
    user_id: str  # who spoke in it last
    turns: int
    created_at: datetime
    used_at: datetime  # of the newest event in its journal
    cost_microusd: int | None  # of the calls whose cost is known; None: of none


def title_of(text: str) -> str:
    """What a conversation is called that begins with these words: their first line, cut between words."""
    lines = (clean(line).strip() for line in text[: 8 * TITLE_CHARS].splitlines())
    words = " ".join(next((line for line in lines if line), "").split())
    if len(words) <= TITLE_CHARS:
        return words
    return words[: TITLE_CHARS - 1].rsplit(" ", 1)[0] + "…"


_last = sa.select(events).where(events.c.session_id == sessions.c.id).order_by(events.c.seq.desc()).limit(1)
_used_at = _last.with_only_columns(events.c.at).correlate(sessions).scalar_subquery().label("used_at")
_last_turn = _last.with_only_columns(events.c.turn_id).correlate(sessions).scalar_subquery()
_spoken = turns.alias("spoken")
_newest = sessions.alias("newest")
_is_living = ~sa.exists().where(
    _newest.c.tenant_id == sessions.c.tenant_id, _newest.c.key == sessions.c.key,
    _newest.c.generation > sessions.c.generation,
).correlate(sessions)  # fmt: skip
_heads = (
    sa.select(
        sessions.c.id, sessions.c.key, sessions.c.generation, _is_living.label("living"), sessions.c.mode,
        sessions.c.title, turns.c.user_id, sessions.c.created_at, _used_at,
    )
    .select_from(sessions)
    .join(turns, turns.c.id == _last_turn)
    .order_by(_used_at.desc(), sessions.c.id.desc())
)  # fmt: skip

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
    """A tenant's conversations that were used last: of one key, of who spoke last, of these ids."""
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
    first_words = _first_words(connection, [row.id for row in rows if row.title is None])
    return [
        ConversationHead(
            row.id, row.key, row.generation, bool(row.living), row.mode, row.title or first_words.get(row.id, ""),
            row.user_id, used[row.id][0], row.created_at, row.used_at, used[row.id][1],
        )
        for row in rows
    ]  # fmt: skip


def find_head(connection: sa.Connection, tenant: str, id_end: str, *, key: str | None = None) -> list[ConversationHead]:
    """The conversations whose id ends so, or is it; two at most; none where too little of it is given."""
    if len(id_end) < LEAST_ID_CHARS or not set(id_end) <= set("0123456789abcdef-"):
        return []
    query = sa.select(sessions.c.id).where(sessions.c.tenant_id == tenant, sessions.c.id.endswith(id_end))
    if key is not None:
        query = query.where(sessions.c.key == key)
    ids = list(connection.execute(query.limit(2)).scalars())
    return list_heads(connection, tenant, len(ids), ids=ids) if ids else []


def _sum_use(connection: sa.Connection, ids: Sequence[str]) -> dict[str, tuple[int, int | None]]:
    """Of each of these conversations: how many turns it has, and what they cost as far as is known."""
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
    """Titles for conversations of a time when they had none."""
    first = sa.select(events.c.session_id, events.c.payload).where(events.c.seq == 0, events.c.kind == "turn_started")
    titles = {}
    for start in range(0, len(ids), IDS_AT_ONCE):
        for id_, payload in connection.execute(first.where(events.c.session_id.in_(ids[start : start + IDS_AT_ONCE]))):
            started = JOURNAL_EVENT.validate_json(payload)
            if isinstance(started, TurnStarted) and started.items:
                titles[id_] = title_of(started.items[0].text)
    return titles


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """What is kept of a turn that was said: by its person, and to them."""

    id: str
    started_at: datetime
    ended_at: datetime | None
    said: Sequence[InboundMessage] | None  # as they were taken in; None: only the journal has the words still
    events: Sequence[JournalEvent]  # how it began, what joined it, how often it waited, how it ended

    @property
    def source_id(self) -> str:
        """What the outbox knows its answer by."""
        waits = sum(isinstance(event, Parked) for event in self.events)
        return self.id if not waits else f"{self.id}.{waits}"


def kept_turns(connection: sa.Connection, tenant: str, key: str, session_id: str | None, most: int) -> list[KeptTurn]:
    """The newest turns of a conversation of this key (None: of the living one), oldest first."""
    query = sa.select(sessions.c.id).where(sessions.c.tenant_id == tenant, sessions.c.key == key)
    query = query.where(sessions.c.id == session_id) if session_id else query.order_by(sessions.c.generation.desc())
    found = connection.execute(query.limit(1)).scalar()
    if found is None:
        return []
    rows = connection.execute(
        sa.select(turns.c.id, turns.c.started_at, turns.c.ended_at)
        .where(turns.c.session_id == found)
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
            row.id, row.started_at, row.ended_at,
            _messages(said[row.id]) if said[row.id] else None,
            [JOURNAL_EVENT.validate_json(raw) for raw in told[row.id]],
        )
        for row in reversed(rows)
    ]  # fmt: skip


def _messages(payloads: Sequence[str]) -> list[InboundMessage]:
    taken = [INBOUND_EVENT.validate_json(raw) for raw in payloads]
    return [event for event in taken if isinstance(event, InboundMessage)]


def _by_turn(
    connection: sa.Connection, query: sa.Select[str, str], table: sa.Table, ids: Sequence[str]
) -> dict[str, list[str]]:
    """The payloads of these turns' rows, in order; nothing of what is empty."""
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


def revive(connection: sa.Connection, tenant: str, key: str, session_id: str) -> bool:
    """Go on with an earlier conversation of this key from now on; False where it has none of this id."""
    of_key = sessions.c.tenant_id == tenant, sessions.c.key == key
    newest = connection.execute(sa.select(sa.func.max(sessions.c.generation)).where(*of_key)).scalar() or 0
    mine = sa.update(sessions).where(*of_key, sessions.c.id == session_id)
    return connection.execute(mine.values(generation=newest + 1)).rowcount == 1
