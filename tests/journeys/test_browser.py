"""The chat page in a real Chromium: `make browser`. It prints where it keeps its screenshots."""

import re
import signal
from pathlib import Path

from channels.base import Reaction
from channels.markdown.parse import parse
from channels.messages import (
    AttachmentKind,
    Button,
    ButtonPressed,
    ButtonStyle,
    InboundMessage,
    OutboundMedia,
    Rendered,
)
from tests.fakes.browser import Page
from tests.fakes.web import FakeRecords
from tests.journeys.browsing import (
    ANSWER,
    BOT,
    IN_CHROMIUM,
    LAST,
    ONLINE,
    PNG,
    GatewayProcess,
    alone,
    chat_of,
    let_in,
    part,
)

pytestmark = IN_CHROMIUM


async def test_person_is_let_in_logs_asks_and_sees_answers_grow(page: Page, gateway: GatewayProcess, pictures: Path):
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
    await page.value("document.getElementById('text').select()")
    await page.type("/skill")
    await page.until("document.querySelector('#menu [aria-selected=true]')?.dataset.name === 'skill'")
    await page.value("document.getElementById('text').select()")
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


async def test_everything_a_message_can_be_is_shown(page: Page, pictures: Path):
    records = FakeRecords()
    async with alone(records) as (channel, sink, url):
        address = await chat_of(page, sink, url)
        said = sink.events[-1].message_id
        await channel.react(address, said, Reaction.WORKING)
        render = channel.renderer.render
        await channel.send(part(address.chat, render(parse(ANSWER)), "k1"))
        await channel.send(part(address.chat, render(parse("<img src=x onerror=document.title='owned'>")), "k2"))
        buttons = (
            Button("Approve", "approve:7", ButtonStyle.PRIMARY),
            Button("Deny", "deny:7"),
            Button("Block", "block:7", ButtonStyle.DANGER),
        )
        asked = await channel.send(part(address.chat, Rendered("Ada asks to be let in."), "k3", buttons=buttons))
        files = (
            OutboundMedia(AttachmentKind.PHOTO, "chart.png", "image/png", PNG),
            OutboundMedia(AttachmentKind.DOCUMENT, "practice.csv", "text/csv", b"day,minutes\n"),
        )
        records.keep(part(address.chat, Rendered("Your data:"), "k4", media=files))
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
        assert await page.value("document.querySelector('.me .reaction').textContent")
        assert "TenK Coach" == await page.value("document.title")
        assert await page.value("document.documentElement.scrollHeight <= innerHeight")
        assert 1 == await page.value("document.querySelector('.picture img').naturalWidth")
        await page.value("document.querySelector('.presses .primary').click()")
        await sink.until(lambda: isinstance(sink.events[-1], ButtonPressed))
        assert (asked.platform_id, "approve:7") == (sink.events[-1].message_id, sink.events[-1].data)
        await channel.close_buttons(address, asked.platform_id)
        await page.until("document.querySelectorAll('.presses button').length === 0")
        tree = (await page.call("Accessibility.getFullAXTree"))["nodes"]
        no_names = [
            node
            for node in tree
            if node.get("role", {}).get("value") in {"button", "textbox", "link", "image", "listbox"}
            and not node.get("name", {}).get("value")
            and not node.get("ignored")
        ]
        assert [] == no_names
        assert [] == page.complaints


async def test_page_works_where_websockets_are_blocked(page: Page):
    closed = "this.onclose?.(new CloseEvent('close', {code: 1006}))"
    blocked = f"window.WebSocket = class {{ static OPEN = 1; constructor() {{ setTimeout(() => {closed}, 0); }} }}"
    await page.call("Page.addScriptToEvaluateOnNewDocument", source=blocked)
    async with alone() as (channel, sink, url):
        address = await chat_of(page, sink, url)
        await channel.send(part(address.chat, Rendered("over events"), "k1"))
        await page.until(f"{LAST} === 'over events'")
        await page.until("document.querySelector('.me .way').textContent === '✓'")


async def test_second_tab_shows_the_conversation(page: Page):
    records = FakeRecords()
    async with alone(records) as (channel, sink, url):
        address = await chat_of(page, sink, url)
        await channel.send(part(address.chat, Rendered("one"), "k1"))
        await channel.send(part(address.chat, Rendered("two"), "k2"))
        records.keep(*(event for event in sink.events if isinstance(event, InboundMessage)))
        records.keep(*(part(address.chat, Rendered(words), key) for words, key in (("one", "k1"), ("two", "k2"))))
        await page.value("sessionStorage.clear(); window.onpagehide = null; 1")
        await page.go("about:blank")
        await page.go(url)
        await page.until(f'JSON.stringify({BOT}) === \'["one","two"]\'')
        texts = await page.value("document.getElementById('log').innerText")
        assert re.search(r"hello.*one.*two", texts, re.DOTALL)


async def test_reload_in_the_middle_of_an_answer_and_of_a_sentence(page: Page):
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
    async with alone() as (channel, sink, url):
        address = await chat_of(page, sink, url)
        await channel.send(part(address.chat, channel.renderer.render(parse(ANSWER)), "k1"))
        buttons = (Button("Approve", "approve:7", ButtonStyle.PRIMARY),)
        await channel.send(part(address.chat, Rendered("Let them in?"), "k2", buttons=buttons))
        await page.value("document.activeElement.blur()")
        reached = []
        what = "((one) => one.id || one.title || one.className || one.tagName)(document.activeElement)"
        for _ in range(16):
            await page.press("Tab")
            reached.append(await page.value(what))
        expected = [
            "new",
            "past",
            "device",
            "scroller",
            "Copy",
            "Edit",
            "A",
            "wide",
            "Copy code",
            "PRE",
            "Copy",
            "primary",
        ]
        assert [*expected, "Copy", "Try again", "attach"] == [one for one in reached if one != "BODY"][:15]
        who = await page.value("[...document.querySelectorAll('.msg > .unseen')].map((one) => one.textContent)")
        assert ["You:", "TenK Coach:", "TenK Coach:"] == who


async def test_too_many_messages_wait_and_say_so(page: Page):
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
    async with alone() as (channel, sink, url):
        await chat_of(page, sink, url)
        await page.call("Network.clearBrowserCookies")
        await channel.aclose()
        await page.until("document.getElementById('state').textContent.startsWith('Reload')")
        await page.call("Page.reload")
        await page.until(ONLINE)
