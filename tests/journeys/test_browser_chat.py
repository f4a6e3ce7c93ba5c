"""The chat page in a real Chromium: send, steer, stop, edit, copy, lose the connection."""

import signal
from datetime import date
from pathlib import Path

from agent.coach.chart import ChartWish, chart_of
from agent.coach.chart_picture import plot
from agent.coach.practice import DayTotal, Skill
from channels.base import CommandSpec, Reaction
from channels.markdown.parse import parse
from channels.messages import AttachmentKind, Button, ButtonStyle, InboundMessage, OutboundMedia, Rendered
from tests.fakes.browser import Page
from tests.fakes.web import FakeRecords
from tests.journeys.browsing import (
    ANSWER,
    BOT,
    IN_CHROMIUM,
    LAST,
    ONLINE,
    GatewayProcess,
    alone,
    chat_of,
    let_in,
    part,
    wait_for,
)

pytestmark = IN_CHROMIUM

WIDE = (
    ANSWER
    + """

| day | minutes | skill | what was practised | tempo | how it felt | next time |
|---|---|---|---|---|---|---|
| Monday | 45 | guitar | scales in three keys | 96 bpm | even, a little tense | slower |
"""
)

LINES = "[...document.querySelectorAll('.msg .bubble')].map((one) => one.innerText)"
"""The conversation from top to bottom."""

LEFT_BELOW = "((one) => one.scrollHeight - one.scrollTop - one.clientHeight)(document.getElementById('scroller'))"
"""Pixels below what is in sight."""

SAID = "[...document.querySelectorAll('.msg.me .bubble')].map((one) => one.innerText)"


async def test_enter_sends_on_a_phone_too_and_with_shift_begins_a_line(page: Page):
    async with alone() as (_, sink, url):
        for phone in (False, True):
            await page.look(390, 844, phone=phone)
            await page.go(url)
            await page.until(ONLINE)
            await page.value("document.getElementById('text').focus()")
            await page.type("one")
            await page.press("Enter", shift=True)
            await page.type("two")
            assert "one\ntwo" == await page.value("document.getElementById('text').value")
            await page.press("Enter")
            await page.until(f"{SAID}.at(-1) === 'one\\ntwo'")
            assert "" == await page.value("document.getElementById('text').value")
            assert "send" == await page.value("document.getElementById('text').enterKeyHint")
        # by its id: a page that goes before it reads "taken" offers its message again
        await sink.until(lambda: 2 == len({event.message_id for event in sink.events}))
        assert {"one\ntwo"} == {event.text for event in sink.events}
        assert [] == page.complaints


async def test_answer_that_was_steered_stands_below_what_steered_it(page: Page):
    records = FakeRecords()
    async with alone(records) as (channel, sink, url):
        address = await chat_of(page, sink, url)
        shown = await channel.send(part(address.chat, channel.renderer.plain("…"), "k1"))
        await channel.edit(part(address.chat, Rendered("You pract …"), ""), shown.platform_id)
        await page.say("in hours, please")
        await sink.until(lambda: getattr(sink.events[-1], "text", "") == "in hours, please")
        steering = sink.events[-1].message_id
        await channel.react(address, steering, Reaction.STEERED)
        await channel.edit(part(address.chat, Rendered("You practised 3 h …"), ""), shown.platform_id)
        expected = ["hello", "in hours, please", "You practised 3 h."]
        await channel.edit(part(address.chat, Rendered("You practised 3 h."), "k1"), shown.platform_id)
        await page.until(f"{LAST} === 'You practised 3 h.'")
        assert expected == await page.value(LINES)
        await page.call("Page.reload")
        await page.until(ONLINE)
        assert expected == await page.value(LINES)
        records.keep(*(event for event in sink.events if isinstance(event, InboundMessage)))
        records.keep(part(address.chat, Rendered("You practised 3 h."), "k1"))
        await page.value("sessionStorage.clear(); 1")
        await page.call("Page.navigate", url="about:blank")
        await page.go(url)
        await page.until(f"{LINES}.length === 3")
        assert expected == await page.value(LINES)
        assert [] == page.complaints


