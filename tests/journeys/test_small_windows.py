"""A local model server with a small window, which the gateway learns and keeps to."""

import json
from pathlib import Path

from gateway.testing.model import Reply
from tests.fakes.local_servers import LocalServer, vllm
from tests.journeys.house import house

WINDOW_TOKENS = 4096
MESSAGES = 10


async def test_a_long_conversation_stays_inside_a_small_window(tmp_path: Path) -> None:
    async with LocalServer(vllm("small", WINDOW_TOKENS), reply=Reply("Fine. " + "word " * 60)) as server:
        mine = {"OPENAI_BASE_URL": server.base_url, "TENK_MODEL": "openai:small"}
        async with house(tmp_path, environ=mine) as here:
            await here.until(lambda: bool(server.looks_at), "a look at the server")
            here.sim.say(1, "hello")
            await here.settled()
            server.requests.clear()  # the first may have been asked while the look was under way
            for number in range(MESSAGES):
                here.sim.say(1, f"message {number}: " + "I practised, and thought about it. " * 10)
                await here.settled()
            assert MESSAGES + 1 == sum(text.startswith("Fine.") for text in here.texts(1))
    asked = [len(json.dumps(each.body)) / 4 + each.body["max_tokens"] for each in server.requests]
    assert max(asked) <= WINDOW_TOKENS
    assert len(asked) > MESSAGES, "notes were made"
