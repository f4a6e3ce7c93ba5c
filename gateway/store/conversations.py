"""Conversations are listed, named and taken up again. Each is a generation of its key; the highest is the living one.

One of another chat of the same person is gone on with by a new one here, before which it stands (decision 0065).
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
from gateway.store import people, summaries
from gateway.store.tables.base import Instant, new_id
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
    """A conversation as lists show it; only such in which something was said, or that go on from such a one."""

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
_last_at = _last.with_only_columns(events.c.at).correlate(sessions).scalar_subquery()
_used_at = sa.func.coalesce(_last_at, sessions.c.created_at, type_=Instant).label("used_at")
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
        sessions.c.title, sa.func.coalesce(turns.c.user_id, "").label("user_id"), sessions.c.created_at, _used_at,
    )
    .select_from(sessions)
    .outerjoin(turns, turns.c.id == _last_turn)
    .where(sa.or_(turns.c.id.is_not(None), sessions.c.continues_id.is_not(None)))
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


def find_head(connection: sa.Connection, tenant: str, id_end: str) -> list[ConversationHead]:
    """The conversations whose id ends so, or is it; two at most; none where too little of it is given."""
    if not is_id_end(id_end):
        return []
    query = sa.select(sessions.c.id).where(sessions.c.tenant_id == tenant, sessions.c.id.endswith(id_end))
    ids = list(connection.execute(query.limit(2)).scalars())
    return list_heads(connection, tenant, len(ids), ids=ids) if ids else []


def is_id_end(words: str) -> bool:
    """Whether enough of an id is given."""
    return len(words) >= LEAST_ID_CHARS and set(words) <= set("0123456789abcdef-")


MOST_REACHED = 500
"""Conversations of a person among which those used last are looked for: so many that began last."""


def list_reachable(
    connection: sa.Connection, tenant: str, key: str, user_id: str, most: int, id_end: str = ""
) -> list[ConversationHead]:
    """What a person may go on with in the chat of this key, used last first; those whose id ends so.

    In a direct chat that is also what was said in their other direct chats, with the same agent; never a group's talk.
    """
    own = people.user_ids(connection, user_id)
    held = sa.select(turns.c.session_id).where(turns.c.user_id.in_(own))
    there = sa.and_(sessions.c.id.in_(held), sessions.c.key.contains(":direct:"))
    mine = sa.or_(sessions.c.key == key, there) if sender_of(key) is not None else sessions.c.key == key
    query = sa.select(sessions.c.id, sessions.c.key).where(sessions.c.tenant_id == tenant, mine)
    if id_end:
        query = query.where(sessions.c.id.endswith(id_end, autoescape=True))
    rows = connection.execute(query.order_by(sessions.c.id.desc()).limit(MOST_REACHED)).all()
    senders = people.senders_of(connection, user_id)
    ids = [row.id for row in rows if row.key == key or _may_go_on(key, row.key, senders)]
    return list_heads(connection, tenant, most, ids=ids)


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
    }  # fmt: skip
    connection.execute(sa.insert(sessions), row)
    summaries.take_along(connection, session_id, here)
    return True