async def test_after_a_reload_the_last_chart_is_in_sight_and_nothing_is_new(page: Page, pictures: Path):
    days = [DayTotal("s0", date(2026, 11, 23), 45)]
    guitar = Skill("s0", "guitar", "🎸", "#4f46e5", 600_000, False, 45, 1)
    drawn = await plot("en", chart_of([guitar], days, date(2026, 11, 28), 0, ChartWish(), 60))
    chart = OutboundMedia(AttachmentKind.PHOTO, drawn.name, "image/png", drawn.png, drawn.description)
    records = FakeRecords()
    async with alone(records) as (channel, sink, url):
        address = await chat_of(page, sink, url)
        await page.look(390, 844, phone=True)
        for number in range(12):
            line = part(address.chat, Rendered(f"A line {number}\n" * 3), f"k{number}")
            records.keep(line)
            await channel.send(line)
        sent = part(address.chat, Rendered("Your practice:"), "chart", media=(chart,))
        records.keep(sent)
        await channel.send(sent)
        for scheme in ("light", "dark"):
            await page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            await page.call("Page.reload")
            await page.until(ONLINE)
            await page.until("document.querySelector('.picture img')?.complete")
            await page.until(f"{LEFT_BELOW} < 2")
            assert await page.value("document.getElementById('newer').hidden")
            await page.picture(pictures / f"chart-{scheme}.png")
        await page.value("document.getElementById('scroller').scrollTop = 0")
        await page.until(f"{LEFT_BELOW} > 80")
        await channel.send(part(address.chat, Rendered("One more"), "more"))
        await page.until("!document.getElementById('newer').hidden")
        assert [] == page.complaints


async def test_what_is_written_offline_is_kept_said_to_wait_and_sent_once(page: Page):
    async with alone() as (channel, sink, url):
        await chat_of(page, sink, url)
        await page.offline()
        await channel.aclose()
        await page.until("!document.getElementById('away').hidden")
        assert "You are offline" in await page.value("document.getElementById('away').textContent")
        await page.say("first")
        await page.say("second")
        assert ["◌", "◌"] == await page.value(
            "[...document.querySelectorAll('.waits .way')].map((one) => one.textContent)"
        )
        await page.value("sessionStorage.clear(); 1")
        await page.offline(False)
        await page.call("Page.navigate", url="about:blank")
        await page.go(url)
        await page.until(f"{SAID}.includes('second')")
        await page.until("document.querySelectorAll('.waits').length === 0 && document.getElementById('away').hidden")
        texts = {event.event_id: event.text for event in sink.events if isinstance(event, InboundMessage)}
        assert ["hello", "first", "second"] == list(texts.values())  # what is offered twice has the same id: once a row
        assert None is await page.value("Object.keys(localStorage).find((key) => key.endsWith(':unsent')) || null")


async def test_page_says_when_the_gateway_cannot_be_reached(page: Page, gateway: GatewayProcess):
    await let_in(page, gateway)
    gateway.end()
    await page.until("document.getElementById('away').textContent.includes('TenK Coach cannot be reached')")
    await page.say("/log 45m guitar")
    assert "not sent yet" in await page.value("document.querySelector('.waits .way').ariaLabel")
    gateway.start()
    await page.until(f"{ONLINE} && document.getElementById('away').hidden")
    await page.until(f"{LAST}.includes('45 min')")
    assert 1 == await page.value(f"{BOT}.filter((one) => one.includes('45 min')).length")


