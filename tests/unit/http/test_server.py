"""Health, readiness and metrics, and access to them."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import aiohttp
import pytest
from pydantic import SecretStr, ValidationError

from channels.base import ChannelState
from gateway.errors import GatewayError
from gateway.http.config import HttpConfig
from gateway.http.mounts import Mounts
from gateway.http.server import HttpServer, PartHealth
from tests.fakes.http import Loaded

KEY = "0123456789abcdef0123456789abcdef"


class Parts(dict[str, PartHealth]):
    def health(self) -> Mapping[str, PartHealth]:
        return self

    async def measure(self) -> None:
        pass


@asynccontextmanager
async def serving(config: HttpConfig, parts: Parts) -> AsyncIterator[str]:
    server = HttpServer(config, parts, Mounts(Loaded()))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(server.run())
        await server.started.wait()
        yield f"http://127.0.0.1:{server.port}"
        running.cancel()


async def get(url: str, **headers: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as response:
        return response.status, await response.text()


ANY_PORT = HttpConfig(listen="127.0.0.1:0")
READY = PartHealth(ChannelState.READY, heard_at=datetime(2026, 11, 20, tzinfo=UTC))


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (ChannelState.READY, 200),
        (ChannelState.DEGRADED, 200),
        (ChannelState.STARTING, 503),
        (ChannelState.FAILED, 503),
    ],
)
async def test_readiness_follows_the_parts(state: ChannelState, status: int) -> None:
    async with serving(ANY_PORT, Parts({"store": READY, "telegram:main": PartHealth(state, "why")})) as url:
        got, body = await get(f"{url}/readyz")
    assert status == got
    assert '"detail": "why"' in body


async def test_nothing_known_yet_is_not_ready() -> None:
    async with serving(ANY_PORT, Parts()) as url:
        assert 503 == (await get(f"{url}/readyz"))[0]


async def test_with_a_key_details_need_it() -> None:
    config = HttpConfig(listen="127.0.0.1:0", api_key=SecretStr(KEY))
    async with serving(config, Parts({"store": PartHealth(ChannelState.FAILED, "disk full")})) as url:
        assert (200, '{"status": "alive"}') == await get(f"{url}/healthz")
        assert (503, '{"status": "not ready"}') == await get(f"{url}/readyz", Authorization="Bearer wrong")
        assert 401 == (await get(f"{url}/metrics"))[0]
        assert 401 == (await get(f"{url}/metrics", Authorization="Bearer ключ"))[0]
        assert 200 == (await get(f"{url}/metrics", Authorization=f"bearer {KEY}"))[0]
        assert "disk full" in (await get(f"{url}/healthz", Authorization=f"Bearer {KEY}"))[1]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "[::bad", "user@x"])
async def test_a_foreign_host_header_is_refused(host: str) -> None:
    """Cover A20."""
    async with serving(ANY_PORT, Parts()) as url:
        assert 403 == (await get(f"{url}/healthz", Host=host))[0]


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8080", "bot.internal", "bot.example.com"]
)
async def test_our_own_names_are_served(host: str) -> None:
    config = HttpConfig(listen="127.0.0.1:0", allowed_hosts=("Bot.internal",), public_url="https://BOT.example.com/")
    async with serving(config, Parts()) as url:
        assert 200 == (await get(f"{url}/healthz", Host=host))[0]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("http://bot.example.com", "is not https"),
        ("https://bot.example.com/tenk", "it has a path"),
        ("https://bot.example.com?x=1", "it has a path"),
        ("https://me:pw@bot.example.com", "write the whole URL of the server"),
        ("https://bot.example.com:http", "is not a URL"),
        ("https://[::1", "is not a URL"),
        ("https://bot example.com", "write the whole URL of the server"),
        ("bot.example.com", "write the whole URL of the server"),
        ("javascript:alert(1)", "write the whole URL of the server"),
        ("", "write the whole URL of the server"),
    ],
)
def test_a_public_address_that_links_cannot_begin_with_is_refused(given: str, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        HttpConfig(public_url=given)


@pytest.mark.parametrize(
    ("given", "root"),
    [
        ("https://Bot.Example.com/", "https://bot.example.com"),
        (" https://bot.example.com:8443 ", "https://bot.example.com:8443"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
    ],
)
def test_links_begin_with_the_public_address(given: str, root: str) -> None:
    server = HttpServer(HttpConfig(public_url=given), Parts(), Mounts(Loaded()))
    assert (f"{root}/", "http://127.0.0.1:8080/") == (server.public_url, server.url)
    assert "http://127.0.0.1:8080/" == HttpServer(HttpConfig(), Parts(), Mounts(Loaded())).public_url


async def test_a_port_in_use_is_named_with_its_variable() -> None:
    async with serving(ANY_PORT, Parts()) as url:
        port = int(url.rpartition(":")[2])
        with pytest.raises(GatewayError, match=rf"port {port} on 127\.0\.0\.1 is in use.*TENK_HTTP"):
            await HttpServer(HttpConfig(listen=f"127.0.0.1:{port}"), Parts(), Mounts(Loaded())).run()


@pytest.mark.parametrize("listen", ["0.0.0.0:8080", "[::]:8080", "10.0.0.1:80", "gateway.example:80"])
def test_off_loopback_without_a_key_is_refused(listen: str) -> None:
    """Cover A18."""
    with pytest.raises(ValidationError, match=r"can be reached from other machines.*http\.api_key"):
        HttpConfig(listen=listen)
    assert listen == HttpConfig(listen=listen, api_key=SecretStr(KEY)).listen


@pytest.mark.parametrize("listen", ["8080", "127.0.0.1", "127.0.0.1:99999", "a b:1", "127.0.0.1:", ":80"])
def test_an_address_that_is_none_is_refused(listen: str) -> None:
    with pytest.raises(ValidationError):
        HttpConfig(listen=listen)


@pytest.mark.parametrize("listen", ["127.0.0.1:1", "localhost:0", "[::1]:65535", "127.9.9.9:80"])
def test_loopback_needs_no_key(listen: str) -> None:
    assert HttpConfig(listen=listen).api_key is None
