"""Rows of what is made of a conversation after it has ended: its abstract, facts and entities, a passage at a time.

A passage is read, given to a model, and kept in one commit with the row that says so. That row is unique: a passage is
kept once, however often it was begun. Only direct conversations are read, and of these what the person said themselves.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, TypedDict

import sqlalchemy as sa

from agent.memory.consolidation import (
    MAX_KNOWN_MEMORIES,
    MAX_PASSAGE_CHARS,
    MAX_SAID_CHARS,
    FoundEntity,
    KnownBefore,
    OwnWords,
    may_rewrite,
)
from agent.memory.dreaming import dream, find_repeated
from agent.memory.facts import Fact, Statement, learn, normal_form
from agent.memory.memory import Memory
from agent.transcript import JOURNAL_EVENT, ModelResponded, Steered, TurnStarted
from channels.messages import Address
from gateway.store import memory as memory_rows
from gateway.store.consolidation_log import CONSOLIDATIONS, Consolidation, PassageOutcome
from gateway.store.conversations import sender_of
from gateway.store.inbox import PRESSED
from gateway.store.journal import Fence, TurnRow, check_fence
from gateway.store.memory import MemoryFull, MemoryOwner
from gateway.store.people import ids_of, now_of
from gateway.store.rows import Rows
from gateway.store.tables.base import new_id
from gateway.store.tables.consolidation import abstracts, consolidations, dreams, entities, facts
from gateway.store.tables.people import erasures, users
from gateway.store.tables.traffic import inbox
from gateway.store.tables.turns import events, sessions, turns
from gateway.store.usage import SYSTEM_USER, note_call

CLOCK_MARGIN = timedelta(minutes=1)
"""A conversation that ended later than this ahead of now ended before the clock was set back."""

EVENTS_AT_ONCE = 400
DREAMS_AT_ONCE = 100
KINDS = ("turn_started", "steered")
"""Events that hold what a person said."""


@dataclass(frozen=True, slots=True)
class Abstract:
    """The abstract of a conversation."""

    session_id: str
    tenant: str
    agent: str
    user_id: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Entity:
    """A person, a place or a thing that facts name."""

    tenant: str
    agent: str
    user_id: str
    key: str  # normal form of the name
    name: str
    kind: str
    mentions: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRow(Fact):
    """A fact as it is stored."""

    id: str
    tenant: str
    agent: str
    user_id: str

    @property
    def fact(self) -> Fact:
        return Fact(**_values(self))


@dataclass(frozen=True, slots=True)
class Dream:
    """A person whose facts are to be scored and merged."""

    tenant: str
    agent: str
    user_id: str
    session_key: str
    wanted_at: datetime


ABSTRACTS = Rows(abstracts, Abstract)
ENTITIES = Rows(entities, Entity)
FACTS = Rows(facts, FactRow)
DREAMS = Rows(dreams, Dream)


# ------------------------------------------------------------ what is due


@dataclass(frozen=True, slots=True)
class EndedConversation:
    """A conversation that has ended, with something in it that was not consolidated."""

    session_id: str
    key: str
    ended_at: datetime


def find_ended(
    connection: sa.Connection, since: datetime, quiet_since: datetime, now: datetime, limit: int
) -> list[EndedConversation]:
    """Return conversations whose last turn ended since then and that are quiet or closed, those that ended first."""
    ended_at = sa.func.max(turns.c.ended_at).label("ended_at")
    session_id = turns.c.session_id.concat(sa.literal_column("''"))  # else SQLite reads all turns, by conversation
    of_one = sa.select(session_id.label("session_id"), ended_at).group_by(session_id)
    recent = of_one.where(turns.c.ended_at >= since).cte()
    later = sessions.alias()
    is_closed = (
        sa.exists()
        .where(later.c.tenant_id == sessions.c.tenant_id, later.c.key == sessions.c.key)
        .where(later.c.generation > sessions.c.generation)
    )
    runs = sa.exists().where(turns.c.session_id == sessions.c.id, turns.c.end_reason.is_(None))
    reached = (
        sa.select(sa.func.coalesce(sa.func.max(consolidations.c.to_seq), 0))
        .where(consolidations.c.session_id == sessions.c.id)
        .correlate(sessions)  # which is not in the FROM around it
        .scalar_subquery()
    )
    is_new = sa.exists().where(events.c.session_id == sessions.c.id, events.c.kind.in_(KINDS), events.c.seq >= reached)
    is_quiet = sa.or_(recent.c.ended_at <= quiet_since, recent.c.ended_at > now + CLOCK_MARGIN, is_closed)
    query = (
        sa.select(sessions.c.id, sessions.c.key, recent.c.ended_at)
        .join(recent, recent.c.session_id == sessions.c.id)
        .where(sessions.c.key.contains(":direct:"), ~sessions.c.key.contains(":subagent:"), is_quiet, ~runs, is_new)
        .order_by(recent.c.ended_at, sessions.c.id)
        .limit(limit)
    )
    return [EndedConversation(*row) for row in connection.execute(query)]


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a conversation that is to be consolidated."""

    session_id: str
    key: str
    owner: MemoryOwner
    from_seq: int
    to_seq: int
    tries: int  # before this one
    turn_ids: frozenset[str]
    said: tuple[OwnWords, ...]
    known: KnownBefore

    @property
    def source(self) -> str:
        """Return its key, which its memories name as their source."""
        return f"consolidation/{self.session_id}/{self.from_seq}"


