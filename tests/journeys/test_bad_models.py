"""A model that misbehaves: the person gets words, and the next message works."""

import asyncio
import os
from pathlib import Path

import pytest

from gateway.testing.model import Answer, Fault, Reply
from tests.fakes.fork_server import ForkServer
from tests.journeys.house import WAIT_S, house

BAD_KEY = Fault(status=401, body={"error": {"message": "bad key"}})
ONCE = "[model]\ntries = 1\n"  # a refused key is tried a second time after five seconds


async def test_one_refusal_of_a_key_is_the_providers_own_fault(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        assert {"openai:journey": "not asked since the start"} == (await here.operator("GET /v1/status"))["models"]
        here.model.answers(BAD_KEY)
        here.sim.say(1, "hello")
        await here.told(1, "A short answer.")
        assert "answered at 20" in (await here.operator("GET /v1/status"))["models"]["openai:journey"]


async def test_an_owner_ends_a_cooldown_by_asking_again(tmp_path: Path) -> None:
    async with house(tmp_path, config=ONCE) as here:
        here.sim.say(1, "hello")
        await here.told(1, "A short answer.")
        await here.operator("POST /v1/users/telegram:1/role", {"role": "owner"})
        here.model.answers(BAD_KEY)
        here.sim.say(2, "what is a fugue?")
        await here.told(2, "not connected")
        asked = len(here.model.requests)
        here.sim.say(2, "/retry")
        await here.settled()
        here.sim.say(1, "what is a canon?")
        await here.told(1, "not connected")
        assert asked == len(here.model.requests)
        here.model.answers(Reply("A strict imitation."))
        here.sim.say(1, "/retry")
        await here.told(1, "A strict imitation.")
        here.sim.say(2, "and now?")
        await here.told(2, "A short answer.")


async def test_the_doctor_ends_the_cooldown_of_a_model_that_answers_it(tmp_path: Path) -> None:
    async with house(tmp_path, model="openai:test", config=ONCE) as here:
        here.model.answers(BAD_KEY)
        here.sim.say(1, "hello")
        await here.told(1, "not connected")
        environ = {
            "TENK_HOME": str(here.home),
            "TENK_MODEL": "openai:test",
            "OPENAI_BASE_URL": here.model.base_url,
            "OPENAI_API_KEY": "sk-journey",
            **here.telegram.environment(),
        }
        looking = ["-m", "gateway", "doctor", "--config", str(tmp_path / "gateway.toml")]
        done = await asyncio.to_thread(ForkServer.of().run, looking, os.environ | environ, tmp_path, 30)
        assert "; the gateway uses it again now" in done.stdout
        here.sim.say(1, "and now?")
        await here.told(1, "A short answer.")


@pytest.mark.parametrize(
    ("faults", "words", "shown"),
    [
        ([BAD_KEY], "not connected", "auth (cooldown); look at OPENAI_API_KEY"),
        ([Fault(status=402, body={"error": {"message": "pay"}})], "out of credit", "quota (cooldown)"),
    ],
    ids=["F09 a bad key", "F10 no credit"],
)
async def test_a_key_that_is_refused_is_not_asked_again_for_a_while(
    tmp_path: Path, faults: list[Answer], words: str, shown: str
) -> None:
    async with house(tmp_path, config=ONCE) as here:
        here.model.answers(*faults)
        here.sim.say(1, "hello")
        await here.told(1, words)
        await here.settled()
        here.sim.say(1, "and now?")
        await here.settled()
        assert words in here.texts(1)[-1]
        assert len(faults) == len(here.model.requests)
        assert shown in (await here.operator("GET /v1/status"))["models"]["openai:journey"]
        async with asyncio.timeout(WAIT_S):
            while not await here.rows("SELECT model FROM model_rests"):
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("base_url", [None, "http://127.0.0.1:1/v1"], ids=["5xx", "refused"])
async def test_a_provider_that_is_down_is_stood_in_for_and_says_so(tmp_path: Path, base_url: str | None) -> None:
    async with house(tmp_path, environ={"OPENAI_BASE_URL": base_url} if base_url else None) as here:
        here.model.brain = lambda _body: Fault(status=503, body=b"")
        here.sim.say(1, "45m guitar scales")
        answer = await here.told(1, "can't reach my model")
        assert "Try again" in dict(answer.buttons)
        assert "no language model is connected" not in answer.text, "two reasons, one of them wrong"
        here.sim.say(1, "yes")
        await here.settled()
        assert 1 == len(await here.rows("SELECT id FROM practice_sessions"))
