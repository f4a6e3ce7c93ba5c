"""The web chat over real HTTP: cookies, both transports, messages after an absence."""

import asyncio
import html
import io
import json
import re
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest

from channels.base import (
    CommandSpec,
    Reaction,
)
from channels.messages import (
    Address,
    AttachmentKind,
    Button,
    ButtonPressed,
    ButtonStyle,
    InboundMessage,
    OutboundMedia,
)
from channels.viewers.viewer_frames import MAX_FRAME_BYTES
from channels.viewers.viewer_hub import VIEWS_OF_CHAT
from channels.web.adapter import WebChannel
from channels.web.config import WebAccount
from channels.web.page_files import SCRIPT_TEXTS
from gateway.texts import HARNESS
from tests.fakes.http import Loaded, served
from tests.fakes.views import FakePage
from tests.fakes.web import FakeRecords, house, part


async def test_nothing_is_taken_before_the_channel_runs():
    async with (
        served(Loaded([WebChannel(WebAccount(), texts=HARNESS, records=FakeRecords())])) as url,
        aiohttp.ClientSession() as session,
    ):
        for method, path in [
            ("POST", "web/session"),
            ("GET", "web/ws"),
            ("GET", "web/events"),
            ("POST", "web/messages"),
        ]:
            async with session.request(method, url + path) as answer:
                assert (503, "2") == (answer.status, answer.headers["Retry-After"]), path
        async with session.get(url) as answer:
            assert 200 == answer.status


