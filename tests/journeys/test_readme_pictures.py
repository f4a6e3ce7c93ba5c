"""The pictures of the README, taken from the running product: `make pictures` renews them in `docs/pictures`."""

import os
from pathlib import Path

import pytest

from tests.fakes.browser import Page
from tests.journeys.browsing import IN_CHROMIUM, LAST, ROOT, GatewayProcess, let_in

pytestmark = IN_CHROMIUM

ENTRIES = {
    "/log 30m guitar scales 2026-11-23; 50m guitar 2026-11-25; 40m piano 2026-11-26": "piano",
    "/log 45m guitar scales": "Logged 45 min",
}
"""A message, and a word of its answer."""

CHATS = {"/log 45m guitar scales": "Logged 45 min", "/log 30m piano": "Logged 30 min", "plan my week": "in a week"}


@pytest.fixture
def album(tmp_path: Path) -> Path:
    return ROOT / "docs" / "pictures" if os.environ.get("PICTURES") == "renew" else tmp_path


async def test_the_web_page(page: Page, gateway: GatewayProcess, album: Path) -> None:
    await page.look(900, 760)
    await let_in(page, gateway)
    for entry, answer in ENTRIES.items():
        await page.say(entry)
        await page.until(f"{LAST}.includes('{answer}')")
    await page.say("half an hour of chess yesterday")
    await page.until(f"{LAST}.includes('chess')")
    await page.say("/stats")
    await page.until(f"{LAST}.includes('Your journey')")
    await page.picture(album / "web.png")
    assert [] == page.complaints


async def test_the_three_chats(page: Page, gateway: GatewayProcess, album: Path) -> None:
    await page.look(1280, 760)
    await page.go(f"{gateway.url}playground")
    lists = "[...document.querySelectorAll('.messages')]"
    await page.until(f"{lists}.filter((list) => list.textContent.includes('offline coach')).length === 3")
    for number, (words, answer) in enumerate(CHATS.items()):
        form = f"document.querySelectorAll('.platform form')[{number}]"
        await page.value(f"{form}.querySelector('.text').value = {words!r}")
        await page.value(f"{form}.requestSubmit()")
        await page.until(f"{lists}[{number}].textContent.includes('{answer}')")
    await page.until("!document.querySelector('.growing')")
    await page.picture(album / "chats.png")
    assert [] == page.complaints
