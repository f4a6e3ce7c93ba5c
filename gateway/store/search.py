"""Full-text search over memories and over turns in a person's direct chats.

A passage holds the words of one memory or turn. A memory's is written in the commit that writes the memory; turns are
read again for those that have none. Their mark in the index tells the person, the agent and the kind.
"""

import math
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import sqlalchemy as sa

from agent.memory.memory import Memory
from agent.memory.words import Term, words_of
from agent.transcript import JOURNAL_EVENT, JournalEvent, Steered, TurnEnded, TurnStarted
from gateway.store.conversations import sender_of
from gateway.store.dialect import insert_new
from gateway.store.people import ids_of
from gateway.store.search_index import ids_with
from gateway.store.tables.consolidation import abstracts
from gateway.store.tables.passages import passages
from gateway.store.tables.turns import events, sessions, turns


class PassageKind(StrEnum):
    """The kinds of passages, as they stand in a mark."""

    MEMORY = "m"
    TURN = "t"


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The person and the agent whose passages are searched."""

    agent: str
    user_id: str


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that was found."""

    memory_id: str | None
    turn_id: str | None
    at: datetime
    score: float


def _mark(agent: str, user_id: str, kind: PassageKind) -> str:
    """Return the beginning of each word of this person in the index; letters and digits only."""
    tail = "".join(each for each in user_id[-12:] if each.isascii() and each.isalnum())
    return f"{kind.value}{zlib.crc32(agent.encode()):08x}{tail or 'team'}".lower()


# ---------------------------------------------------------------- what is written


def index_memory(connection: sa.Connection, memory: Memory, *, id_: str, tenant: str, agent: str, user_id: str) -> None:
    """Write the passage of a memory, in place of the one before."""
    text = f"{memory.name.replace('-', ' ')} {memory.description}\n{memory.body}"
    changed = {"at": memory.updated_at, "words": " ".join(words_of(text))}
    known = sa.update(passages).where(passages.c.memory_id == id_).values(changed)
    if connection.execute(known).rowcount:
        return
    row = {
        "tenant_id": tenant,
        "agent": agent,
        "user_id": user_id,
        "memory_id": id_,
        "turn_id": None,
        "mark": _mark(agent, user_id, PassageKind.MEMORY),
    }
    connection.execute(insert_new(connection, passages), row | changed)


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """A turn without a passage."""

    id: str
    tenant: str
    agent: str
    user_id: str
    ended_at: datetime
    words: str


@dataclass(frozen=True, slots=True)
class TurnsRead:
    """A batch of turns that ended one after the other."""

    turns: Sequence[EndedTurn]
    ended_at: datetime  # of the last, also if it is no person's own
    id: str
    is_last: bool  # no further turn has ended


OVERLAP = timedelta(minutes=10)
"""Turns that ended so long before the last one are looked at again: commits are not in the order of clocks."""

TURNS_AT_ONCE = 50


def read_turns(connection: sa.Connection, ended_at: datetime, id_: str = "") -> TurnsRead:
    """Return the next turns of direct chats without a passage, that ended at this instant or later."""
    has_none = ~sa.exists().where(passages.c.turn_id == turns.c.id)
    query = (
        sa.select(turns.c.id, turns.c.tenant_id, turns.c.user_id, turns.c.ended_at, sessions.c.key)
        .join(sessions, sessions.c.id == turns.c.session_id)
        .where(turns.c.ended_at >= ended_at, sa.or_(turns.c.ended_at > ended_at, turns.c.id > id_), has_none)
        .where(sessions.c.key.contains(":direct:"))
        .order_by(turns.c.ended_at, turns.c.id)
        .limit(TURNS_AT_ONCE)
    )
    rows = connection.execute(query).all()
    own = [row for row in rows if sender_of(row.key) is not None]
    said = _texts_of(connection, [row.id for row in own])
    ended = [
        EndedTurn(
            row.id,
            row.tenant_id,
            row.key.split(":")[1],
            row.user_id,
            row.ended_at,
            " ".join(words_of("\n".join(text for _, text in said[row.id]))),
        )
        for row in own
    ]
    if not rows:
        return TurnsRead((), ended_at, id_, is_last=True)
    return TurnsRead(ended, rows[-1].ended_at, rows[-1].id, is_last=len(rows) < TURNS_AT_ONCE)


def index_turns(connection: sa.Connection, ended: Sequence[EndedTurn]) -> None:
    """Write the passages of those turns that are there still and have none."""
    there = set(connection.execute(sa.select(turns.c.id).where(turns.c.id.in_([each.id for each in ended]))).scalars())
    rows = [
        {
            "tenant_id": each.tenant,
            "agent": each.agent,
            "user_id": each.user_id,
            "memory_id": None,
            "turn_id": each.id,
            "at": each.ended_at,
            "mark": _mark(each.agent, each.user_id, PassageKind.TURN),
            "words": each.words,
        }
        for each in ended
        if each.id in there
    ]
    if rows:
        connection.execute(insert_new(connection, passages), rows)


_SAID = ("turn_started", "steered", "turn_ended")


