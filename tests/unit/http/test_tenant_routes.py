"""A tenant's requests: its own agent answers, also on routes that the default agent lacks."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from aiohttp import ClientSession, web

from agent.ports import Principal
from gateway.access.api_keys import Scope
from gateway.http.api.routes import ApiModel, ApiRequest, ApiRoute
from gateway.http.api.server import ApiDeps, ApiServer
from gateway.http.connections import ConnectionLimiter
from gateway.operators.models import KeyTerms
from gateway.operators.process import DetachedProcess
from gateway.operators.service import Operators
from gateway.store.api_keys import ApiKey
from gateway.store.engine import Store
from tests.fakes.people import NOON
from tests.fakes.spine import quick_store


class Said(ApiModel):
    """An answer."""

    words: str


def route(path: str, words: str) -> ApiRoute:

    async def handle(_request: ApiRequest) -> Said:
        return Said(words=words)

    return ApiRoute(
        method="GET", path=f"/v1/{path}", tag="t", summary=words, scope=Scope.READ, answer=Said, handle=handle
    )


async def whoever(_key: ApiKey, _user: str | None, _locale: str | None) -> Principal:
    raise AssertionError


@dataclass
class Tenant:
    api: ApiDeps


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    made = await quick_store(tmp_path / "tenk.db")
    yield made
    await made.aclose()


def operators(store: Store) -> Operators:
    return Operators(store, b"", lambda: NOON, DetachedProcess())


async def test_a_tenants_own_route_is_found_by_its_key(store: Store) -> None:
    ours = ApiDeps(store=store, routes=[route("both", "ours")], principal=whoever, title="t", version="1")
    bells = replace(ours, routes=[route("both", "Bell's"), route("pantry", "flour")])
    tenants = {"default": Tenant(ours), "bell": Tenant(bells)}
    api = ApiServer(store, tenants)
    keys = {
        name: (await operators(store.of(name)).create_key("cli", KeyTerms(name="k", scopes=("read",)))).key
        for name in ("default", "bell")
    }
    limiter = ConnectionLimiter(9, 9, str)

    async def serve(request: web.Request) -> web.StreamResponse:
        return await api.serve(limiter, request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", serve)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    base = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    async with ClientSession() as http:

        async def ask(path: str, whose: str = "") -> tuple[int, object]:
            headers = {"Authorization": f"Bearer {keys[whose]}"} if whose else {}
            async with http.get(f"{base}/{path}", headers=headers) as answer:
                said = await answer.json()
                return answer.status, said.get("words") or said["error"]["code"]

        assert (200, "flour") == await ask("pantry", "bell")
        assert [404, 404] == [(await ask("pantry", whose))[0] for whose in ("", "default")]
        assert [401, 200, 200] == [(await ask("both", whose))[0] for whose in ("", "default", "bell")]
        assert ["ours", "Bell's"] == [(await ask("both", whose))[1] for whose in ("default", "bell")]
        tenants["bell"] = Tenant(replace(ours, routes=[route("cellar", "wine")]))
        assert (200, "wine") == await ask("cellar", "bell")
        assert 404 == (await ask("pantry", "bell"))[0]
        del tenants["bell"]
        assert (403, "no_tenant") == await ask("cellar", "bell")
    await runner.cleanup()
