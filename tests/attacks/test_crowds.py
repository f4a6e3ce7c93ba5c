"""Idle connections and a thousand pages of one address: other people still reach the gateway by every way."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from channels.simulators.telegram.server import TelegramSimulator
from gateway.operators.client import call
from tests.fakes.ports import free_port
from tests.fakes.views import FakePage

pytestmark = [pytest.mark.gate, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]
TOKEN = "4711:CROWD-made-up-token"
IDLE, PAGES = 200, 1000
CROWD, VISITOR = {"X-Forwarded-For": "203.0.113.7"}, {"X-Forwarded-For": "203.0.113.8"}
CONFIG = """
[http]
trusted_proxies = ["127.0.0.1"]
[channels.telegram.main]
mode = "webhook"
webhook_url = "https://bot.example.com"
"""
SECRETS = """
[http]
api_key = "0123456789abcdef"
[channels.telegram.main]
webhook_secret = "a-made-up-secret"
"""


@asynccontextmanager
async def running(directory: Path) -> AsyncIterator[tuple[str, Path]]:
    config, home, port = directory / "mine.toml", directory / "var", free_port()
    config.write_text(CONFIG)
    (directory / "secrets.toml").touch(0o600)
    (directory / "secrets.toml").write_text(SECRETS)
    async with TelegramSimulator.with_bot(token=TOKEN) as telegram:
        ours = {"PYTHONPATH": str(ROOT), "TENK_HOME": str(home), "TENK_HTTP": f"127.0.0.1:{port}"}
        environ = os.environ | ours | telegram.environment()
        with (directory / "log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *[sys.executable, "-m", "gateway", "run", "--config", str(config)],
                cwd=directory,
                stdout=log,
                stderr=log,
                env=environ,
            )
        try:
            url = f"http://127.0.0.1:{port}/"
            async with asyncio.timeout(60), aiohttp.ClientSession() as http:
                while await status(http, "GET", f"{url}readyz") != 200:
                    assert process.returncode is None, (directory / "log").read_text()
                    await asyncio.sleep(0.05)
            yield url, home / "control.sock"
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()


async def status(http: aiohttp.ClientSession, method: str, url: str, **more: object) -> int:
    """Return the status of an answer, 0 if there is none."""
    try:
        async with http.request(method, url, **more) as answer:  # type: ignore[arg-type]  what each call gives
            return answer.status
    except aiohttp.ClientError:
        return 0


async def open_page(held: contextlib.AsyncExitStack, url: str) -> None:
    """Open a page of the crowd, and keep it if the gateway does."""
    http = await held.enter_async_context(aiohttp.ClientSession(headers=CROWD))
    if await status(http, "POST", f"{url}web/session") == 200:
        with contextlib.suppress(aiohttp.ClientError):
            await held.enter_async_context(http.ws_connect(f"{url}web/ws"))


async def test_a_crowd_of_one_address_shuts_out_no_other_address(tmp_path: Path) -> None:
    async with running(tmp_path) as (url, socket), contextlib.AsyncExitStack() as held:
        made = await call(socket, "POST /v1/keys", {"name": "a test"})
        assert isinstance(made, dict)
        for _ in range(IDLE):
            _reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rstrip("/").rpartition(":")[2]))
            held.callback(writer.close)
        for _ in range(PAGES // 50):
            async with asyncio.TaskGroup() as tasks:
                for _ in range(50):
                    tasks.create_task(open_page(held, url))
        http = await held.enter_async_context(aiohttp.ClientSession(headers=VISITOR))
        key = {"Authorization": f"Bearer {made['key']}"}
        operator = {"Authorization": "Bearer 0123456789abcdef"}
        secret = {"X-Telegram-Bot-Api-Secret-Token": "a-made-up-secret"}
        webhook, update = f"{url}webhooks/telegram/main", {"update_id": 1}
        assert {
            "health": 200,
            "metrics": 200,
            "webhook": 200,
            "a webhook without its secret": 401,
            "/v1": 200,
        } == {
            "health": await status(http, "GET", f"{url}healthz"),
            "metrics": await status(http, "GET", f"{url}metrics", headers=operator),
            "webhook": await status(http, "POST", webhook, json=update, headers=secret),
            "a webhook without its secret": await status(http, "POST", webhook, json=update),
            "/v1": await status(http, "POST", f"{url}v1/chat", json={"message": "hello"}, headers=key),
        }
        page = FakePage(url)
        page.http.headers.update(VISITOR)
        async with page.http, asyncio.TaskGroup() as tasks:
            visiting = tasks.create_task(page.run())
            await page.until(lambda: bool(page.told("history")))
            visiting.cancel()
