"""Search over what an agent remembers of a person and what the two said in direct chats."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from agent.calendar import zone_of
from agent.memory.words import Term, snippet, terms_of, words_of
from agent.ports import Principal
from agent.tools.base import ToolError
from agent.wellformed import cut_text
from channels.clocks import Clock
from gateway.sessions.user_items import frame, label
from gateway.store import memory as memories
from gateway.store import search, search_index
from gateway.store.engine import Connection, Store
from gateway.store.memory import TEAM, MemoryOwner, MemoryRow
from gateway.store.search import FoundPassage, FoundTurn, PassageKind, SearchScope

EPOCH = datetime.fromtimestamp(0, UTC)

POLL_S = 60.0
"""Seconds between two looks at turns that have ended; a search looks, too."""

PAUSE_S = 0.05
"""Seconds between two batches, so that other writers go first."""

BOTH = (PassageKind.MEMORY, PassageKind.TURN)
MEMORY_HANDLE, TURN_HANDLE = "memory:", "turn:"

AROUND = 2
"""Turns before and after a hit that are shown with it."""

MAX_TURN_CHARS = 4_000
MAX_AROUND_CHARS = 800
"""Characters of each message of a hit, and of each one around it."""

ABSTRACT_CHARS = 200
"""Characters of the abstract of a hit's conversation."""

_HITS = "memories and words of earlier conversations with this person, perhaps out of date"
_AROUND = "words of an earlier conversation with this person; your answers may repeat texts of others"
_MEMORY = "a memory of earlier conversations with this person, written down then and perhaps out of date"

Owners = Callable[[Principal], Sequence[MemoryOwner]]
"""Returns whose memories a person's agent reads: the person's own, then the team's if they are on."""


class MemorySearch:
    """The search of one tenant's agents; it makes the index on first use, and keeps it up to date while it runs."""

    def __init__(self, store: Store, owners: Owners, clock: Clock) -> None:
        self._store = store
        self._owners = owners
        self._clock = clock
        self._is_prepared = False
        self._looked_at = EPOCH  # turns that ended earlier have passages
        self._next: tuple[datetime, str] | None = None  # the last turn that was looked at; None: none is left

    async def run(self) -> None:
        """Index turns that have ended; at a start all that have no passage."""
        await self._prepare()
        while True:
            while not await self._index_batch():
                await asyncio.sleep(PAUSE_S)
            await asyncio.sleep(POLL_S)

    async def _prepare(self) -> None:
        if not self._is_prepared:
            await self._store.commit(search_index.prepare)
            while await self._store.commit(memories.index_missing):
                await asyncio.sleep(PAUSE_S)
            self._is_prepared = True

    async def _index_batch(self) -> bool:
        """Index the next turns without a passage; return True if there are no more."""
        now = self._clock()
        ended_at, id_ = self._next or (min(self._looked_at, now) - search.OVERLAP, "")
        read = await self._store.read(partial(search.read_turns, ended_at=ended_at, id_=id_), lasting=True)
        if read.turns:
            await self._store.commit(search.index_turns, read.turns)
        self._next = None if read.is_last else (read.ended_at, read.id)
        if read.is_last:
            self._looked_at = now
        return read.is_last

    # ---------------------------------------------------------------- memories

    async def find_memories(self, owners: Sequence[MemoryOwner], words: str, most: int) -> list[MemoryRow]:
        """Return the memories with most of these words, the best first."""
        if not (terms := terms_of(words)):
            return []
        await self._prepare()
        return await self._store.read(partial(_find_memories, owners=owners, terms=terms, most=most), lasting=True)

    # ---------------------------------------------------------------- the tools

    async def search(self, principal: Principal, query: str, limit: int) -> Mapping[str, object]:
        terms = terms_of(query)
        await self._prepare()
        is_complete = await self._index_batch()
        scopes = [SearchScope(owner.agent, owner.user_id) for owner in self._owners(principal)]

        def look(connection: Connection) -> list[str]:
            found = search.find(connection, scopes, terms, BOTH, limit)
            return _hits(connection, principal, scopes[0], found, terms)

        hits = await self._store.read(look, lasting=True)
        told: dict[str, object] = {"count": len(hits)}
        if hits:
            told["hits"] = frame(_HITS, None, "\n".join(hits))
        else:
            told["note"] = "Nothing has any of these words. Try other words, also in the person's language."
        if not is_complete:
            told["incomplete"] = "Some conversations are not searched yet; try again in a minute."
        return told

    async def expand(self, principal: Principal, handle: str) -> Mapping[str, object]:
        owners = self._owners(principal)
        if handle.startswith(MEMORY_HANDLE):
            name = handle.removeprefix(MEMORY_HANDLE)

            def look(connection: Connection) -> MemoryRow | None:
                return next((row for each in owners if (row := memories.find_memory(connection, each, name))), None)

            if (row := await self._store.read(look, lasting=True)) is not None:
                about = f"{row.name}, {_day(principal, row.updated_at)}: {row.description}\n{row.body}"
                return {"memory": frame(_MEMORY, None, about)}
        elif handle.startswith(TURN_HANDLE):
            scope = SearchScope(owners[0].agent, owners[0].user_id)
            id_ = handle.removeprefix(TURN_HANDLE)
            if shown := await self._store.read(partial(_around, scope=scope, id_=id_), lasting=True):
                lines = [line for turn in shown for line in _lines_of(principal, turn, is_hit=turn.id == id_)]
                return {"conversation": frame(_AROUND, None, "\n\n".join(lines))}
        raise ToolError("There is no such hit: take a handle as `memory_search` returned it.")


