"""Shared parts of journeys in a real Chromium: a gateway, the web chat alone, and selectors."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientError, ClientSession

from channels.messages import Address, InboundMessage, OutboundPart, Rendered
from channels.web.adapter import WebChannel
from channels.web.config import WebAccount
from gateway.texts import HARNESS
from tests.fakes.browser import Page, chromium
from tests.fakes.http import Loaded, served
from tests.fakes.ports import free_port
from tests.fakes.sink import RecordingSink
from tests.fakes.web import FakeRecords

IN_CHROMIUM = [
    pytest.mark.browser,
    pytest.mark.timeout(240),
    pytest.mark.skipif(chromium() is None, reason="no Chromium is installed (Debian: apt-get install chromium)"),
]

ROOT = Path(__file__).parents[2]
ONLINE = "document.getElementById('state').textContent === 'Online'"
BOT = "[...document.querySelectorAll('.msg.bot .bubble')].map((one) => one.innerText)"
LAST = f"{BOT}.at(-1)"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)

ANSWER = """## This week

You practised **3 h 20 min**, on *five* of seven days. See [the method](https://example.com/).

| day | minutes | what |
|---|---|---|
| Monday | 45 | scales |
| Tuesday | 30 | `C major`, slowly |

1. Warm up
2. One hard passage
   - without errors
   - then faster

> Slow is smooth, smooth is fast.

```python
def next_tempo(bpm: int) -> int:
    return bpm + 4
```"""


class GatewayProcess:
    """`tenk run` on a home and a port of its own; can be killed and started again."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()
        (home / "mine.toml").write_text("[model]\nwords_per_s = 25.0\n")
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self._environment = kept | {
            "PYTHONPATH": str(ROOT),
            "TENK_HOME": str(home / "var"),
            "TENK_HTTP": f"127.0.0.1:{self.port}",
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def tenk(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run another command on the same home."""
        return subprocess.run(
            [sys.executable, "-m", "gateway", *arguments],
            cwd=self.home,
            env=self._environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=50,
        )

    def start(self) -> None:
        """Start it; the page waits until it is there."""
        with (self.home / "gateway.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gateway", "run", "--config", "mine.toml"],
                cwd=self.home,
                env=self._environment,
                stdout=log,
                stderr=log,
            )

    def end(self, signum: int = signal.SIGTERM) -> None:
        """End it so."""
        if self._process is not None:
            self._process.send_signal(signum)
            self._process.wait(30)
            self._process = None


async def _serves(http: ClientSession, url: str) -> bool:
    try:
        async with http.get(url) as answer:
            return answer.status == 200
    except ClientError:
        return False


async def wait_for(gateway: GatewayProcess) -> None:
    """Return when the page is there."""
    async with asyncio.timeout(60), ClientSession() as http:
        while not await _serves(http, gateway.url):
            await asyncio.sleep(0.05)


@asynccontextmanager
async def a_gateway(home: Path) -> AsyncIterator[GatewayProcess]:
    """Run a gateway whose only setting is how fast its offline coach speaks."""
    made = GatewayProcess(home)
    made.start()
    await wait_for(made)
    yield made
    made.end()


async def let_in(page: Page, gateway: GatewayProcess) -> None:
    """Say hello, get a code, have it approved."""
    await page.go(gateway.url)
    await page.until(ONLINE)
    await page.say("hello there")
    code = await page.until("document.querySelector('.bot code.alone')?.textContent")
    await asyncio.to_thread(gateway.tenk, "pairing", "approve", code)
    await page.until("document.body.textContent.includes('You are in')")
    await page.until(f"{LAST}.includes('offline coach')")  # the answer to what they had said


@asynccontextmanager
async def alone(
    records: FakeRecords | None = None, **more: object
) -> AsyncIterator[tuple[WebChannel, RecordingSink, str]]:
    """Run the channel without a gateway: the test decides what it shows. `more` goes into its configuration."""
    config = WebAccount.model_validate({"title": "TenK Coach"} | more)
    channel, sink = WebChannel(config, texts=HARNESS, records=records or FakeRecords()), RecordingSink()
    async with served(Loaded([channel])) as url, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(channel.run(sink))
        yield channel, sink, url
        await channel.aclose()
        running.cancel()


def part(chat: str, rendered: Rendered, key: str, **more: object) -> OutboundPart:
    return OutboundPart(address=Address("web", "main", chat), rendered=rendered, idem_key=key, **more)


async def chat_of(page: Page, sink: RecordingSink, url: str) -> Address:
    """Open the page and say hello; where to answer."""
    await page.go(url)
    await page.until(ONLINE)
    await page.say("hello")
    await sink.until(lambda: any(isinstance(event, InboundMessage) for event in sink.events))
    return sink.events[-1].address
