"""Search of a person with 1,000 memories and 10,000 past turns, on both databases, beside another with as much."""

import random
import tempfile
import time
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median

import sqlalchemy as sa

from agent.memory.memory import Memory, MemoryOrigin, MemoryType
from agent.memory.words import terms_of
from gateway.store import memory as memories
from gateway.store import search, search_index
from gateway.store.engine import Connection, Store
from gateway.store.memory import MemoryOwner
from gateway.store.search import PassageKind, SearchScope
from gateway.store.tables.base import EPOCH, new_id
from tests.fakes.past import add_past, direct_key
from tests.fakes.people import NOON
from tests.fakes.postgres import PostgresServer

GOAL_MS = 20
MEMORIES = 1_000
TURNS = 10_000
PEOPLE = 2
VOCABULARY = 8_000
ROUNDS = 60
WORDS = {"rare words": (2_000, 8_000, 3), "common words": (20, 200, 3), "a long message": (20, 8_000, 60)}
"""Queries by the ranks of their words, from most to least frequent, and their number.

The first twenty stand for the words that no search looks for, such as articles.
"""


async def run() -> dict[str, object]:
    """Measure one search, from the words to the hits as the model reads them."""
    print(f"\nsearch in {MEMORIES:,} memories and {TURNS:,} turns, each of {PEOPLE} people, goal {GOAL_MS} ms")
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as directory, PostgresServer({"autovacuum": "on"}) as server:
        urls = {"SQLite": f"sqlite:///{Path(directory) / 'tenk.db'}", "PostgreSQL": await server.create_migrated()}
        for name, url in urls.items():
            store = await Store.open(url)
            try:
                results[name] = await _measure(store.of("default"), name)
            finally:
                await store.aclose()
    return results


async def _measure(store: Store, name: str) -> dict[str, float]:
    chance = random.Random(7)
    vocabulary = [
        "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(4, 11))) for _ in range(VOCABULARY)
    ]
    weights = [1 / (rank + 5) for rank in range(VOCABULARY)]

    def words(count: int) -> str:
        return " ".join(chance.choices(vocabulary, weights, k=count))

    people = [new_id() for _ in range(PEOPLE)]
    await store.commit(search_index.prepare)
    for user_id in people:
        for start in range(0, TURNS, 500):
            said = [(words(20), words(60)) for _ in range(500)]
            await store.commit(add_past, direct_key(user_id), user_id, said, NOON + timedelta(minutes=start))
        await store.commit(_remember, user_id, [words(40) for _ in range(MEMORIES)])
    began, at, id_, is_last = time.perf_counter(), EPOCH, "", False
    while not is_last:
        read = await store.read(partial(search.read_turns, ended_at=at, id_=id_))
        await store.commit(search.index_turns, read.turns)
        at, id_, is_last = read.ended_at, read.id, read.is_last
    took_ms = {"indexing a turn": (time.perf_counter() - began) * 1000 / TURNS / PEOPLE}
    began = time.perf_counter()
    for _ in range(ROUNDS):
        await store.read(lambda tx: tx.execute(sa.select(sa.literal(1))).scalar())
    took_ms["a read of nothing"] = (time.perf_counter() - began) * 1000 / ROUNDS
    for kind, (first, last, count) in WORDS.items():
        queries = [" ".join(chance.choices(vocabulary[first:last], k=count)) for _ in range(2 * ROUNDS)]
        times = []
        for query in queries:
            began = time.perf_counter()
            await store.read(partial(_look, user_id=people[0], query=query))
            times.append((time.perf_counter() - began) * 1000)
        measured = times[ROUNDS:]  # the first rounds fill the caches
        took_ms[kind] = median(measured)
        took_ms[f"{kind}, worst"] = max(measured)
    print(f"  {name:12}" + "  ".join(f"{what} {ms:.2f} ms" for what, ms in took_ms.items()))
    return {what: round(ms, 2) for what, ms in took_ms.items()}


def _remember(connection: Connection, user_id: str, bodies: list[str]) -> None:
    owner = MemoryOwner("default", "coach", user_id)
    for number, body in enumerate(bodies):
        memory = Memory(
            name=f"memory-{number}",
            type=MemoryType.USER,
            description=body[:100],
            body=body,
            origin=MemoryOrigin.SAID,
            created_at=NOON,
            updated_at=NOON,
        )
        memories.save_memory(connection, owner, memory)


def _look(connection: Connection, user_id: str, query: str) -> int:
    scope = SearchScope("coach", user_id)
    found = search.find(connection, [scope], terms_of(query), tuple(PassageKind), 8)
    ids = [each.turn_id for each in found if each.turn_id]
    return len(search.found_turns(connection, scope, ids))
