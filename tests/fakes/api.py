"""The real gateway with only its API, a model server, and keys as an operator makes them."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from gateway.operators.client import call
from gateway.store.engine import Store
from gateway.testing.gateway import TestGateway
from tests.fakes.model_server import ModelServer

WAIT_S = 30.0

CONFIG = """
[http]
listen = "127.0.0.1:0"
{http}
[access.limits]
messages_per_min = {per_min}
burst_messages = {per_min}
[channels.web]
enabled = false
[channels.console]
enabled = false
"""


@dataclass(slots=True)
class ApiHouse:
    """A running gateway, its platform and its model server."""

    url: str  # http://127.0.0.1:PORT
    model: ModelServer
    store: Store
    home: Path
    sessions: list[aiohttp.ClientSession] = field(default_factory=list)

    async def operator(self, request: str, given: Mapping[str, Any] | None = None, *, tenant: str | None = None) -> Any:
        """Ask over the control socket, as another process of the operator does."""
        return await call(self.home / "control.sock", request, given, tenant=tenant, timeout_s=WAIT_S)

    async def key(self, scopes: str = "chat", who: str = "") -> str:
        made = await self.operator("POST /v1/keys", {"name": "a test", "scopes": scopes.split(), "who": who})
        return str(made["key"])

    async def program(self, scopes: str = "chat", who: str = "") -> "ApiProgram":
        """Return a program with a key of its own."""
        return ApiProgram(self, await self.key(scopes, who))

    async def until_asked(self, count: int = 1) -> None:
        """Wait until the model has had so many requests."""
        async with asyncio.timeout(WAIT_S):
            while len(self.model.requests) < count:
                await asyncio.sleep(0.01)


class ApiProgram:
    """A program with an API key."""

    def __init__(self, house: ApiHouse, key: str) -> None:
        self.key = key
        self.url = house.url
        self.http = aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"})
        house.sessions.append(self.http)

    async def ask(self, method: str, path: str, **more: Any) -> tuple[int, Any]:
        async with self.http.request(method, self.url + path, **more) as answer:
            return answer.status, json.loads(await answer.read())

    async def get(self, path: str) -> Any:
        """Return the JSON of a path that must exist."""
        status, body = await self.ask("GET", path)
        assert 200 == status, body
        return body

    async def say(self, message: str, *, once: str | None = None, **more: Any) -> tuple[int, Any]:
        """Say something to the agent; `once` is the Idempotency-Key."""
        headers = {} if once is None else {"Idempotency-Key": once}
        return await self.ask("POST", "/v1/chat", json={"message": message, **more}, headers=headers)

    async def events(self, path: str, body: Mapping[str, object]) -> list[tuple[str, Any]]:
        """Return every event of a stream: its name, and its JSON or text."""
        async with self.http.post(self.url + path, json=body) as answer:
            assert "text/event-stream" == answer.content_type, await answer.text()
            return [_event(block) for block in (await answer.text()).split("\n\n") if "data: " in block]

    async def settled(self, path: str) -> Any:
        """Wait for the end of a turn; return it."""
        async with asyncio.timeout(WAIT_S):
            while (turn := await self.get(path))["state"] in {"queued", "running"}:
                await asyncio.sleep(0.02)
        return turn


def _event(block: str) -> tuple[str, Any]:
    lines = dict(line.partition(": ")[::2] for line in block.split("\n") if not line.startswith(":"))
    data = lines["data"]
    return lines.get("event", ""), json.loads(data) if data.startswith("{") else data


@asynccontextmanager
async def api_house(
    directory: Path, *, http: str = "", per_min: int = 6000, config: str = "", offline: bool = False
) -> AsyncIterator[ApiHouse]:
    """Run a gateway. A second call with the same directory is the next start of the first."""
    settings, environ = CONFIG.format(http=http, per_min=per_min) + config, {"OPENAI_API_KEY": "sk-api-test"}
    model = {"TENK_MODEL": "offline" if offline else "openai:api"}
    async with (
        ModelServer() as server,
        TestGateway(settings, platforms=(), directory=directory, environ=environ | model, model=server) as gateway,
    ):
        here = ApiHouse(gateway.url, server, gateway.store, gateway.home)
        yield here
        for session in here.sessions:
            await session.close()