def read_passage(connection: sa.Connection, tenant: str, ended: EndedConversation) -> Passage | None:
    """Return the next passage of a conversation; None if there is none, it is no direct one, or its person is being
    forgotten.
    """
    if sender_of(ended.key) is None:
        return None
    before = CONSOLIDATIONS.get(connection, session_id=ended.session_id, order=consolidations.c.from_seq.desc())
    is_again = before is not None and before.outcome is PassageOutcome.GIVEN_UP
    from_seq = 0 if before is None else before.from_seq if is_again else before.to_seq
    query = (
        sa.select(events.c.seq, events.c.turn_id, events.c.payload, turns.c.user_id)
        .join(turns, turns.c.id == events.c.turn_id)
        .where(events.c.session_id == ended.session_id, events.c.kind.in_(KINDS), events.c.seq >= from_seq)
        .order_by(events.c.seq)
        .limit(EVENTS_AT_ONCE)
    )
    rows = connection.execute(query).all()
    if not rows:
        return None
    user_id = now_of(connection, rows[0].user_id)
    if _is_going(connection, user_id):
        return None
    theirs = set(connection.execute(ids_of(user_id)).scalars())
    unsaid = _instants_of_unsaid(connection, {row.turn_id for row in rows})
    said: list[OwnWords] = []
    turn_ids: set[str] = set()
    to_seq, room = from_seq, MAX_PASSAGE_CHARS
    for row in rows:
        new = _said_in(row.payload, unsaid) if row.user_id in theirs else []
        room -= sum(min(len(each.text), MAX_SAID_CHARS) for each in new)
        if turn_ids and (room < 0 or row.user_id not in theirs):
            break
        to_seq = row.seq + 1
        turn_ids.add(row.turn_id)
        said += new
    owner = MemoryOwner(tenant, ended.key.split(":")[1], user_id)
    abstract = ABSTRACTS.get(connection, session_id=ended.session_id)
    facts = tuple(row.fact for row in list_facts(connection, owner) if row.valid_to is None)
    memories = tuple(memory_rows.list_memories(connection, owner, MAX_KNOWN_MEMORIES))
    return Passage(
        session_id=ended.session_id,
        key=ended.key,
        owner=owner,
        from_seq=from_seq,
        to_seq=to_seq,
        tries=before.tries if before is not None and is_again else 0,
        turn_ids=frozenset(turn_ids),
        said=tuple(said),
        known=KnownBefore("" if abstract is None else abstract.text, facts, memories),
    )


def _said_in(payload: str, unsaid: frozenset[str]) -> list[OwnWords]:
    """Return the person's own words in an event."""
    event = JOURNAL_EVENT.validate_json(payload)
    if not isinstance(event, TurnStarted | Steered):
        return []
    return [
        OwnWords(item.text.strip(), datetime.fromisoformat(item.at))
        for item in event.items
        if item.own and item.at is not None and item.at not in unsaid and item.text.strip()
    ]


