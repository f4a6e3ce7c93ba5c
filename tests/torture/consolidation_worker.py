"""The consolidation of one process that can be killed: `python -P consolidation_worker.py URL`.

It owns every shard from its start on, so a process that is not dead yet is fenced. Its model takes some time, and finds
one fact in each message.
"""

import asyncio
import json
import random
import sys

from agent.memory.consolidation_config import ConsolidationConfig
from agent.ports import ModelFacts, ModelRequest, OnModelEvent
from agent.transcript import ModelResponded, Usage, UserItem
from channels.clocks import Clocks
from gateway.capabilities.base import CapabilityDeps, LightModel
from gateway.capabilities.consolidation import ConsolidationCapability
from gateway.capabilities.trust import Trust
from gateway.ownership import Ownership
from gateway.safety.vault import Vault
from gateway.store.engine import Store
from gateway.store.journal import take_all_shards

LONGEST_ANSWER_S = 0.2
TENANT = "default"
READY = "ready"
"""The line that it prints before it begins."""


class RecordKeeper:
    """A model whose abstract counts the passages of a conversation."""

    name = "test:light"
    facts = ModelFacts()

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Find a thing in each message."""
        await asyncio.sleep(random.uniform(0.01, LONGEST_ANSWER_S))
        (item,) = request.items
        assert isinstance(item, UserItem)
        told = json.loads(item.data)
        things = [each["text"].split()[-1] for each in told["said"]]
        findings = {
            "abstract": f"{int(told['abstract'] or 0) + 1}",
            "entities": [{"name": thing, "kind": "thing"} for thing in things],
            "facts": [{"subject": "person", "relation": "owns", "object": thing} for thing in things],
        }
        return ModelResponded(0, json.dumps(findings), model=self.name, usage=Usage(100, 10, cost_microusd=1))

    async def aclose(self) -> None:
        pass


async def main(url: str) -> None:
    store = await Store.open(url)
    epoch = await store.commit(take_all_shards, "worker")
    deps = CapabilityDeps(
        store.of(TENANT),
        Vault.fresh(),
        Clocks(),
        Trust(store).of(TENANT),
        consolidating=LightModel(RecordKeeper()),
        ownership=Ownership(epoch),
    )
    capability = ConsolidationCapability(ConsolidationConfig(quiet_s=1, dream_s=1), deps, "coach", RecordKeeper.name)
    sys.stdout.write(f"{READY}\n")
    sys.stdout.flush()
    while True:
        await capability.look()
        await asyncio.sleep(0.02)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