def _find_memories(
    connection: Connection, owners: Sequence[MemoryOwner], terms: Sequence[Term], most: int
) -> list[MemoryRow]:
    scopes = [SearchScope(owner.agent, owner.user_id) for owner in owners]
    found = search.find(connection, scopes, terms, (PassageKind.MEMORY,), most)
    rows = _memories_of(connection, found)
    own_names = {row.name for row in rows.values() if row.user_id != TEAM}
    by_name: dict[str, MemoryRow] = {}
    for row in rows.values():
        if row.user_id != TEAM or row.name not in own_names:
            by_name.setdefault(row.name, row)
    return list(by_name.values())


def _memories_of(connection: Connection, found: Sequence[FoundPassage]) -> dict[str, MemoryRow]:
    """Return the memories among these passages by id, in their order."""
    ids = [each.memory_id for each in found if each.memory_id is not None]
    rows = {row.id: row for row in memories.MEMORIES.find(connection, id=ids)}
    return {id_: rows[id_] for id_ in ids if id_ in rows}


def _hits(
    connection: Connection,
    principal: Principal,
    scope: SearchScope,
    found: Sequence[FoundPassage],
    terms: tuple[Term, ...],
) -> list[str]:
    """Return a line for each passage that is there still."""
    rows = _memories_of(connection, found)
    turns = search.found_turns(connection, scope, [each.turn_id for each in found if each.turn_id is not None])
    lines = []
    for each in found:
        if (row := rows.get(each.memory_id or "")) is not None:
            words = snippet(f"{row.description} {row.body}", terms)
            lines.append(f"{MEMORY_HANDLE}{row.name} ({_day(principal, row.updated_at)}, memory): {words}")
        elif (turn := turns.get(each.turn_id or "")) is not None:
            speaker, text = max(turn.texts, key=lambda said: _count(said[1], terms), default=(True, ""))
            who = "the person" if speaker else "you"
            about = f"{_day(principal, turn.ended_at)}, {_session(turn)}, {who}"
            lines.append(f"{TURN_HANDLE}{turn.id} ({about}): {snippet(text, terms)}")
    return lines


def _count(text: str, terms: Sequence[Term]) -> int:
    words = words_of(text)
    return sum(any(term.matches(word) for word in words) for term in terms)


def _session(turn: FoundTurn) -> str:
    platform = turn.key.split(":")[2].capitalize()
    titled = f"{platform} {label(turn.title)}" if turn.title else platform
    return f"{titled}, about: {cut_text(turn.abstract, ABSTRACT_CHARS)}" if turn.abstract else titled


def _day(principal: Principal, at: datetime) -> str:
    return f"{at.astimezone(zone_of(principal.timezone)):%Y-%m-%d}"


def _around(connection: Connection, scope: SearchScope, id_: str) -> list[FoundTurn]:
    turn = search.found_turns(connection, scope, [id_]).get(id_)
    return [] if turn is None else search.turns_around(connection, scope, turn, AROUND)


def _lines_of(principal: Principal, turn: FoundTurn, *, is_hit: bool) -> list[str]:
    most = MAX_TURN_CHARS if is_hit else MAX_AROUND_CHARS
    at = f"{turn.ended_at.astimezone(zone_of(principal.timezone)):%Y-%m-%d %H:%M}"
    return [f"{at}, {'the person' if own else 'you'}: {cut_text(text, most)}" for own, text in turn.texts]
