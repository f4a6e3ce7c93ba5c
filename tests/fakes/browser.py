"""A real headless Chromium, driven over its DevTools protocol."""

import asyncio
import base64
import itertools
import json
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import aiohttp

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """Return the path of a Chromium on this machine, or None."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Page:
    """One tab."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.complaints: list[str] = []  # what the console and the page's security policy said

    async def hear(self) -> None:
        """Take what the browser says until it is closed."""
        async for message in self._socket:
            said = json.loads(message.data)
            if "id" in said:
                self._answers.pop(said["id"]).set_result(said)
            elif said["method"] == "Log.entryAdded" and said["params"]["entry"]["level"] == "error":
                self.complaints.append(said["params"]["entry"]["text"])
            elif said["method"] == "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(said["params"]["exceptionDetails"]))

    async def call(self, method: str, **params: object) -> dict[str, Any]:
        """Call one method of the DevTools protocol."""
        number = next(self._ids)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": params})
        said = await asyncio.wait_for(answer, 45)
        if "error" in said:
            raise AssertionError(f"{method}: {said['error']}")
        result: dict[str, Any] = said["result"]
        return result

    async def look(self, width: int, height: int, *, dark: bool = False, phone: bool = False) -> None:
        """Take this size and these colours."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        await self.call("Emulation.setTouchEmulationEnabled", enabled=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])

    async def go(self, url: str) -> None:
        """Open an address."""
        await self.call("Page.navigate", url=url)

    async def value(self, script: str) -> Any:
        """Return the value of an expression in the page; wait for promises."""
        done = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise AssertionError(f"{script}: {done['exceptionDetails']}")
        return done["result"].get("value")

    async def until(self, script: str, seconds: float = 45) -> Any:
        """Wait until an expression is true; its value."""
        try:
            async with asyncio.timeout(seconds):
                while not (value := await self._tried(script)):
                    await asyncio.sleep(0.05)
        except TimeoutError:
            text = await self.value("document.body.innerText")
            raise AssertionError(f"never true: {script}\ncomplaints: {self.complaints}\n{text}") from None
        return value

    async def _tried(self, script: str) -> Any:
        done = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        return None if "exceptionDetails" in done else done["result"].get("value")

    async def type(self, text: str) -> None:
        """Put text where the cursor is."""
        await self.call("Input.insertText", text=text)

    async def press(self, key: str, *, shift: bool = False) -> None:
        """Press a named key."""
        code = {"Enter": 13, "ArrowDown": 40, "ArrowUp": 38, "Escape": 27, "Tab": 9}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        named = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **named, **text)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    async def say(self, text: str) -> None:
        """Write a message and send it."""
        await self.value("document.getElementById('text').focus()")
        await self.type(text)
        await self.value("document.getElementById('form').requestSubmit()")

    async def barriers(self) -> list[str]:
        """Return the serious and critical findings of axe in the page: rule and elements."""
        if not await self.value("typeof axe !== 'undefined'"):
            await self.value((files("axe_core_python") / "axe.min.js").read_text("utf-8") + ";0")
        found = await self.value(
            "axe.run({ resultTypes: ['violations'] }).then((run) => JSON.stringify(run.violations))"
        )
        return [
            f"{one['id']} ({one['impact']}): "
            + "; ".join(f"{node['html'][:160]} {node['failureSummary']}" for node in one["nodes"])
            for one in json.loads(found)
            if one["impact"] in {"serious", "critical"}
        ]

    async def offline(self, is_off: bool = True) -> None:
        """Cut the browser's network, or give it back."""
        await self.call(
            "Network.emulateNetworkConditions", offline=is_off, latency=0, downloadThroughput=-1, uploadThroughput=-1
        )

    async def picture(self, path: Path) -> None:
        """Keep what is seen as a PNG."""
        taken = await self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(taken["data"]))


@asynccontextmanager
async def browser(profile: Path) -> AsyncIterator[Page]:
    """Open a tab in a Chromium of its own and close both afterwards."""
    path = chromium()
    assert path is not None, "no Chromium is installed"
    process = await asyncio.create_subprocess_exec(
        path,
        "--headless=new",
        "--remote-debugging-port=0",
        f"--user-data-dir={profile}",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--lang=en-US",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(60):
            port = await _port(process.stderr)
        async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as tasks:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as listed:
                tabs = [tab for tab in await listed.json() if tab["type"] == "page"]
            async with session.ws_connect(tabs[0]["webSocketDebuggerUrl"], max_msg_size=64 * 2**20) as socket:
                page = Page(socket)
                hearing = tasks.create_task(page.hear())
                draining = tasks.create_task(_drain(process.stderr))
                for domain in ("Page", "Runtime", "Log", "Network"):
                    await page.call(f"{domain}.enable")
                yield page
                hearing.cancel()
                draining.cancel()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _port(stderr: asyncio.StreamReader) -> int:
    while line := await stderr.readline():
        if found := re.search(rb"DevTools listening on ws://127\.0\.0\.1:(\d+)/", line):
            return int(found[1])
    raise AssertionError("Chromium ended before it listened")


async def _drain(stderr: asyncio.StreamReader) -> None:
    while await stderr.readline():
        pass
