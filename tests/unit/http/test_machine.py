"""`/v1` on the control socket: the machine's operator needs no key there, a program its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.errors import GatewayError, unknown_tenant
from gateway.http.api.chat import ChatRoutes, chat_routes
from gateway.http.api.machine import MachineApi
from gateway.http.api.operators import operator_routes
from gateway.http.api.server import ApiDeps, ApiServer
from gateway.http.mounts import Mounts
from gateway.operators.client import call
from gateway.operators.models import Status
from gateway.operators.process import DetachedProcess
from gateway.operators.service import Operators
from gateway.ops.control import ControlServer
from gateway.store.engine import Store
from tests.fakes.http import Loaded
from tests.fakes.people import KEY, NOON
from tests.fakes.spine import quick_store
from tests.unit.control.test_control import said
from tests.unit.http.test_tenant_routes import Tenant, whoever


class Services:
    def __init__(self, store: Store) -> None:
        self.store = store

    def of(self, name: str | None) -> Operators:
        if name not in (None, "default"):
            raise GatewayError(unknown_tenant(name, ["default"]))
        return Operators(self.store.of(name), KEY, lambda: NOON, Hanging())


class Hanging(DetachedProcess):
    async def status(self, _tenant: str | None) -> Status | None:
        await asyncio.Event().wait()
        return None


@asynccontextmanager
async def serving(store: Store, path: Path, deadline_s: float = 30.0) -> AsyncIterator[None]:
    services = Services(store)
    chat = chat_routes(ChatRoutes(None, store))  # type: ignore[arg-type]  nothing is said here
    routes = (*operator_routes(services.of("default")), *chat)
    deps = ApiDeps(store=store, routes=routes, principal=whoever, title="t", version="1")
    machine = MachineApi(ApiServer(store, {"default": Tenant(deps)}), services, deadline_s=deadline_s)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(ControlServer(path, machine.serve, Mounts(Loaded(), private=True)).run())
        while not path.exists() and not running.done():
            await asyncio.sleep(0)
        yield
        running.cancel()


@pytest.fixture
async def path(tmp_path: Path) -> AsyncIterator[Path]:
    store = await quick_store(tmp_path / "tenk.db")
    async with serving(store, tmp_path / "s"):
        yield tmp_path / "s"
    await store.aclose()


async def test_the_machines_operator_makes_a_key_which_opens_what_its_scopes_say(path: Path) -> None:
    made = await call(path, "POST /v1/keys", {"name": "eyes", "scopes": ["read"]})
    head = f"Host: x\r\nConnection: close\r\nAuthorization: Bearer {made['key']}\r\n\r\n".encode()
    assert b" 200 " in (await said(path, b"GET /v1/users HTTP/1.1\r\n" + head)).partition(b"\r\n")[0]
    assert b" 403 " in (await said(path, b"GET /v1/keys HTTP/1.1\r\n" + head)).partition(b"\r\n")[0]
    assert b" 403 " in (await said(path, b"POST /v1/reload HTTP/1.1\r\n" + head)).partition(b"\r\n")[0]
    assert ["eyes"] == [key["name"] for key in (await call(path, "GET /v1/keys"))["keys"]]


@pytest.mark.parametrize(
    ("request_", "given", "tenant", "words"),
    [
        ("GET /v1/sessions", {}, None, "this needs a key"),
        ("GET /v1/nothing", {}, None, "there is nothing at this path"),
        ("GET /v1/users", {}, "nobody", 'there is no tenant "nobody"'),
        ("GET /v1/usage", {"days": 0}, None, "days: "),
        ("POST /v1/keys", {"name": "k", "by": "somebody"}, None, "unknown field"),
    ],
)
async def test_what_cannot_be_done_is_told(
    path: Path, request_: str, given: dict[str, object], tenant: str | None, words: str
) -> None:
    with pytest.raises(GatewayError) as refused:
        await call(path, request_, given, tenant=tenant)
    assert words in str(refused.value)


async def test_what_takes_too_long_is_told(tmp_path: Path) -> None:
    """With the truth about it: it may still happen."""
    store = await quick_store(tmp_path / "tenk.db")
    async with serving(store, tmp_path / "s", deadline_s=0.05):
        with pytest.raises(GatewayError, match="but it may still happen"):
            await call(tmp_path / "s", "GET /v1/status")
    await store.aclose()