async def test_a_restart_doubles_and_loses_no_message(page: Page, gateway: GatewayProcess):
    await let_in(page, gateway)
    await page.say("/log 45m guitar scales")
    await page.until(f"{LAST}.includes('45 min')")
    before = await page.value(LINES)
    await page.say("plan my week")
    await page.until("!document.getElementById('stop').hidden")
    gateway.end(signal.SIGKILL)
    await page.say("/stats")
    gateway.start()
    await page.until(f"{ONLINE} && document.querySelectorAll('.waits').length === 0", 60)
    await page.until(f"{BOT}.length >= 6 && document.getElementById('stop').hidden && !{LAST}.endsWith('…')", 60)
    lines = await page.value(LINES)
    assert before == lines[: len(before)]
    assert (1, 1) == (lines.count("plan my week"), lines.count("/stats"))
    assert len(lines) == len(set(lines))
    await page.call("Page.reload")
    await page.until(f"{ONLINE} && {LINES}.length >= {len(lines)}")
    assert lines == await page.value(LINES)
    await page.value("sessionStorage.clear(); window.onpagehide = null; 1")
    await page.call("Page.navigate", url="about:blank")
    await page.go(gateway.url)
    await page.until(f"{ONLINE} && {LINES}.length >= {len(lines) - 1}")
    told = [line for line in lines if "pairing approve" not in line]
    assert sorted(told) == sorted(line for line in await page.value(LINES) if "pairing approve" not in line)


async def test_answer_can_be_stopped_and_asked_again(page: Page, gateway: GatewayProcess):
    await let_in(page, gateway)
    assert await page.value("document.getElementById('stop').hidden")
    await page.say("plan my week")
    await page.until("!document.getElementById('stop').hidden")
    await page.value("document.getElementById('stop').click()")
    await page.until(f"{LAST}.includes('Stopped') || {LAST}.includes('⏹')")  # the sign: before its first word
    await page.until("document.getElementById('stop').hidden && !document.getElementById('send').hidden")
    said = await page.value(SAID)
    await page.value("document.querySelector('.last .act.retry').click()")
    await page.until(f"{LAST}.includes('Make a plan for the week') && !{LAST}.endsWith('…')")
    assert said == await page.value(SAID)
    assert [] == page.complaints


async def test_last_message_is_changed(page: Page):
    async with alone() as (channel, sink, url):
        address = await chat_of(page, sink, url)
        original = sink.events[-1].message_id
        await page.press("ArrowUp")
        assert "hello" == await page.value("document.getElementById('text').value")
        await page.type(", coach")
        await page.press("Enter")
        await sink.until(lambda: getattr(sink.events[-1], "edited", False))
        assert (original, "hello, coach") == (sink.events[-1].message_id, sink.events[-1].text)
        await page.until(f"JSON.stringify({SAID}) === '[\"hello, coach\"]'")
        assert "edited" == await page.value("document.querySelector('.me .edited').textContent")
        await channel.send(part(address.chat, Rendered("Hello!"), "k1"))
        await page.until(f"{LAST} === 'Hello!'")
        await page.type("half a sentence")
        await page.value("document.querySelector('.me.last .act.edit').click()")
        await page.press("Escape")
        assert "half a sentence" == await page.value("document.getElementById('text').value")
        await page.value("document.querySelector('.me.last .act.edit').click()")
        await page.value("document.getElementById('text').value = 'hello again'")
        await page.press("Enter")
        await sink.until(lambda: getattr(sink.events[-1], "text", "") == "hello again")
        assert sink.events[-1].edited
        assert original != sink.events[-1].message_id
        assert ["hello, coach", "Hello!", "hello again"] == await page.value(LINES)
        assert "half a sentence" == await page.value("document.getElementById('text').value")
        await page.value("document.getElementById('text').value = ''; document.getElementById('text').focus()")
        await page.offline()
        await channel.aclose()
        await page.until("!document.getElementById('away').hidden")
        await page.say("wait")
        await page.press("ArrowUp")
        await page.type(" for me")
        await page.press("Enter")
        await page.offline(False)
        await page.until("document.querySelectorAll('.waits').length === 0")
        assert ["wait for me"] == [event.text for event in sink.events[-1:]]


