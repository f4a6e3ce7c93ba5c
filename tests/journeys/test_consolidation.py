"""Consolidation as people and operators meet it: a conversation ends, and the next one knows what it was about."""

import asyncio
import json
from typing import Any

import pytest

from gateway.store.consolidation_log import CONSOLIDATIONS
from gateway.testing.gateway import TestGateway
from gateway.testing.model import Answer, Call, Reply

CONFIG = """
[model.prices]
input_usd_per_mtok = 2
output_usd_per_mtok = 10
[budgets]
user_usd = 9
[memory.consolidation]
quiet_s = 1
dream_s = 1
usd_per_day = {usd}
"""

FINDINGS = {
    "abstract": "Moved to Oslo and practises the cello there.",
    "entities": [{"name": "Oslo", "kind": "place"}, {"name": "Rome", "kind": "place"}],
    "facts": [
        {"subject": "person", "relation": "lives_in", "object": "Oslo", "since": "2026-01-01", "confidence": 0.9},
        {"subject": "person", "relation": "lives_in", "object": "Rome"},
    ],
}


def instructions(body: dict[str, Any]) -> str:
    return str(body["messages"][0]["content"])


def record_keeper(*answers: str) -> Any:
    """Return a brain that consolidates with these answers in turn, the last one for ever, and chats as usual."""
    left = list(answers)

    def answer(body: dict[str, Any]) -> Answer:
        if "You keep a record of it" not in instructions(body):
            asked = str(body["messages"][-1]["content"])
            search = Call("memory_search", json.dumps({"query": "cello"}))
            return Reply(calls=(search,)) if asked.startswith("Look up") else Reply("A short answer.")
        return Reply(left.pop(0) if len(left) > 1 else left[0], usage=(1_000, 100))

    return answer


async def state_of(gateway: TestGateway) -> str:
    return str((await gateway.operator("GET /v1/status"))["capabilities"]["consolidation"])


async def wait_for_state(gateway: TestGateway, words: str) -> None:
    async with asyncio.timeout(30):
        while words not in await state_of(gateway):
            await asyncio.sleep(0.05)


async def test_the_next_conversation_knows_what_the_last_one_was_about() -> None:
    async with TestGateway(CONFIG.format(usd=0.5)) as gateway:
        gateway.model.brain = record_keeper("Here it is: {}", json.dumps(FINDINGS))  # asked again once
        ada = gateway.person("telegram")
        await ada.say("I moved to Oslo in January and practise the cello there.")
        await ada.answer("A short answer.")
        await wait_for_state(gateway, "1 done, 0.0060 USD")
        (passage,) = (await gateway.operator("GET /v1/consolidations"))["consolidations"]
        assert ("done", 1, 1, 6_000) == tuple(passage[key] for key in ("outcome", "messages", "facts", "cost_microusd"))
        await ada.say("/new")
        await ada.answer()
        await ada.say("What do you know of me?")
        await ada.answer("A short answer.")
        prompt = instructions(gateway.model.requests[-1].body)
        assert "- person lives in Oslo (since 2026-01-01)" in prompt and "Rome" not in prompt
        assert "Moved to Oslo and practises the cello there." in prompt
        await ada.say("Look up the cello.")
        await ada.answer("A short answer.")
        hits = str(gateway.model.requests[-1].body["messages"][-1]["content"])
        assert "about: Moved to Oslo and practises the cello there." in hits
        budgets = (await gateway.operator("GET /v1/status"))["budgets"]
        assert ["0.0060 / 0.50 USD"] == [used for name, used in budgets.items() if name.startswith("consolidation")]


@pytest.mark.gate
async def test_a_used_budget_stops_it_until_tomorrow_and_no_person() -> None:
    async with TestGateway(CONFIG.format(usd=0.001)) as gateway:
        gateway.model.brain = record_keeper(json.dumps(FINDINGS))
        ada = gateway.person("telegram")
        await ada.say("I moved to Oslo.")
        await ada.answer("A short answer.")
        await wait_for_state(gateway, "stopped until ")
        await ada.say("Are you there?")
        await ada.answer("A short answer.")
        assert [] == await gateway.store.read(CONSOLIDATIONS.find)