async def test_page_loads_nothing_from_elsewhere():
    async with house() as rig, aiohttp.ClientSession() as session:
        async with session.get(rig.url) as answer:
            page = await answer.text()
            policy = answer.headers["Content-Security-Policy"]
            tag = answer.headers["ETag"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in page.replace("http-equiv", "")
        assert "<style" not in page
        assert "onclick" not in page
        for path in ("web/chat.js", "web/chat.css", "web/view.js", "web/link.js", "web/store.js", "web/icon.svg"):
            async with session.get(rig.url + path) as answer:
                assert (200, "nosniff") == (answer.status, answer.headers["X-Content-Type-Options"]), path
        async with session.get(rig.url, headers={"If-None-Match": tag}) as answer:
            assert 304 == answer.status


async def test_page_speaks_its_visitors_language():
    async with house(title="La casa <b>") as rig, aiohttp.ClientSession() as session:
        pages, tags = {}, set()
        for language in ("en-GB,en;q=0.9", "fr, es-MX;q=0.9,en", "de"):
            async with session.get(rig.url, headers={"Accept-Language": language}) as answer:
                pages[language[:2]] = await answer.text()
                tags.add(answer.headers["ETag"])
                assert "Accept-Language" == answer.headers["Vary"]
        assert (2, pages["en"]) == (len(tags), pages["de"])
        assert '<html lang="es">' in pages["fr"]
        assert "La casa &lt;b&gt; está escribiendo" in pages["fr"]
        assert "La casa <b>" not in pages["fr"]
        for page, online in ((pages["en"], "Online"), (pages["fr"], "En línea")):
            assert "{{" not in page
            texts = json.loads(html.unescape(re.search(r'data-texts="([^"]*)"', page)[1]))
            assert online == texts["page.online"]
            assert set(SCRIPT_TEXTS) == texts.keys()


async def test_a_wait_is_shown_until_it_is_over():
    now = [datetime(2026, 3, 4, 12, tzinfo=UTC)]
    async with house(clock=lambda: now[0]) as rig, rig.page() as page:
        address = Address("web", "main", page.chat)
        await rig.channel.show_wait(address, 300.0)
        await page.until(lambda: page.told("busy"))
        now[0] += timedelta(seconds=100)
        async with rig.page(cookies=page.http.cookie_jar) as second:
            await second.until(lambda: second.told("busy"))
            await rig.channel.show_wait(address, 0.0)
            await rig.channel.show_wait(address, 0.0)  # nothing more is told
            await second.until(lambda: len(second.told("busy")) > 1)
        assert [200.0, 0.0] == [frame["for_s"] for frame in second.told("busy")]
        async with rig.page(cookies=page.http.cookie_jar) as third:
            await rig.channel.react(address, "m", Reaction.WORKING)
            await third.until(lambda: third.told("reaction"))
        assert [] == third.told("busy")
        assert [300.0, 0.0] == [frame["for_s"] for frame in page.told("busy")]


async def test_browser_is_known_by_a_cookie_that_scripts_cannot_read():
    async with house() as rig, aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        async with session.post(f"{rig.url}web/session") as answer:
            header, first = answer.headers["Set-Cookie"], await answer.json()
        async with session.post(f"{rig.url}web/session") as answer:
            assert "Set-Cookie" not in answer.headers
            assert first == await answer.json()
        name, _, value = header.partition(";")[0].partition("=")
        secret, _, mark = value.partition(".")
        assert "tenk_web" == name
        assert "HttpOnly" in header
        assert "SameSite=Strict" in header
        assert (22, 34) == (len(secret), len(mark))
        assert secret not in first["chat"]
        assert ("Coach", 32) == (first["title"], len(first["chat"]))


async def test_two_pages_of_one_browser_show_the_same():
    async with house() as rig, rig.page() as page:
        other = FakePage(rig.url, cookies=page.http.cookie_jar)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(other.run())
            await other.until(lambda: bool(other.told("history")))
            assert page.chat == other.chat
            await page.say("hello")
            await other.until(lambda: bool(other.told("said")))
            await rig.channel.send(part(page.chat, "hi"))
            await other.until(lambda: bool(other.shown))
            assert ["hello"] == [frame["text"] for frame in other.told("said")]
            assert "<p>hi</p>" == other.shown["b-key-1"]["html"]
            running.cancel()
        await other.http.close()


async def test_page_that_comes_is_told_what_is_stored_and_what_grows() -> None:
    async with house() as rig, rig.page() as page:
        await page.say("hello")
        await page.until(lambda: not page.unsent)
        rig.records.keep(*(event for event in rig.sink.events if isinstance(event, InboundMessage)))
        await rig.channel.send(part(page.chat, "one"))
        rig.records.keep(part(page.chat, "one"))
        await rig.channel.edit(part(page.chat, "two, so f …", key=""), "b-key-2")
        async with page.http.get(f"{rig.url}web/events") as stream:
            _, growing, history = [await _event(stream) for _ in range(3)]
        assert ("b-key-2", True) == (growing["id"], growing["live"])
        assert ["hello", "<p>one</p>"] == [one.get("text") or one["html"] for one in history["messages"]]
        await rig.channel.edit(part(page.chat, "two, so far", key="key-2"), "b-key-2")
        async with page.http.get(f"{rig.url}web/events") as stream:
            assert ["commands", "history"] == [(await _event(stream))["type"] for _ in range(2)]


async def test_buttons_are_shown_pressed_and_taken_away():
    async with house() as rig, rig.page() as page:
        buttons = (Button("Approve", "approve:7", ButtonStyle.PRIMARY), Button("Deny", "deny:7"))
        receipt = await rig.channel.send(part(page.chat, "let them in?", buttons=buttons))
        await page.until(lambda: bool(page.shown))
        shown = page.shown[receipt.platform_id]["buttons"]
        assert [("Approve", "primary"), ("Deny", "secondary")] == [(one["label"], one["style"]) for one in shown]
        await page.send({"type": "press", "id": "press-0001", "message": receipt.platform_id, "data": shown[0]["data"]})
        await rig.sink.until(lambda: any(isinstance(event, ButtonPressed) for event in rig.sink.events))
        press = rig.sink.events[-1]
        assert (receipt.platform_id, "approve:7", page.chat) == (press.message_id, press.data, press.sender.id)
        await rig.channel.close_buttons(press.address, receipt.platform_id)
        await page.until(lambda: bool(page.told("buttons")))
        assert [] == page.told("buttons")[0]["buttons"]


async def test_menu_is_that_of_the_browsers_language():
    async with house() as rig:
        await rig.channel.set_commands(
            {"": [CommandSpec("help", "What I do")], "es": [CommandSpec("help", "Qué hago")]}
        )
        async with rig.page(language="es-MX") as page:
            assert [["help", "Qué hago"]] == page.told("commands")[0]["commands"]
        async with rig.page(language="fr") as page:
            assert [["help", "What I do"]] == page.told("commands")[0]["commands"]


async def test_file_is_fetched_by_its_own_person_alone():
    media = (
        OutboundMedia(AttachmentKind.DOCUMENT, '../../x"\r\n.html', "text/html", b"<script>alert(1)</script>"),
        OutboundMedia(AttachmentKind.PHOTO, "chart.png", "image/png", b"\x89PNG"),
    )
    async with house() as rig, rig.page() as page, rig.page() as stranger:
        rig.records.keep(part(page.chat, "", media=media))
        receipt = await rig.channel.send(part(page.chat, "", media=media))
        await page.until(lambda: bool(page.shown))
        document, photo = page.shown[receipt.platform_id]["files"]
        url = rig.url.rstrip("/")
        async with page.http.get(url + document["url"]) as answer:
            assert ("application/octet-stream", b"<script>alert(1)</script>") == (
                answer.content_type,
                await answer.read(),
            )
            assert answer.headers["Content-Disposition"].startswith("attachment; filename*=UTF-8''..%2F..%2Fx%22%0D%0A")
            assert "sandbox" in answer.headers["Content-Security-Policy"]
        async with page.http.get(url + photo["url"]) as answer:
            assert (200, "image/png") == (answer.status, answer.content_type)
        async with stranger.http.get(url + photo["url"]) as answer:
            assert 404 == answer.status


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"[]", "application/json", 200),
        (b"[]", "text/plain", 415),
        (b"nonsense", "application/json", 400),
        (b'{"type":"say"}', "application/json", 400),
        (b"\xff", "application/json", 400),
        (b"[" * 50_000, "application/json", 400),
        (b'[{"type":"say","id":"12345678","text":"' + b"x" * 1_100_000 + b'"}]', "application/json", 413),
    ],
    ids=["nothing", "text", "nonsense", "no list", "no UTF-8", "nested", "over 1 MB"],
)
async def test_post_takes_frames_and_nothing_else(body: bytes, kind: str, status: int):
    """Cover A19, A91."""
    async with house() as rig, rig.page() as page:
        kind_of = {"Content-Type": kind}
        async with page.http.post(f"{rig.url}web/messages", data=io.BytesIO(body), headers=kind_of) as answer:
            assert status == answer.status
        assert [] == rig.texts()


