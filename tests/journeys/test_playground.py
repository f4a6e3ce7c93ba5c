"""The playground without any connected account: three platforms, a cut wire, a killed gateway."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.fakes.browser import browser, chromium

ROOT = Path(__file__).parents[2]
PLATFORMS = ("telegram", "discord", "slack")
WAIT_S = 60.0


class Played:
    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self._http, self.url = http, url
        self.state: dict[str, Any] = {}

    async def act(self, do: str, expected: int = 204, **fields: object) -> str:
        """Do something; what the server says to it."""
        async with self._http.post(f"{self.url}/act", json={"do": do, **fields}) as answer:
            said = await answer.text()
            assert expected == answer.status, said
            return said

    async def until(self, condition: Callable[[], bool]) -> None:
        """Look on until something shows."""
        async with asyncio.timeout(WAIT_S), self._http.get(f"{self.url}/events") as events:
            async for line in events.content:
                if line.startswith(b"data: "):
                    self.state = json.loads(line.removeprefix(b"data: "))
                    if condition():
                        return
        raise AssertionError("the playground ended")

    def messages(self, platform: str, view: str) -> list[dict[str, Any]]:
        found = next(shown for shown in self.state["platforms"] if shown["name"] == platform)
        return list(found["views"][view])

    def says(self, platform: str, words: str, view: str = "direct-1") -> int:
        seen = self.messages(platform, view)
        return sum(message["bot"] and words in message["text"] and not message["growing"] for message in seen)


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment = kept | {
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "TENK_HOME": str(tmp_path / "var"),
        "TENK_HTTP": "127.0.0.1:0",
    }
    gateway = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "gateway",
        "run",
        cwd=tmp_path,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert gateway.stdout is not None
    url = ""
    async with asyncio.timeout(WAIT_S):
        while "http_started" not in url:
            url = (await gateway.stdout.readline()).decode()
    yield json.loads(url)["url"]
    gateway.send_signal(signal.SIGTERM)
    async with asyncio.timeout(WAIT_S):
        await gateway.communicate()
        while any(tmp_path.glob("tenk-demo-*")):
            await asyncio.sleep(0.05)


@pytest.mark.gate
@pytest.mark.timeout(240)
async def test_each_platform_is_played_cut_and_killed(address: str) -> None:
    async with aiohttp.ClientSession() as http:
        async with http.get(f"{address}playground", headers={"Sec-Fetch-Site": "cross-site"}) as refused:
            assert 403 == refused.status
        async with http.get(f"{address}playground") as page:
            assert 200 == page.status
            played = Played(http, str(page.url))
        for headers in ({"Host": "rebound.example"}, {"Origin": "http://evil.example"}):
            async with http.post(f"{played.url}/act", json={"do": "kill"}, headers=headers) as refused:
                assert 403 == refused.status
        await played.until(lambda: all(played.says(name, "You are in") for name in PLATFORMS))
        assert "There is nothing to say." == (await played.act("say", 409, text=" ")).strip()
        assert "platform" in await played.act("say", 400, platform="irc", text="hi")
        await let_in_by_button(played)
        await played.act("lose", platform="discord")
        await played.act("say", platform="discord", text="/log 45m guitar")
        await played.act("cut", platform="slack")
        await played.act("say", platform="slack", text="/log 45m guitar")
        await played.until(lambda: played.says("discord", "Logged 45 min") == 1)
        await played.act("mend", platform="slack")
        await played.until(lambda: played.says("slack", "Logged 45 min") == 1)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(played.act("kill"))
            await played.act("say", text="/log 30m chess")
            await played.until(lambda: played.state["gateway"]["state"] == "killed")
            await played.act("start")  # what is shown as killed is gone: it can be started at once
        await played.until(lambda: played.says("telegram", "Logged 30 min") == 1)
        assert [1, 1] == [played.says(name, "Logged 45 min") for name in ("discord", "slack")]
        for platform in PLATFORMS:
            await chart_is_shown(played, http, platform)


async def chart_is_shown(played: Played, http: aiohttp.ClientSession, platform: str) -> None:
    await played.act("say", platform=platform, text="/chart")

    def drawn() -> list[dict[str, Any]]:
        return [message for message in played.messages(platform, "direct-1") if message["files"]]

    await played.until(lambda: bool(drawn()))
    params = {"platform": platform, "message": drawn()[-1]["id"], "n": "0"}
    async with http.get(f"{played.url}/file", params=params) as file:
        assert (200, "image/png") == (file.status, file.content_type), platform
    assert drawn()[-1]["files"][0]["picture"]


async def let_in_by_button(played: Played) -> None:
    await played.act("say", person=2, text="May I use this too?")

    def asked() -> list[dict[str, Any]]:
        return [message for message in played.messages("telegram", "direct-1") if message["buttons"]]

    await played.until(lambda: bool(asked()))
    values = dict(map(tuple, asked()[-1]["buttons"]))
    await played.act("press", 409, message=asked()[-1]["id"], value="not one of them")
    await played.act("press", message=asked()[-1]["id"], value=values["Approve"])
    await played.until(lambda: played.says("telegram", "You are in", "direct-2") == 1)


@pytest.mark.browser
@pytest.mark.timeout(240)
@pytest.mark.skipif(chromium() is None, reason="no Chromium is installed (Debian: apt-get install chromium)")
async def test_the_page_shows_three_platforms_and_fits_a_phone(address: str, tmp_path: Path) -> None:
    async with browser(tmp_path / "profile") as page:
        await page.look(1280, 1000)
        await page.go(f"{address}playground")
        await page.until(
            "[...document.querySelectorAll('.messages')].filter((list) => list.textContent.includes('You are in'))"
            ".length === 3"
        )
        await page.value("document.querySelector('.platform .text').value = '/log 45m guitar'")
        await page.value("document.querySelector('.platform form').requestSubmit()")
        await page.until("document.querySelector('.messages').textContent.includes('Logged 45 min')")
        assert await page.value(
            "[...document.querySelectorAll('.l-bold')].some((span) => span.textContent === '45 min')"
        )
        assert await page.value("document.querySelector('.calls').textContent.includes('sendMessage')")
        await page.value("document.getElementById('kill').click()")
        await page.until("document.getElementById('gateway-state').textContent.startsWith('killed')")
        await page.value("document.getElementById('start').click()")
        await page.until("document.getElementById('gateway-state').textContent.startsWith('running')")
        await page.picture(tmp_path / "playground.png")
        await page.look(390, 844, phone=True, dark=True)
        await page.picture(tmp_path / "playground-phone.png")
        assert await page.value("document.documentElement.scrollWidth <= innerWidth")
        assert [] == page.complaints