def _texts_of(connection: sa.Connection, turn_ids: Sequence[str]) -> Mapping[str, list[tuple[bool, str]]]:
    """Return the texts of these turns, each with True if the person said it; what they passed on is left out."""
    texts: dict[str, list[tuple[bool, str]]] = defaultdict(list)
    query = sa.select(events.c.turn_id, events.c.payload).where(events.c.kind.in_(_SAID))
    rows = connection.execute(query.where(events.c.turn_id.in_(turn_ids)).order_by(events.c.session_id, events.c.seq))
    for turn_id, payload in rows:
        texts[turn_id] += _texts(JOURNAL_EVENT.validate_json(payload))
    return texts


def _texts(event: JournalEvent) -> Iterable[tuple[bool, str]]:
    match event:
        case TurnStarted() | Steered():
            return [(True, item.text) for item in event.items if item.own and item.text]
        case TurnEnded():
            answer = event.text.removesuffix(event.note).strip()
            return [(False, answer)] if answer else []
    return ()


# ---------------------------------------------------------------- what is found

MOST_OF_TERM = 100
"""Passages with a word that count: the newest."""

MOST_RANKED = 100
OWN_MEMORY = 1.2
"""Weight of a memory beside that of a turn."""


def find(
    connection: sa.Connection,
    scopes: Sequence[SearchScope],
    terms: Sequence[Term],
    kinds: Sequence[PassageKind],
    most: int,
) -> list[FoundPassage]:
    """Return the passages with most of these words, the best first; of equals the newest.

    A rare word counts more than one that many passages of the person have.
    """
    allowed = [
        (scope.agent, user_id) for scope in scopes for user_id in connection.execute(ids_of(scope.user_id)).scalars()
    ]
    marks = [_mark(agent, user_id, kind) for agent, user_id in allowed for kind in kinds]
    scores: dict[int, float] = defaultdict(float)
    for ids in ids_with(connection, marks, terms, MOST_OF_TERM):
        for id_ in ids:
            scores[id_] += math.log(1 + MOST_OF_TERM / len(ids))
    best = sorted(scores, key=lambda id_: (-scores[id_], -id_))[: max(most, MOST_RANKED)]
    query = sa.select(
        passages.c.id, passages.c.agent, passages.c.user_id, passages.c.memory_id, passages.c.turn_id, passages.c.at
    )
    found = [
        FoundPassage(
            row.memory_id, row.turn_id, row.at, scores[row.id] * (1.0 if row.memory_id is None else OWN_MEMORY)
        )
        for row in connection.execute(query.where(passages.c.id.in_(best)))
        if (row.agent, row.user_id) in allowed
    ]
    found.sort(key=lambda each: (-each.score, -each.at.timestamp()))
    return found[:most]


# ---------------------------------------------------------------- what a hit says


@dataclass(frozen=True, slots=True)
class FoundTurn:
    """A turn of a person's direct chat, as search shows it."""

    id: str
    session_id: str
    key: str  # of its session
    title: str  # of its session; "": none
    abstract: str  # of its session, see agent.memory.consolidation; "": none
    ended_at: datetime
    texts: Sequence[tuple[bool, str]]  # each with True if the person said it


def found_turns(connection: sa.Connection, scope: SearchScope, ids: Sequence[str]) -> dict[str, FoundTurn]:
    """Return those of these turns that are the person's own, in direct chats with this agent."""
    query = (
        sa.select(turns.c.id, turns.c.session_id, turns.c.ended_at, sessions.c.key, sessions.c.title, abstracts.c.text)
        .join(sessions, sessions.c.id == turns.c.session_id)
        .outerjoin(abstracts, abstracts.c.session_id == sessions.c.id)
        .where(turns.c.id.in_(ids), turns.c.user_id.in_(ids_of(scope.user_id)), turns.c.ended_at.is_not(None))
    )
    rows = [row for row in connection.execute(query) if _is_own(row.key, scope.agent)]
    texts = _texts_of(connection, [row.id for row in rows])
    return {
        row.id: FoundTurn(
            id=row.id,
            session_id=row.session_id,
            key=row.key,
            title=row.title or "",
            abstract=row.text or "",
            ended_at=row.ended_at,
            texts=texts.get(row.id, ()),
        )
        for row in rows
    }


def _is_own(key: str, agent: str) -> bool:
    return sender_of(key) is not None and key.split(":")[1] == agent


def turns_around(connection: sa.Connection, scope: SearchScope, turn: FoundTurn, most: int) -> list[FoundTurn]:
    """Return a turn with `most` of the person's turns before and after it in its session, in order."""
    there = sa.select(turns.c.id).where(
        turns.c.session_id == turn.session_id, turns.c.user_id.in_(ids_of(scope.user_id))
    )
    before = there.where(turns.c.id < turn.id).order_by(turns.c.id.desc()).limit(most)
    after = there.where(turns.c.id > turn.id).order_by(turns.c.id).limit(most)
    ids = [*connection.execute(before).scalars(), turn.id, *connection.execute(after).scalars()]
    found = found_turns(connection, scope, ids)
    return [found[id_] for id_ in sorted(found)]
