"""The chat page as a person meets it, in a real Chromium: `make browser`. Says where it keeps its pictures."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientError, ClientSession

from channels.base import Sign
from channels.markdown.parse import parse
from channels.messages import (
    Address,
    AttachmentKind,
    Button,
    ButtonPressed,
    ButtonStyle,
    InboundMessage,
    OutboundMedia,
    OutboundPart,
    Rendered,
)
from channels.web.adapter import WebChannel
from channels.web.config import WebAccount
from gateway.texts import HARNESS
from tests.fakes.browser import Page, browser, chromium
from tests.fakes.http import Loaded, served
from tests.fakes.sink import RecordingSink

pytestmark = [
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
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        (home / "mine.toml").write_text("[model]\nwords_per_s = 25.0\n")
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self._environment = kept | {
            "PYTHONPATH": str(ROOT), "TENK_HOME": str(home / "var"), "TENK_HTTP": f"127.0.0.1:{self.port}",
        }  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The page."""
        return f"http://127.0.0.1:{self.port}/"

    def tenk(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Another command on the same home."""
        return subprocess.run(
            [sys.executable, "-m", "gateway", *arguments],
            cwd=self.home, env=self._environment, capture_output=True, text=True, check=True, timeout=50,
        )  # fmt: skip

    def start(self) -> None:
        """Start it; the page waits until it is there."""
        with (self.home / "gateway.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gateway", "run", "--config", "mine.toml"],
                cwd=self.home, env=self._environment, stdout=log, stderr=log,
            )  # fmt: skip

    def end(self, signum: int = signal.SIGTERM) -> None:
        """End it so."""
        if self._process is not None:
            self._process.send_signal(signum)
            self._process.wait(30)
            self._process = None


async def _serves(http: ClientSession, url: str) -> bool:
    """Whether the page is there; before, it says 503 and asks again, which a browser complains of."""
    try:
        async with http.get(url) as answer:
            return answer.status == 200
    except ClientError:
        return False


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[GatewayProcess]:
    """A gateway with nothing configured but how fast its offline coach speaks."""
    made = GatewayProcess(tmp_path)
    made.start()
    async with asyncio.timeout(60), ClientSession() as http:
        while not await _serves(http, made.url):
            await asyncio.sleep(0.05)
    yield made
    made.end()


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[Page]:
    """A browser that nobody has used."""
    async with browser(tmp_path / "profile") as tab:
        await tab.look(1200, 800)
        yield tab


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Where this test keeps what it saw."""
    directory = tmp_path / "pictures"
    directory.mkdir()
    sys.stdout.write(f"\npictures: {directory}\n")
    return directory


async def let_in(page: Page, gateway: GatewayProcess) -> None:
    """Say hello, get a code, have it approved."""
    await page.go(gateway.url)
    await page.until(ONLINE)
    await page.say("hello there")
    code = await page.until("document.querySelector('.bot code.alone')?.textContent")
    await asyncio.to_thread(gateway.tenk, "pairing", "approve", code)
    await page.until("document.body.textContent.includes('You are in')")
    await page.until(f"{LAST}.includes('offline coach')")  # the answer to what they had said


async def test_person_is_let_in_logs_asks_and_sees_answers_grow(page: Page, gateway: GatewayProcess, pictures: Path):
    """From the first visit to a plan for the week; the page never complains, and fits a phone."""
    await page.go(gateway.url)
    await page.until(ONLINE)
    await page.picture(pictures / "1-empty.png")
    await let_in(page, gateway)
    await page.picture(pictures / "2-let-in.png")
    await page.say("/log 45m guitar scales")
    await page.until(f"{LAST}.includes('45 min')")
    await page.value("document.getElementById('text').focus()")
    await page.type("/st")
    await page.until("document.querySelectorAll('#menu li').length === 3")
    await page.press("ArrowDown")
    await page.picture(pictures / "3-menu.png")
    await page.press("ArrowUp")
    await page.press("Enter")
    assert "/stats " == await page.value("document.getElementById('text').value")
    await page.press("Enter")
    await page.until(f"{LAST}.includes('Your journey')")
    before = await page.value(f"{BOT}.length")
    await page.say("plan my week")
    await page.until(f"{BOT}.length > {before} && {LAST}.endsWith('…') && {LAST}.length > 40")
    await page.picture(pictures / "4-live.png")
    grown = await page.value(f"{LAST}.length")
    await page.until(f"{LAST}.includes('Goal') && !{LAST}.endsWith('…')")
    assert grown < await page.value(f"{LAST}.length")
    await page.picture(pictures / "5-plan.png")
    await page.look(390, 844, phone=True, dark=True)
    await page.picture(pictures / "6-phone-dark.png")
    assert await page.value("document.documentElement.scrollWidth <= innerWidth")
    assert [] == page.complaints


async def test_nothing_is_lost_or_doubled_over_a_kill(page: Page, gateway: GatewayProcess, pictures: Path):
    """Killed in the middle of an answer: the page says so, keeps what is written meanwhile, and goes on by itself."""
    await let_in(page, gateway)
    await page.say("/log 45m guitar")
    await page.until(f"{LAST}.includes('45 min')")
    await page.say("plan my week")
    await page.until(f"{LAST}.length > 40 && {LAST}.endsWith('…')")
    gateway.end(signal.SIGKILL)
    await page.until(f"!({ONLINE})")
    await page.say("/log 30m piano")
    assert "◌" == await page.value("[...document.querySelectorAll('.me .way')].at(-1).textContent")
    await page.picture(pictures / "1-offline.png")
    gateway.start()
    await page.until(ONLINE, 30)
    await page.until(f"{BOT}.some((one) => one.includes('30 min') && one.includes('piano'))", 30)
    await page.until(f"{BOT}.some((one) => one.includes('Goal') && !one.endsWith('…'))", 30)
    assert "✓" == await page.value("[...document.querySelectorAll('.me .way')].at(-1).textContent")
    said = await page.value(f"{BOT}.filter((one) => one.includes('piano') && one.includes('Logged')).length")
    plans = await page.value(f"{BOT}.filter((one) => one.includes('Goal')).length")
    assert (1, 1) == (said, plans)
    await page.picture(pictures / "2-after.png")
    count = await page.value("document.querySelectorAll('.msg').length")
    await page.go(gateway.url)
    await page.until(ONLINE)
    assert count == await page.value("document.querySelectorAll('.msg').length")


@asynccontextmanager
async def alone(**more: object) -> AsyncIterator[tuple[WebChannel, RecordingSink, str]]:
    """The channel without a gateway behind it: this test says what it shows; `more` goes into its configuration."""
    config = WebAccount.model_validate({"title": "TenK Coach"} | more)
    channel, sink = WebChannel(config, texts=HARNESS), RecordingSink()
    async with served(Loaded([channel])) as url, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(channel.run(sink))
        yield channel, sink, url
        await channel.aclose()
        running.cancel()


def part(chat: str, rendered: Rendered, key: str, **more: object) -> OutboundPart:
    """Something to show."""
    return OutboundPart(address=Address("web", "main", chat), rendered=rendered, idem_key=key, **more)


async def chat_of(page: Page, sink: RecordingSink, url: str) -> Address:
    """Open the page and say hello; where to answer."""
    await page.go(url)
    await page.until(ONLINE)
    await page.say("hello")
    await sink.until(lambda: any(isinstance(event, InboundMessage) for event in sink.events))
    return sink.events[-1].address


async def test_everything_a_message_can_be_is_shown(page: Page, pictures: Path):
    """Markdown, buttons, files, signs, and a stranger's HTML as text; controls have names."""
    async with alone() as (channel, sink, url):
        address = await chat_of(page, sink, url)
        said = sink.events[-1].message_id
        await channel.react(address, said, Sign.WORKING)
        render = channel.renderer.render
        await channel.send(part(address.chat, render(parse(ANSWER)), "k1"))
        await channel.send(part(address.chat, render(parse("<img src=x onerror=document.title='owned'>")), "k2"))
        buttons = (
            Button("Approve", "approve:7", ButtonStyle.PRIMARY), Button("Deny", "deny:7"),
            Button("Block", "block:7", ButtonStyle.DANGER),
        )  # fmt: skip
        asked = await channel.send(part(address.chat, Rendered("Ada asks to be let in."), "k3", buttons=buttons))
        files = (
            OutboundMedia(AttachmentKind.PHOTO, "chart.png", "image/png", PNG),
            OutboundMedia(AttachmentKind.DOCUMENT, "practice.csv", "text/csv", b"day,minutes\n"),
        )
        await channel.send(part(address.chat, Rendered("Your data:"), "k4", media=files))
        await channel.show_typing(address)
        await page.until("!document.getElementById('typing').hidden")
        await page.picture(pictures / "1-end.png")
        await page.value("document.getElementById('scroller').scrollTop = 0")
        await page.picture(pictures / "2-begin.png")
        await page.look(390, 844, phone=True)
        await page.value("document.getElementById('scroller').scrollTop = 0")
        await page.picture(pictures / "3-phone.png")
        assert await page.value("document.documentElement.scrollWidth <= innerWidth")
        assert await page.value("document.querySelector('.me .sign').textContent")
        assert "TenK Coach" == await page.value("document.title")
        assert await page.value("document.documentElement.scrollHeight <= innerHeight")
        assert 1 == await page.value("document.querySelector('.picture img').naturalWidth")
        await page.value("document.querySelector('.presses .primary').click()")
        await sink.until(lambda: isinstance(sink.events[-1], ButtonPressed))
        assert (asked.platform_id, "approve:7") == (sink.events[-1].message_id, sink.events[-1].data)
        await channel.close_buttons(address, asked.platform_id)
        await page.until("document.querySelectorAll('.presses button').length === 0")
        tree = (await page.call("Accessibility.getFullAXTree"))["nodes"]
        nameless = [
            node for node in tree
            if node.get("role", {}).get("value") in {"button", "textbox", "link", "image", "listbox"}
            and not node.get("name", {}).get("value") and not node.get("ignored")
        ]  # fmt: skip
        assert [] == nameless
        assert [] == page.complaints


async def test_page_works_where_websockets_are_blocked(page: Page):
    """A proxy that lets none through: the page goes on with server-sent events and POST."""
    closed = "this.onclose?.(new CloseEvent('close', {code: 1006}))"
    blocked = f"window.WebSocket = class {{ static OPEN = 1; constructor() {{ setTimeout(() => {closed}, 0); }} }}"
    await page.call("Page.addScriptToEvaluateOnNewDocument", source=blocked)
    async with alone() as (channel, sink, url):
        address = await chat_of(page, sink, url)
        await channel.send(part(address.chat, Rendered("over events"), "k1"))
        await page.until(f"{LAST} === 'over events'")
        await page.until("document.querySelector('.me .way').textContent === '✓'")


async def test_second_tab_shows_the_conversation(page: Page):
    """What this tab never saw comes from the channel's memory, in its order."""
    async with alone() as (channel, sink, url):
        address = await chat_of(page, sink, url)
        await channel.send(part(address.chat, Rendered("one"), "k1"))
        await channel.send(part(address.chat, Rendered("two"), "k2"))
        await page.value("sessionStorage.clear(); window.onpagehide = null; 1")
        await page.go("about:blank")
        await page.go(url)
        await page.until(f'JSON.stringify({BOT}) === \'["one","two"]\'')
        texts = await page.value("document.getElementById('log').innerText")
        assert re.search(r"hello.*one.*two", texts, re.DOTALL)


async def test_reload_in_the_middle_of_an_answer_and_of_a_sentence(page: Page):
    """The answer goes on where it stood and is there once; what was being written is still in the box."""
    async with alone() as (channel, sink, url):
        address = await chat_of(page, sink, url)
        shown = await channel.send(part(address.chat, channel.renderer.plain("…"), "k1"))
        await channel.edit(part(address.chat, Rendered("You pract …"), ""), shown.platform_id)
        await page.type("half a sentence")
        await page.call("Page.reload")
        await page.until(f"{ONLINE} && {LAST} === 'You pract …'")
        assert "half a sentence" == await page.value("document.getElementById('text').value")
        assert "text" == await page.value("document.activeElement.id")
        await channel.edit(part(address.chat, Rendered("You practised 3 h …"), ""), shown.platform_id)
        await page.until(f"{LAST} === 'You practised 3 h …'")
        assert "true" == await page.value("document.querySelector('.bot .bubble').ariaBusy")
        await channel.edit(part(address.chat, Rendered("You practised 3 h."), "k1"), shown.platform_id)
        await page.until(f"JSON.stringify({BOT}) === '[\"You practised 3 h.\"]'")
        assert "false" == await page.value("document.querySelector('.bot .bubble').ariaBusy")
        assert [] == page.complaints


async def test_everything_is_reached_by_keyboard_and_said_by_name(page: Page):
    """Tab goes through messages, code and buttons; a reader of the log hears who spoke."""
    async with alone() as (channel, sink, url):
        address = await chat_of(page, sink, url)
        await channel.send(part(address.chat, channel.renderer.render(parse(ANSWER)), "k1"))
        buttons = (Button("Approve", "approve:7", ButtonStyle.PRIMARY),)
        await channel.send(part(address.chat, Rendered("Let them in?"), "k2", buttons=buttons))
        await page.value("document.activeElement.blur()")
        reached = []
        for _ in range(7):
            await page.press("Tab")
            reached.append(await page.value("document.activeElement.id || document.activeElement.tagName"))
        assert ["scroller", "A", "PRE", "BUTTON", "slash", "text"] == [
            one for one in reached if one not in {"TABLE", "BODY"}
        ][:6]
        who = await page.value("[...document.querySelectorAll('.msg > .unseen')].map((one) => one.textContent)")
        assert ["You:", "TenK Coach:", "TenK Coach:"] == who


async def test_too_many_messages_wait_and_say_so(page: Page):
    """What is over the bound stays marked as waiting, the page says until when, and it follows in its order."""
    async with alone(messages_per_min=20) as (_, sink, url):
        await page.go(url)
        await page.until(ONLINE)
        await page.value("document.getElementById('text').focus()")
        for number in range(22):
            await page.say(f"m{number}")
        await page.until("document.getElementById('state').textContent.startsWith('Too many')")
        assert "◌" == await page.value("[...document.querySelectorAll('.me .way')].at(-1).textContent")
        await page.until("[...document.querySelectorAll('.me .way')].every((one) => one.textContent === '✓')", 20)
        assert [f"m{number}" for number in range(22)] == [event.text for event in sink.events]
        assert [] == page.complaints


async def test_page_without_its_cookie_says_what_to_do(page: Page):
    """Somebody cleared it while the page was open: it cannot go on as another person, and does not pretend to."""
    async with alone() as (channel, sink, url):
        await chat_of(page, sink, url)
        await page.call("Network.clearBrowserCookies")
        await channel.aclose()
        await page.until("document.getElementById('state').textContent.startsWith('Reload')")
        await page.call("Page.reload")
        await page.until(ONLINE)