async def test_answers_and_code_are_copied(page: Page):
    async with alone() as (channel, sink, url):
        address = await chat_of(page, sink, url)
        origin = url.rstrip("/")
        await page.call("Browser.grantPermissions", origin=origin, permissions=["clipboardReadWrite"])
        await channel.send(part(address.chat, channel.renderer.render(parse(ANSWER)), "k1"))
        await page.until("document.querySelector('.bot .code') !== null")
        await page.value("document.querySelector('.code .act.copy').click()")
        await page.until("document.querySelector('.code .act.copy').ariaLabel === 'Copied'")
        code = await page.value("navigator.clipboard.readText()")
        assert "def next_tempo(bpm: int) -> int:\n    return bpm + 4" == code.strip()
        await page.value("document.querySelector('.bot .meta .act.copy').click()")
        await page.until("document.querySelector('.bot .meta .act.copy').ariaLabel === 'Copied'")
        copied = await page.value("navigator.clipboard.readText()")
        assert "You practised 3 h 20 min, on five of seven days." in copied
        assert "Copy" not in copied
        assert [] == page.complaints


async def test_an_answer_is_told_to_who_listens_once(page: Page):
    async with alone() as (channel, sink, url):
        address = await chat_of(page, sink, url)
        told = "[...document.querySelectorAll('#told p')].map((one) => one.textContent)"
        shown = await channel.send(part(address.chat, channel.renderer.plain("…"), "k1"))
        status = part(address.chat, Rendered("Looking at your week"), "", unfinished=True, is_status=True)
        await channel.edit(status, shown.platform_id)
        await page.until("document.querySelector('.works')?.innerText.includes('Looking at your week')")
        for words in ("You …", "You practised …"):
            await channel.edit(part(address.chat, Rendered(words), ""), shown.platform_id)
        assert [] == await page.value(told)
        await channel.edit(part(address.chat, Rendered("You practised 3 h."), "k1"), shown.platform_id)
        await page.until(f"{told}.length === 1")
        await channel.edit(part(address.chat, Rendered("You practised 3 h."), "k2"), shown.platform_id)
        assert ["TenK Coach: You practised 3 h."] == await page.value(told)
        await page.call("Page.reload")
        await page.until(f"{ONLINE} && {LAST} === 'You practised 3 h.'")
        assert [] == await page.value(told)


async def test_past_conversations_are_listed_read_and_continued(page: Page, gateway: GatewayProcess, pictures: Path):
    await let_in(page, gateway)
    await page.say("/log 45m guitar scales")
    await page.until(f"{LAST}.includes('45 min')")
    before = await page.value(f"{BOT}.length")
    await page.say("how am I doing?")
    await page.until(f"{BOT}.length > {before} && document.getElementById('stop').hidden")
    await page.value("document.getElementById('new').click()")
    await page.until(f"{LAST}.includes('new conversation')")
    await page.say("hello there again")
    await page.until(f"{LAST}.includes('offline coach') && document.getElementById('stop').hidden")
    gateway.end(signal.SIGKILL)
    gateway.start()
    await page.value("sessionStorage.clear(); 1")
    await page.call("Page.navigate", url="about:blank")
    await wait_for(gateway)
    await page.go(gateway.url)
    await page.until(ONLINE)
    await page.until(f"{SAID}.includes('hello there again')")
    said = ["hello there", "/log 45m guitar scales", "how am I doing?", "hello there again"]
    assert said == (await page.value(SAID))[-4:]
    await page.value("document.getElementById('past').click()")
    await page.until("document.querySelectorAll('#list button').length === 2")
    await page.picture(pictures / "1-list.png")
    assert "the present one" in await page.value("document.querySelector('#list button').innerText")
    await page.value("document.querySelectorAll('#list button')[1].click()")
    await page.until("document.querySelectorAll('#read .msg').length >= 4")
    await page.picture(pictures / "2-read.png")
    assert "how am I doing?" in await page.value("document.getElementById('read').innerText")
    await page.value("document.getElementById('resume').click()")
    await page.until(f"{LAST}.includes('hello there')")
    assert not await page.value("document.getElementById('panel').open")
    await page.look(390, 844, phone=True, dark=True)
    await page.value("document.getElementById('past').click()")
    await page.until("document.querySelectorAll('#list button').length === 2")
    await page.picture(pictures / "3-phone.png")
    assert "hello there" in await page.value("document.querySelector('#list button:has(.living)').innerText")
    assert [] == page.complaints


