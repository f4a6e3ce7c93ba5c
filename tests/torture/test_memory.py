"""A memory is written once, and recalled with the same bytes, however the gateway dies meanwhile."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from channels.simulators.telegram.server import TelegramSimulator
from gateway.store.engine import Store
from gateway.store.memory import MEMORIES
from gateway.testing.model import Answer, Call, FakeModel, Reply
from tests.torture.gateway_process import GatewayProcess

SAVE = {
    "action": "save",
    "name": "mornings",
    "type": "user",
    "description": "Practises best in the morning",
    "body": "Mornings are best.",
}
CHAT = 42


def answer(body: dict[str, Any]) -> Answer:
    """Save what the person tells, once; answer all else."""
    messages = body["messages"]
    told = [message for message in messages if message["role"] == "user"]
    if messages[-1]["role"] == "tool":
        return Reply("Noted.")
    if "Remember" in str(told[-1]["content"]):
        return Reply(calls=(Call("memory", json.dumps(SAVE)),))
    return Reply("In the morning.")


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.05)


@pytest.mark.gate
@pytest.mark.timeout(180)
async def test_a_memory_survives_kills_and_is_written_once(tmp_path: Path) -> None:
    """Die before and behind the effect, before the claim with its recall, and before the end."""
    telegram = TelegramSimulator.with_bot()
    async with telegram, FakeModel(answer) as model:
        env = {**telegram.environment(), "OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "sk-test"}
        gateway = GatewayProcess(
            tmp_path / "home", "[memory]\n", {**env, "TENK_MODEL": "openai:test", "TORTURE_LEDGER": "unused"}
        )

        def heard(words: str) -> bool:
            return any(words in shown.text for shown in telegram.answers(CHAT))

        await gateway.start("effect_pre:1:exit")
        telegram.say(CHAT, "Remember that mornings are best for me.")
        assert 137 == await gateway.ended(60)
        await gateway.start("commit_done/apply:1:exit")
        assert 137 == await gateway.ended(60)
        await gateway.start("claim_pre:1:exit")
        await until(lambda: heard("Noted."))
        telegram.say(CHAT, "When in the morning?")
        assert 137 == await gateway.ended(60)
        await gateway.start("final_pre:1:exit")
        assert 137 == await gateway.ended(60)
        await gateway.start()
        await until(lambda: heard("In the morning."))
        await gateway.kill()
        store = await Store.open(f"sqlite:///{tmp_path / 'home' / 'tenk.db'}")
        try:
            (row,) = await store.read(MEMORIES.find)
        finally:
            await store.aclose()
    assert ("Mornings are best.", 1) == (row.body, row.revision)
    said = [str(request.body["messages"][-1]["content"]) for request in model.requests]
    recalled = [each for each in said if each.startswith("When in the morning?")]
    assert len(recalled) >= 2
    assert {recalled[0]} == set(recalled)
    assert "Mornings are best." in recalled[0]