def _instants_of_unsaid(connection: sa.Connection, turn_ids: set[str]) -> frozenset[str]:
    """Return the instants of messages that no person wrote: the gateway's own events, and pressed suggestions."""
    query = sa.select(inbox.c.received_at).where(
        inbox.c.turn_id.in_(turn_ids),
        sa.or_(inbox.c.kind == "system", inbox.c.event_id.startswith(PRESSED, autoescape=True)),
    )
    return frozenset(at.isoformat() for at in connection.execute(query).scalars())


def _is_going(connection: sa.Connection, user_id: str) -> bool:
    """Return True if a person is unknown, or has asked to be forgotten."""
    there = sa.select(users.c.id).where(users.c.id == user_id)
    asked = sa.select(erasures.c.id).where(erasures.c.user_id.in_(ids_of(user_id)))
    return connection.execute(there).first() is None or connection.execute(asked.limit(1)).first() is not None


def _lock(connection: sa.Connection, user_id: str) -> None:
    """Let other processes that change what is kept of this person wait until this transaction ends."""
    connection.execute(sa.select(users.c.id).where(users.c.id == user_id).with_for_update())


# ------------------------------------------------------------ what is kept


@dataclass(frozen=True, slots=True)
class PassageResult:
    """A passage as a model consolidated it."""

    outcome: PassageOutcome
    abstract: str = ""  # "": the one before stays
    statements: Sequence[Statement] = ()
    entities: Sequence[FoundEntity] = ()
    memories: Sequence[Memory] = ()
    spent: Sequence[ModelResponded] = ()


def keep(connection: sa.Connection, fence: Fence, passage: Passage, result: PassageResult, now: datetime) -> bool:
    """Keep what was made of a passage; return False if it is kept already, or its words are gone since.

    Raises:
        Fenced: another process owns the conversation now; nothing was written.
    """
    check_fence(connection, fence)
    cost = note_costs(connection, passage.owner.tenant, result.spent, now)
    _lock(connection, passage.owner.user_id)
    if _is_going(connection, passage.owner.user_id) or not _are_there(connection, passage.turn_ids):
        return False
    owner = passage.owner
    given_up = CONSOLIDATIONS.get(connection, session_id=passage.session_id, from_seq=passage.from_seq)
    before = 0 if given_up is None else given_up.cost_microusd
    row = Consolidation(
        session_id=passage.session_id,
        from_seq=passage.from_seq,
        **_columns(owner),
        to_seq=passage.to_seq,
        outcome=result.outcome,
        tries=passage.tries + 1,
        messages=len(passage.said),
        stated=len(result.statements),
        remembered=len(result.memories),
        model=result.spent[-1].model if result.spent else "",
        cost_microusd=None if cost is None or before is None else before + cost,
        at=now,
    )
    again = {"outcome": PassageOutcome.GIVEN_UP, "tries": passage.tries}
    if not (CONSOLIDATIONS.save(connection, row, **again) if passage.tries else CONSOLIDATIONS.add(connection, row)):
        return False
    if result.outcome is not PassageOutcome.DONE:
        return True
    if result.abstract:
        abstract = Abstract(session_id=passage.session_id, text=result.abstract, at=now, **_columns(owner))
        ABSTRACTS.put(connection, abstract)
    _learn(connection, owner, result)
    for memory in result.memories:
        _remember(connection, owner, memory)
    DREAMS.put(connection, Dream(session_key=passage.key, wanted_at=now, **_columns(owner)))
    return True


def note_costs(connection: sa.Connection, tenant: str, spent: Sequence[ModelResponded], now: datetime) -> int | None:
    """Record model calls, which are no person's; return their cost, None if that of one is unknown."""
    for each in spent:
        nowhere = Address("system", SYSTEM_USER, "")
        call = TurnRow(new_id(), tenant, SYSTEM_USER, SYSTEM_USER, SYSTEM_USER, nowhere, None, now)
        note_call(connection, call, each, now)
    costs = [each.usage.cost_microusd for each in spent]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def _are_there(connection: sa.Connection, turn_ids: frozenset[str]) -> bool:
    found = sa.select(sa.func.count()).select_from(turns).where(turns.c.id.in_(turn_ids))
    return connection.execute(found).scalar_one() == len(turn_ids)


class _Columns(TypedDict):
    tenant: str
    agent: str
    user_id: str


