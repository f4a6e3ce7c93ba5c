"""The time that memory adds to a message: `make bench ARGS=recall`.

CPU of recall and of the index in the prompt, for people with 100, 1,000 and 10,000 memories, chosen by words in common,
and by a light model that answers at once: its own call is left out. The database is an SQLite file.
"""

import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import sqlalchemy as sa

from agent.config import LinkConfig, ModelConfig
from agent.memory.config import MemoryConfig
from agent.memory.memory import MemoryOrigin, MemoryType
from agent.ports import ModelFacts, ModelRequest, OnModelEvent, Principal, Spent
from agent.transcript import ModelResponded, UserItem
from channels.clocks import Clocks
from gateway.capabilities.base import CapabilityDeps, LightModel
from gateway.capabilities.memory import MemoryCapability
from gateway.config.settings import Settings
from gateway.store.engine import Store
from gateway.store.memory import MEMORIES, MemoryRow
from gateway.store.sqlite import SqliteEngine
from gateway.store.tables.base import new_id

COUNTS = (100, 1_000, 10_000)
GOAL_COUNT, GOAL_MS = 1_000, 20.0
MESSAGES = 60
ADA = Principal("ada", "default", agent="coach")
THINGS = "cello scales bow orchestra teacher concert morning wrist tempo rhythm"
SAID = "My wrist hurts after the scales in the morning; should I still play the concert in June?"


class AnswersAtOnce:
    """A light model that names the first memory of the list."""

    name = "bench:light"
    facts = ModelFacts()

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        item = request.items[0]
        assert isinstance(item, UserItem)
        return ModelResponded(0, json.loads(item.text)["memories"][0].partition(" ")[0])

    async def aclose(self) -> None:
        pass


def _rows(count: int, now: datetime) -> list[dict[str, Any]]:
    things = THINGS.split()
    made = []
    for number in range(count):
        thing, other = things[number % len(things)], things[number // len(things) % len(things)]
        row = MemoryRow(
            id=new_id(),
            tenant="default",
            agent="coach",
            user_id="ada",
            name=f"memory-{number}",
            type=MemoryType.USER,
            description=f"What helped number {number} with the {thing} before the {other} on a long day of practice",
            body=f"{thing} and {other}. " * 30,
            origin=MemoryOrigin.SAID,
            created_at=now,
            updated_at=now - timedelta(minutes=number),
        )
        values = {field.name: getattr(row, field.name) for field in fields(row) if field.name != "tenant"}
        made.append({**values, "tenant_id": row.tenant})
    return made


async def _note_cost(_response: Spent) -> None:
    pass


async def _measure(count: int, light: LightModel) -> list[float]:
    now = datetime.now(UTC)
    nothing: Any = None
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        store = await Store(SqliteEngine(Path(directory) / "tenk.db")).start()
        try:
            add = _adder(_rows(count, now))
            await store.commit(add)
            settings = Settings(
                memory=MemoryConfig(), model=ModelConfig(name="openai:bench", light=LinkConfig(name="openai:light"))
            )
            deps = CapabilityDeps(store.of("default"), nothing, Clocks(), nothing, light=light)
            memory = MemoryCapability(MemoryConfig(), settings, deps)
            took_ms = []
            for _ in range(MESSAGES):
                began_s = time.process_time()
                recalled = await memory.recall(ADA, SAID, "", _note_cost)
                index = await memory.read_memory(ADA)
                took_ms.append((time.process_time() - began_s) * 1000)
                assert "memory-" in recalled
                assert "memory-" in index
            return took_ms
        finally:
            await store.aclose()


def _adder(rows: list[dict[str, Any]]) -> Callable[[sa.Connection], None]:
    def add(connection: sa.Connection) -> None:
        connection.execute(sa.insert(MEMORIES.table), rows)

    return add


async def run() -> dict[str, object]:
    """Print the milliseconds that a message takes longer."""
    results: dict[str, object] = {}
    print(f"\nCPU of recall and index a message, {MESSAGES} messages each, without the light model's own call")
    for named, light in (("by words", LightModel()), ("by a light model", LightModel(AnswersAtOnce()))):
        for count in COUNTS:
            took_ms = await _measure(count, light)
            middle, worst = median(took_ms), quantiles(took_ms, n=20)[-1]
            goal = f"   goal: at most {GOAL_MS:.0f} ms" if count == GOAL_COUNT else ""
            print(f"  {named:<17} {count:>6,} memories: p50 {middle:6.1f} ms, p95 {worst:6.1f} ms{goal}")
            results[f"{named}, {count}"] = {"p50_ms": round(middle, 2), "p95_ms": round(worst, 2)}
    return results