async def test_events_and_post_do_all_that_a_socket_does():
    async with house() as rig, rig.page() as page:
        await page.leave()
        async with page.http.get(f"{rig.url}web/events") as stream:
            assert "text/event-stream" == stream.content_type
            assert ["commands", "history"] == [(await _event(stream))["type"], (await _event(stream))["type"]]
            rig.sink.refusals = 1
            say = [{"type": "say", "id": "12345678", "text": "by post"}]
            async with page.http.post(f"{rig.url}web/messages", json=say) as answer:
                assert (503, "2") == (answer.status, answer.headers["Retry-After"])
            async with page.http.post(f"{rig.url}web/messages", json=say) as answer:
                assert {"taken": ["12345678"]} == await answer.json()
            assert "said" == (await _event(stream))["type"]
            assert "b-key-1" == (await rig.channel.send(part(page.chat, "answer"))).platform_id
            assert "<p>answer</p>" == (await _event(stream))["html"]
        assert ["by post"] == rig.texts()


async def test_a_message_does_not_overtake_one_that_the_store_refused():
    async with house() as rig, rig.page() as page:
        rig.sink.refusals = 1
        rig.sink.open.clear()
        await page.say("first")
        await rig.sink.arriving.wait()
        await page.say("second")
        await asyncio.sleep(0.1)  # it waits behind the first
        rig.sink.open.set()
        await page.until(lambda: not page.unsent)
        assert ["first", "second"] == rig.texts()


async def test_frame_over_512_kb_ends_the_connection():
    async with house() as rig, rig.page() as page:
        async with page.http.ws_connect(f"{rig.url}web/ws") as socket:
            await socket.send_str("x" * (MAX_FRAME_BYTES + 1))
            async with asyncio.timeout(30):
                while (message := await socket.receive()).type is aiohttp.WSMsgType.TEXT:
                    pass
            assert 1009 == socket.close_code, message
        await page.say("still here")
        await rig.sink.until(lambda: rig.texts() == ["still here"])


async def test_too_many_tabs_are_told_so():
    async with house() as rig, rig.page() as page:
        sockets = [await page.http.ws_connect(f"{rig.url}web/ws") for _ in range(VIEWS_OF_CHAT)]
        last = sockets[-1]
        assert aiohttp.WSMsgType.CLOSE is (await last.receive(timeout=30)).type
        assert 1013 == last.close_code
        for socket in sockets:
            await socket.close()


async def test_hidden_words_are_taken_off():
    async with house() as rig, rig.page() as page:
        said = await page.say("my password is x")
        await page.until(lambda: not page.unsent)
        await rig.channel.delete(Address("web", "main", page.chat), said)
        await page.until(lambda: bool(page.told("deleted")))


async def _event(stream: aiohttp.ClientResponse) -> dict[str, object]:
    async with asyncio.timeout(30):
        while not (line := await stream.content.readline()).startswith(b"data: "):
            assert line, "the stream ended"
    return json.loads(line.removeprefix(b"data: "))
