"""A conversation of 300 turns in a window of 8,000 tokens: what a turn sends and costs, early and late.

The model answers at once and keeps facts in its notes; the store forgets at power loss: figures are of our own work.
"""

import tempfile
from pathlib import Path
from statistics import mean

from agent.ports import ModelFacts
from tests.fakes.long_conversation import FACT_EVERY, FactKeeper, TurnCost, talk
from tests.fakes.spine import Spine, quick_store

WINDOW_TOKENS = 8_000
TURNS = 300
PIECES = 3


async def run(turns: int = TURNS) -> dict[str, object]:
    """Hold the conversation, and print what its thirds cost."""
    keeper = FactKeeper()
    with tempfile.TemporaryDirectory() as directory:
        store = await quick_store(Path(directory) / "tenk.db")
        spine = Spine(store)
        spine.model.facts = ModelFacts(context_window_tokens=WINDOW_TOKENS)
        await spine.begin()
        costs = await talk(spine, keeper, turns)
        await spine.kill()
        await store.aclose()
    print(f"\na conversation of {turns} turns in a window of {WINDOW_TOKENS:,} tokens, by estimate")
    print(f"  {'turns':14}{'sent a turn':>12}{'at most':>9}{'for notes a turn':>18}{'CPU a turn':>12}")
    size = turns // PIECES
    results: dict[str, object] = {}
    for first in range(0, size * PIECES, size):
        results[f"{first + 1}-{first + size}"] = _show(first, costs[first : first + size])
    told = {f"fact {n} is w{n * FACT_EVERY}x." for n in range((turns - 1) // FACT_EVERY + 1)}
    known = len(told & keeper.known)
    print(f"  facts told {len(told)}, in the last request {known}; goal: all of them, within the window, flat")
    return results | {"facts_told": len(told), "facts_known": known}


def _show(first: int, costs: list[TurnCost]) -> dict[str, float]:
    sent, notes = mean(cost.asked_tokens for cost in costs), mean(cost.notes_tokens for cost in costs)
    most, cpu_ms = max(cost.asked_tokens for cost in costs), mean(cost.cpu_s for cost in costs) * 1000
    place = f"{first + 1} to {first + len(costs)}"
    print(f"  {place:14}{sent:12,.0f}{most:9,}{notes:18,.0f}{cpu_ms:9.1f} ms")
    return {"sent_tokens": round(sent), "most_tokens": most, "notes_tokens": round(notes), "cpu_ms": round(cpu_ms, 2)}
