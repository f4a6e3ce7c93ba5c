"""Actions about what agents remember of a person, or of all people of a tenant."""

from functools import partial

from agent.memory.memory import MAX_BODY_CHARS, Memory, MemoryOrigin
from gateway.access.ranks import Rank
from gateway.operators.actions import ActionCall, OperationRefused, action
from gateway.operators.base import OperatorsBase
from gateway.operators.models import (
    ConsolidatedPassage,
    ConsolidatedPassages,
    ConsolidationsQuery,
    KeptMemories,
    MemoriesImport,
    MemoriesPage,
    MemoriesQuery,
    MemoryText,
)
from gateway.operators.people import find_person
from gateway.store import memory as rows
from gateway.store import people
from gateway.store.consolidation_log import list_newest
from gateway.store.engine import Connection
from gateway.store.memory import MAX_MEMORIES, TEAM, MemoryFull, MemoryOwner, MemoryRow

EVERYONE = "team"
"""Stands for all people of the tenant in place of a person."""

PAGE = 200


class MemoryActions(OperatorsBase):
    """The actions about memories of one tenant, or of all."""

    @action(Rank.MACHINE)
    async def read_memories(self, _call: ActionCall, who: str, wanted: MemoriesQuery) -> MemoriesPage:
        """Return a page of an agent's memories of a person, the newest first.

        Raises:
            OperationRefused: the person is unknown.
        """
        owner = await self.store.read(partial(self._owner, who=who, agent=wanted.agent))
        store = self.store.of(owner.tenant)
        found = await store.read(partial(rows.list_memories, owner=owner, limit=wanted.skip + PAGE))
        total = await store.read(partial(rows.count_memories, owner=owner))
        page = found[wanted.skip :]
        more = len(found) == wanted.skip + PAGE
        return MemoriesPage(user=owner.user_id, memories=tuple(map(_to_text, page)), total=total, more=more)

    @action(Rank.MACHINE, audit="memories_imported")
    async def import_memories(self, call: ActionCall, who: str, wanted: MemoriesImport) -> KeptMemories:
        """Add memories, or change those of their names, in one commit.

        Raises:
            OperationRefused: the person is unknown, or there are too many.
        """
        owner = await self.store.read(partial(self._owner, who=who, agent=wanted.agent))

        def job(connection: Connection) -> KeptMemories:
            for each in wanted.memories:
                try:
                    rows.put_memory(connection, owner, _to_memory(each, call))
                except MemoryFull:
                    most = f"{MAX_MEMORIES:,}"
                    raise OperationRefused(f"an agent keeps {most} memories of a person, and no more") from None
            names = tuple(each.name for each in wanted.memories)
            call.record(connection, owner.tenant, owner.user_id or EVERYONE, f"{len(names)} of {owner.agent}")
            return KeptMemories(user=owner.user_id, names=names)

        return await call.of_tenant(owner.tenant).commit(job)

    @action(Rank.OPERATOR)
    async def list_consolidations(self, _call: ActionCall, wanted: ConsolidationsQuery) -> ConsolidatedPassages:
        """Return the newest passages of conversations that were consolidated."""
        found = await self.store.read(partial(list_newest, limit=wanted.limit))
        names = await self.store.read(partial(people.names_of, user_ids={each.user_id for each in found}))
        return ConsolidatedPassages(
            consolidations=tuple(
                ConsolidatedPassage(
                    session=each.session_id,
                    user=each.user_id,
                    person=names.get(each.user_id, each.user_id),
                    agent=each.agent,
                    outcome=each.outcome.value,
                    messages=each.messages,
                    facts=each.stated,
                    memories=each.remembered,
                    model=each.model,
                    cost_microusd=each.cost_microusd,
                    at=each.at,
                )
                for each in found
            )
        )

    def _owner(self, connection: Connection, who: str, agent: str) -> MemoryOwner:
        if who == EVERYONE:
            return MemoryOwner(self.store.home_tenant, agent, TEAM)
        person = find_person(connection, who)
        return MemoryOwner(person.tenant, agent, person.user_id)


def _to_text(row: MemoryRow) -> MemoryText:
    return MemoryText(
        name=row.name,
        type=row.type,
        description=row.description,
        body=row.body,
        origin=row.origin,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _to_memory(given: MemoryText, call: ActionCall) -> Memory:
    return Memory(
        name=given.name,
        type=given.type,
        description=given.description,
        body=given.body[:MAX_BODY_CHARS],
        origin=given.origin or MemoryOrigin.OPERATOR,
        source=call.by,
        created_at=min(call.now, given.created_at or call.now),
        updated_at=min(call.now, given.updated_at or call.now),
    )
