"""Cooldowns of models over a restart: written on change, read at the start."""

import asyncio
from datetime import UTC, datetime

import pytest

from agent.errors import FailureKind
from agent.models.failures import failure
from agent.models.health import Gate
from agent.ports import ModelFailure
from gateway.ops.model_cooldowns import ModelCooldowns, load_cooldowns
from gateway.store.engine import Store

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
LONG = "openai:" + "x" * 500


async def kept(store):
    return await store.read(load_cooldowns)


async def test_a_rest_is_there_after_a_restart_until_the_model_is_well(tmp_path):
    store = await Store.open(f"sqlite:///{tmp_path}/tenk.db")
    before = ModelCooldowns(store, lambda: NOW)
    before.board.register("openai:m", "mark")
    before.board.register(LONG, "mark")
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(before.run())
        before.board.close("openai:m", Gate.COOLDOWN, failure(FailureKind.AUTH, "no"), 300)
        before.board.close("openai:m", Gate.CIRCUIT, failure(FailureKind.SERVER, "no"), 30)
        before.board.close(LONG, Gate.CIRCUIT, failure(FailureKind.SERVER, "no"), 30)
        while len(await kept(store)) < 3:
            await asyncio.sleep(0)
        before.board.open("openai:m", Gate.CIRCUIT)
        before.board.close("openai:m", Gate.COOLDOWN, failure(FailureKind.QUOTA, "no"), 3600)
        while len(await kept(store)) > 2:
            await asyncio.sleep(0)
        running.cancel()
    after = ModelCooldowns(store, lambda: NOW)
    after.board.register("openai:m", "mark")
    await after.load()
    with pytest.raises(ModelFailure) as resting:
        after.board.check("openai:m", Gate.COOLDOWN)
    assert (FailureKind.QUOTA, 3600.0) == (resting.value.kind, resting.value.retry_after_s)
    assert "quota: before the last start; cools down for 3600 s more (cooldown)" == str(resting.value)
    assert after.board.check("openai:m", Gate.CIRCUIT) is None
    await store.aclose()
