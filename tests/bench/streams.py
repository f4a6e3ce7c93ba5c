"""Cost of reading a model's stream: both wires beside reading the same bytes raw, from a server in another process.

Events come one by one, as from models. In a burst, with many events in one piece, raw reading costs next to nothing,
and the price of an event remains: it is printed beside.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import aiohttp
import orjson

from agent.config import LinkConfig
from agent.models.anthropic import AnthropicModel
from agent.models.anthropic_format import request_body as anthropic_body
from agent.models.openai import OpenAIModel
from agent.models.openai_format import request_body as openai_body
from agent.ports import ModelRequest, SystemPrompt
from agent.transcript import UserItem
from gateway.testing.model import Reply
from tests.fakes.model_server import ModelServer

EVENTS = 1500
PACE_S = 0.001
ROUNDS = 5
GOAL = 1.5
REQUEST = ModelRequest(SystemPrompt("be kind"), (UserItem("speak"),))
SPOKEN = Reply("word " * EVENTS, chunk_chars=5, chunk_delay_s=PACE_S)
BURST = Reply("word " * EVENTS, chunk_chars=5)

Read = Callable[[], Awaitable[object]]


async def run() -> dict[str, object]:
    """Print the row, and give it."""
    results: dict[str, object] = {}
    for name, argument in (("spoken", "spoken"), ("burst", "burst")):
        command = (sys.executable, "-m", "tests.bench.streams", argument)
        root = Path(__file__).parents[2]
        server = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=root)
        try:
            assert server.stdout is not None
            results[name] = await _measure(name, (await server.stdout.readline()).decode().strip())
        finally:
            server.terminate()
            await server.wait()
    return results


async def _measure(name: str, root: str) -> dict[str, float]:
    figures: dict[str, float] = {}
    openai = OpenAIModel("test", LinkConfig(base_url=root + "/v1"))
    anthropic = AnthropicModel("test", LinkConfig(base_url=root))
    body = openai_body(REQUEST, "test", "max_tokens", usage_in_stream=True)
    wires: tuple[tuple[str, OpenAIModel | AnthropicModel, str, bytes], ...] = (
        ("openai", openai, "/v1/chat/completions", orjson.dumps(body)),
        ("anthropic", anthropic, "/v1/messages", orjson.dumps(anthropic_body(REQUEST, "test", LinkConfig()))),
    )
    async with aiohttp.ClientSession() as session:
        for wire, model, path, sent in wires:
            raw_ms, wire_ms = await _beside(_raw(session, root + path, sent), _wire(model))
            ratio = wire_ms / raw_ms
            goal = f", goal {GOAL}" if name == "spoken" else ""
            print(
                f"streams  {wire:<9} {name:<6} {EVENTS} events: wire {wire_ms:.1f} ms CPU, raw {raw_ms:.1f} ms, "
                f"{ratio:.2f} x{goal}; {(wire_ms - raw_ms) * 1000 / EVENTS:.1f} us an event"
            )
            figures |= {f"{wire}_ms": wire_ms, f"{wire}_raw_ms": raw_ms, f"{wire}_ratio": ratio}
            await model.aclose()
    return figures


async def _beside(raw: Read, wire: Read) -> tuple[float, float]:
    took: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS + 1):
        for read, kept in zip((raw, wire), took, strict=True):
            begun_s = time.process_time()
            await read()
            kept.append((time.process_time() - begun_s) * 1000)
    return median(took[0][1:]), median(took[1][1:])


def _raw(session: aiohttp.ClientSession, url: str, body: bytes) -> Read:
    async def read() -> None:
        async with session.post(url, data=body, headers={"Content-Type": "application/json"}) as answer:
            async for _ in answer.content.iter_any():
                pass

    return read


def _wire(model: OpenAIModel | AnthropicModel) -> Read:
    async def read() -> None:
        response = await model.respond(REQUEST, lambda _event: None)
        assert len(SPOKEN.text) == len(response.text)

    return read


async def _serve(reply: Reply) -> None:
    async with ModelServer(reply=reply) as server:
        server.keeps_requests = False
        sys.stdout.write(f"{server.root_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(SPOKEN if sys.argv[1] == "spoken" else BURST))
