"""Rows of memories: facts that an agent keeps of a person.

A person's memories are those of all users linked to them. If two of these have a memory of the same name, the newer one
is shown, and a change or a deletion applies to both.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

import sqlalchemy as sa

from agent.memory.memory import Memory, MemoryHead
from gateway.store import search
from gateway.store.people import ids_of
from gateway.store.rows import Rows
from gateway.store.tables.base import new_id
from gateway.store.tables.memory import memories
from gateway.store.tables.passages import passages

TEAM = ""
"""User id of the memories that all people of a tenant share."""

MAX_MEMORIES = 10_000
"""Memories that an agent keeps of one person."""


@dataclass(frozen=True, slots=True)
class MemoryOwner:
    """The person and the agent whose memories are read or written."""

    tenant: str
    agent: str
    user_id: str  # TEAM: of all people of the tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow(Memory):
    """A memory as it is stored."""

    id: str  # UUIDv7
    tenant: str
    agent: str
    user_id: str


class NameTaken(Exception):
    """A memory of this name exists."""


class MemoryFull(Exception):
    """The person has as many memories as an agent keeps."""


MEMORIES = Rows(memories, MemoryRow)
HEADS = Rows(memories, MemoryHead)
Head = TypeVar("Head", bound=MemoryHead)


def _mine(owner: MemoryOwner) -> dict[str, Any]:
    return {"tenant": owner.tenant, "agent": owner.agent, "user_id": ids_of(owner.user_id)}


def _newest(found: Iterable[Head]) -> list[Head]:
    """Return the newest memory of each name, in the given order."""
    by_name: dict[str, Head] = {}
    for each in found:
        by_name.setdefault(each.name, each)
    return list(by_name.values())


_BY_AGE = memories.c.updated_at.desc(), memories.c.name


def list_heads(connection: sa.Connection, owner: MemoryOwner, limit: int | None = None) -> list[MemoryHead]:
    """Return names, types and descriptions, the newest first, at most `limit`."""
    return _newest(HEADS.find(connection, order=_BY_AGE, limit=limit, **_mine(owner)))


def list_memories(connection: sa.Connection, owner: MemoryOwner, limit: int | None = None) -> list[MemoryRow]:
    """Return whole memories, the newest first, at most `limit`."""
    return _newest(MEMORIES.find(connection, order=_BY_AGE, limit=limit, **_mine(owner)))


def count_memories(connection: sa.Connection, owner: MemoryOwner) -> int:
    """Return how many memories there are."""
    return MEMORIES.count(connection, **_mine(owner))


def find_memories(connection: sa.Connection, owner: MemoryOwner, names: Sequence[str]) -> list[MemoryRow]:
    """Return the memories with these names, in the order of the names."""
    found = {each.name: each for each in _newest(MEMORIES.find(connection, order=_BY_AGE, name=names, **_mine(owner)))}
    return [found[name] for name in names if name in found]


def find_memory(connection: sa.Connection, owner: MemoryOwner, name: str) -> MemoryRow | None:
    """Return the memory with this name, or None."""
    return next(iter(find_memories(connection, owner, (name,))), None)


def find_by_id(connection: sa.Connection, owner: MemoryOwner, id_: str) -> MemoryRow | None:
    """Return the memory with this id, or None."""
    return MEMORIES.get(connection, id=id_, **_mine(owner))


def save_memory(connection: sa.Connection, owner: MemoryOwner, memory: Memory) -> MemoryRow:
    """Add a memory.

    Raises:
        NameTaken: one of this name exists.
        MemoryFull: there are too many.
    """
    if find_memory(connection, owner, memory.name) is not None:
        raise NameTaken(memory.name)
    if count_memories(connection, owner) >= MAX_MEMORIES:
        raise MemoryFull
    row = MemoryRow(
        name=memory.name,
        type=memory.type,
        description=memory.description,
        body=memory.body,
        origin=memory.origin,
        source=memory.source,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        revision=1,
        id=new_id(),
        tenant=owner.tenant,
        agent=owner.agent,
        user_id=owner.user_id,
    )
    if not MEMORIES.add(connection, row):
        raise NameTaken(memory.name)  # another process added it just now
    _index(connection, row)
    return row


def _index(connection: sa.Connection, row: MemoryRow) -> None:
    search.index_memory(connection, row, id_=row.id, tenant=row.tenant, agent=row.agent, user_id=row.user_id)


INDEXED_AT_ONCE = 100


def index_missing(connection: sa.Connection) -> int:
    """Index some memories that have no passage, as after an insert by hand; return how many."""
    has_none = ~sa.exists().where(passages.c.memory_id == memories.c.id)
    missing = MEMORIES.find(connection, has_none, limit=INDEXED_AT_ONCE)
    for row in missing:
        _index(connection, row)
    return len(missing)


def change_memory(connection: sa.Connection, owner: MemoryOwner, memory: Memory) -> MemoryRow | None:
    """Give the memory of this name other words, its next revision; return None if there is none.

    Its instant of creation stays.
    """
    known = find_memory(connection, owner, memory.name)
    if known is None:
        return None
    changed = replace(
        known,
        type=memory.type,
        description=memory.description,
        body=memory.body,
        origin=memory.origin,
        source=memory.source,
        updated_at=memory.updated_at,
        revision=known.revision + 1,
    )
    MEMORIES.save(connection, changed)
    _index(connection, changed)
    MEMORIES.delete(connection, memories.c.id != known.id, name=memory.name, **_mine(owner))
    return changed


def put_memory(connection: sa.Connection, owner: MemoryOwner, memory: Memory) -> MemoryRow:
    """Add a memory, or change the one of its name.

    Raises:
        MemoryFull: there are too many.
    """
    return change_memory(connection, owner, memory) or save_memory(connection, owner, memory)


def forget_memory(connection: sa.Connection, owner: MemoryOwner, name: str) -> bool:
    """Delete the memory with this name; return False if there is none."""
    return MEMORIES.delete(connection, name=name, **_mine(owner)) > 0


def forget_memories(connection: sa.Connection, owner: MemoryOwner, before: datetime | None = None) -> int:
    """Delete all memories, or those that were last changed before an instant; return how many."""
    older = () if before is None else (memories.c.updated_at < before,)
    return MEMORIES.delete(connection, *older, **_mine(owner))
