"""Earlier conversations on the page: shown, listed and read, of this chat only, within bounds."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import aiohttp
import pytest

from channels.messages import Address, ChatKind, InboundMessage, OutboundPart, Rendered, Sender
from channels.web.past_messages import KeptMessage, PastConversation
from tests.fakes.web import FakeRecords, house, part

NOW = datetime(2026, 11, 20, tzinfo=UTC)
PAST = "0192d3a4-0000-7000-8000-000000000001"


class OnePast(FakeRecords):
    async def conversations(self, chat: str) -> Sequence[PastConversation]:
        await super().conversations(chat)
        return [PastConversation(PAST, "<b>Cats</b>", NOW, living=False, place="Slack")]


def two_messages(chat: str) -> tuple[InboundMessage, OutboundPart]:
    address = Address("web", "main", chat)
    said = InboundMessage(
        event_id="msg:1",
        message_id="said-001",
        address=address,
        sender=Sender(chat, ""),
        received_at=NOW,
        kind=ChatKind.DIRECT,
        text="<i>cats</i>",
    )
    return said, OutboundPart(address=address, rendered=Rendered("<script>"), idem_key="key-0")


async def test_page_is_told_what_was_said_each_time_it_comes() -> None:
    async with house() as rig, rig.page() as page:
        assert [] == page.told("history")[0]["messages"]
        rig.records.keep(*two_messages(page.chat))
        for down, expected in ((True, []), (False, ["<i>cats</i>", "<p>&lt;script&gt;</p>"])):
            rig.records.down = down
            await page.leave()
            page.frames.clear()
            page.wanted.set()
            await page.until(lambda: bool(page.told("history")))
            assert expected == [one.get("text") or one["html"] for one in page.told("history")[0]["messages"]]


async def test_a_page_misses_nothing_that_is_said_while_the_store_is_read() -> None:
    reading, read = asyncio.Event(), asyncio.Event()

    class Slow(FakeRecords):
        async def recent(self, chat: str) -> Sequence[KeptMessage]:
            kept = await super().recent(chat)
            reading.set()
            await read.wait()
            return kept

    async with house(records=Slow()) as rig, aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as page:
        async with page.post(f"{rig.url}web/session") as answer:
            chat = (await answer.json())["chat"]
        async with page.ws_connect(f"{rig.url}web/ws") as socket:
            await socket.send_json({"type": "hello"})
            await reading.wait()
            await rig.channel.send(part(chat, "meanwhile"))
            message = await socket.receive_json(timeout=30)
            read.set()
            told = [message["type"], *[(await socket.receive_json(timeout=30))["type"] for _ in range(2)]]
        assert ["message", "commands", "history"] == told


async def test_one_page_is_told_so_much_at_most() -> None:
    async with house() as rig, rig.page() as page:
        for number in range(50):
            rig.records.keep(part(page.chat, f"{number}" + "x" * 15_000, key=f"key-{number}"))
        await page.leave()
        page.frames.clear()
        page.wanted.set()
        await page.until(lambda: bool(page.told("history")))
        told = [one["id"] for one in page.told("history")[0]["messages"]]
        assert [f"b-key-{number}" for number in range(24, 50)] == told


async def test_store_that_is_down_is_asked_again() -> None:
    async with house() as rig, rig.page() as page:
        rig.records.down = True
        for path in ("web/conversations", f"web/conversation?id={PAST}"):
            async with page.http.get(f"{rig.url}{path}") as answer:
                assert (503, "2") == (answer.status, answer.headers["Retry-After"])


async def test_past_conversations_are_listed_and_read_by_their_own_person() -> None:
    records = OnePast()
    async with house(records=records) as rig, rig.page() as page:
        records.keep(*two_messages(page.chat))
        async with page.http.get(f"{rig.url}web/conversations") as answer:
            assert "no-store" == answer.headers["Cache-Control"]
            listed = (await answer.json())["conversations"]
        assert [(PAST, "<b>Cats</b>", False, "Slack")] == [
            (one["id"], one["title"], one["living"], one["place"]) for one in listed
        ]
        async with page.http.get(f"{rig.url}web/conversation", params={"id": PAST}) as answer:
            assert 2 == len((await answer.json())["messages"])
        assert (page.chat, PAST) == records.asked[-1]
        for id_ in ("", "../x", "' OR 1=1 --", PAST + "\n", "\x00" * 36):
            async with page.http.get(f"{rig.url}web/conversation", params={"id": id_}) as answer:
                assert (200, []) == (answer.status, (await answer.json())["messages"])
        assert (page.chat, PAST) == records.asked[-1]
        async with aiohttp.ClientSession() as stranger, stranger.get(f"{rig.url}web/conversations") as answer:
            assert 401 == answer.status


@pytest.mark.parametrize("path", ["web/conversations", f"web/conversation?id={PAST}"])
async def test_what_was_said_before_is_not_told_without_end(path: str) -> None:
    async with house(address_messages_per_min=60) as rig, rig.page() as page:
        statuses = set()
        for _ in range(120):
            async with page.http.get(f"{rig.url}{path}") as answer:
                statuses.add(answer.status)
        assert {200, 429} == statuses