def _columns(owner: MemoryOwner) -> _Columns:
    return {"tenant": owner.tenant, "agent": owner.agent, "user_id": owner.user_id}


def list_facts(connection: sa.Connection, owner: MemoryOwner) -> list[FactRow]:
    """Return the facts about a person, the best first."""
    order = facts.c.score.desc(), facts.c.last_at.desc()
    return FACTS.find(connection, tenant=owner.tenant, agent=owner.agent, user_id=ids_of(owner.user_id), order=order)


def list_abstracts(connection: sa.Connection, owner: MemoryOwner, limit: int) -> list[Abstract]:
    """Return the newest abstracts of a person's conversations, the newest first."""
    order = abstracts.c.at.desc()
    return ABSTRACTS.find(
        connection, tenant=owner.tenant, agent=owner.agent, user_id=ids_of(owner.user_id), order=order, limit=limit
    )


def _learn(connection: sa.Connection, owner: MemoryOwner, result: PassageResult) -> None:
    if not result.statements:
        return
    known = list_facts(connection, owner)
    _replace_facts(connection, owner, known, learn((row.fact for row in known), result.statements))
    at = result.statements[-1].said_at
    for found in result.entities:
        key = normal_form(found.name)
        before = ENTITIES.get(connection, **_columns(owner), key=key)
        entity = Entity(
            key=key,
            name=found.name,
            kind=found.kind,
            mentions=1 if before is None else before.mentions + 1,
            first_at=at if before is None else before.first_at,
            last_at=at,
            **_columns(owner),
        )
        ENTITIES.put(connection, entity)


def _remember(connection: sa.Connection, owner: MemoryOwner, memory: Memory) -> None:
    """Keep a memory; one of its name that the person knows stays as it is, and a full memory takes no more."""
    known = memory_rows.find_memory(connection, owner, memory.name)
    if known is None or may_rewrite(known):
        with suppress(MemoryFull):
            memory_rows.put_memory(connection, owner, memory)


def _replace_facts(
    connection: sa.Connection, owner: MemoryOwner, before: Sequence[FactRow], after: Iterable[Fact]
) -> None:
    """Delete the rows of facts that are no more, and add rows of new ones; equal ones stay."""
    new = dict.fromkeys(after)
    kept = {row.fact for row in before}
    if gone := [row.id for row in before if row.fact not in new]:
        FACTS.delete(connection, id=gone)
    for fact in (each for each in new if each not in kept):
        FACTS.add(connection, FactRow(id=new_id(), **_columns(owner), **_values(fact)))


def _values(fact: Fact) -> dict[str, Any]:
    return {each.name: getattr(fact, each.name) for each in fields(Fact)}


# ------------------------------------------------------------ dreaming


def find_dreams(connection: sa.Connection, before: datetime, now: datetime) -> list[Dream]:
    """Return the people whose last consolidation was before then, or ahead of now: a clock was set back."""
    is_due = sa.or_(dreams.c.wanted_at <= before, dreams.c.wanted_at > now + CLOCK_MARGIN)
    return DREAMS.find(connection, is_due, order=dreams.c.wanted_at, limit=DREAMS_AT_ONCE)


def dream_of(connection: sa.Connection, fence: Fence, wanted: Dream, now: datetime) -> bool:
    """Score, merge and bound a person's facts; return False if it was done, or they were consolidated again since.

    Raises:
        Fenced: another process owns the conversation now; nothing was written.
    """
    check_fence(connection, fence)
    owner = MemoryOwner(wanted.tenant, wanted.agent, wanted.user_id)
    _lock(connection, owner.user_id)
    if not DREAMS.delete(connection, wanted_at=wanted.wanted_at, **_columns(owner)):
        return False
    if _is_going(connection, owner.user_id):
        return False
    known = list_facts(connection, owner)
    left = dream((row.fact for row in known), now)
    _replace_facts(connection, owner, known, left)
    own = [each for each in memory_rows.list_memories(connection, owner) if may_rewrite(each)]
    for name in find_repeated(own):
        memory_rows.forget_memory(connection, owner, name)
    named = {normal_form(name) for fact in left for name in (fact.subject, fact.object)}
    ENTITIES.delete(connection, entities.c.key.not_in(sorted(named)), **_columns(owner))
    return True