async def test_no_person_is_shut_out(page: Page, pictures: Path):
    async with alone() as (channel, sink, url):
        await page.go(url)
        await page.until(ONLINE)
        assert [] == await page.barriers()
        await page.picture(pictures / "0-empty.png")
        address = await chat_of(page, sink, url)
        await channel.set_commands({"": [CommandSpec("help", "What I can do"), CommandSpec("stats", "How it goes")]})
        await channel.send(part(address.chat, channel.renderer.render(parse(WIDE)), "k1"))
        buttons = (Button("Approve", "a:7", ButtonStyle.PRIMARY), Button("Block", "b:7", ButtonStyle.DANGER))
        await channel.send(part(address.chat, Rendered("Ada asks to be let in."), "k2", buttons=buttons))
        await page.say("and today?")
        live = await channel.send(part(address.chat, channel.renderer.plain("…"), "k3"))
        status = part(address.chat, Rendered("Looking at your week"), "", unfinished=True, is_status=True)
        await channel.edit(status, live.platform_id)
        await page.until("document.querySelector('.works') !== null")
        for name, width, dark in LOOKS:
            await page.look(width, 760, dark=dark, phone=width < 400)
            await page.value("document.getElementById('scroller').scrollTop = 0")
            await page.picture(pictures / f"1-{name}-top.png")
            await page.value("document.getElementById('scroller').scrollTop = 1e6")
            await page.picture(pictures / f"2-{name}-end.png")
            assert [] == await page.barriers(), name
            assert await page.value("document.querySelector('.top').getBoundingClientRect().right <= innerWidth")
            assert width > 400 or await page.value(SCROLLS)
            await page.value("document.querySelector('.me.last .act.edit').click()")
            await page.value("document.getElementById('slash').click()")
            assert [] == await page.barriers(), f"{name}: changing"
            await page.picture(pictures / f"3-{name}-editing.png")
            await page.press("Escape")
            await page.press("Escape")
            await page.value("(text.value = '', text.dispatchEvent(new Event('input')))")
            for dialog in ("past", "device"):
                await page.value(f"document.getElementById('{dialog}').click()")
                await page.until("document.querySelector('dialog[open]') !== null")
                assert [] == await page.barriers(), f"{name}: {dialog}"
                await page.picture(pictures / f"4-{name}-{dialog}.png")
                await page.value("document.querySelector('dialog[open]').close()")
        await page.offline()
        await channel.aclose()
        await page.until("!document.getElementById('away').hidden")
        await page.say("kept")
        assert [] == await page.barriers(), "away"
        await page.picture(pictures / "5-away.png")


LOOKS = (("wide", 1200, False), ("dark", 1200, True), ("phone", 375, False), ("night", 375, True))

SCROLLS = "[...document.querySelectorAll('.wide')].some((one) => one.scrollWidth > one.clientWidth)"
"""An expression that is true if a wide table scrolls by itself."""


async def test_page_speaks_and_counts_as_the_browser_does(page: Page):
    agent = await page.value("navigator.userAgent")
    await page.call("Emulation.setUserAgentOverride", userAgent=agent, acceptLanguage="de-DE,es-MX;q=0.8,en;q=0.5")
    await page.call("Emulation.setTimezoneOverride", timezoneId="America/Mexico_City")
    async with alone() as (_, sink, url):
        await page.go(url)
        await page.until("document.getElementById('state').textContent === 'En línea'")
        assert "es" == await page.value("document.documentElement.lang")
        await page.say("hola")
        await sink.until(lambda: any(isinstance(event, InboundMessage) for event in sink.events))
        assert "America/Mexico_City" == sink.events[-1].timezone
        assert [] == await page.barriers()
