"""What was said before this process: told to a page that comes, listed and read; no other chat's, within bounds."""

from collections.abc import Sequence
from datetime import UTC, datetime

import aiohttp
import pytest

from channels.base import Channel, NotPersisted
from channels.messages import Address, ChatKind, InboundMessage, OutboundPart, Rendered, Sender
from channels.web.recollection import KeptMessage, PastConversation, SeenDevice
from tests.fakes.web import house, part

NOW = datetime(2026, 11, 20, tzinfo=UTC)
PAST = "0192d3a4-0000-7000-8000-000000000001"


class FakeRecords:
    """One conversation of every chat, which the store may not give just now."""

    def __init__(self) -> None:
        self.down = False
        self.asked: list[tuple[str, str | None]] = []

    async def see_device(self, chat: str, device: str, browser: str) -> None:
        """Forgotten at once."""

    async def devices(self, _chat: str) -> Sequence[SeenDevice]:
        """None."""
        return ()

    async def signed_out(self) -> Sequence[tuple[str, str]]:
        """Nobody was."""
        return ()

    async def conversations(self, chat: str) -> Sequence[PastConversation]:
        """As the port says."""
        self._ask(chat, None)
        return [PastConversation(PAST, "<b>Cats</b>", NOW, living=False, place="Slack")]

    async def messages(self, _channel: Channel, chat: str, conversation_id: str | None) -> Sequence[KeptMessage]:
        """As the port says."""
        self._ask(chat, conversation_id)
        address = Address("web", "main", chat)
        said = InboundMessage(
            event_id="msg:1", message_id="said-001", address=address, sender=Sender(chat, ""), received_at=NOW,
            kind=ChatKind.DIRECT, text="<i>cats</i>",
        )  # fmt: skip
        told = OutboundPart(address=address, rendered=Rendered("<script>"), idem_key="key-0")
        return [KeptMessage(NOW, said), KeptMessage(NOW, told)]

    def _ask(self, chat: str, conversation_id: str | None) -> None:
        if self.down:
            raise NotPersisted("down")
        self.asked.append((chat, conversation_id))


async def test_page_is_told_what_was_said_in_an_earlier_life() -> None:
    """Once a process; as kept, so that a page which has it already knows it better; nothing of it acts."""
    records = FakeRecords()
    async with house(records=records) as rig, rig.page() as page:
        said, told = page.told("history")[0]["messages"]
        assert ("said-001", "<i>cats</i>", True) == (said["id"], said["text"], said["kept"])
        assert ("b-key-0", "<p>&lt;script&gt;</p>", True) == (told["id"], told["html"], told["kept"])
        await rig.channel.send(part(page.chat, "new"))
        page.epoch, page.seen = "", 0
        await page.leave()
        page.wanted.set()
        await page.until(lambda: len(page.told("history")) == 2)
        assert ["said-001", "b-key-0", "b-key-1"] == [one["id"] for one in page.told("history")[1]["messages"]]
        assert [(page.chat, None)] == records.asked


async def test_store_that_is_down_keeps_nobody_out() -> None:
    """The page comes with what there is; the next one asks again. What was asked for by hand says to come again."""
    records = FakeRecords()
    records.down = True
    async with house(records=records) as rig, rig.page() as page:
        assert [] == page.told("history")[0]["messages"]
        for path in ("web/conversations", f"web/conversation?id={PAST}"):
            async with page.http.get(f"{rig.url}{path}") as answer:
                assert (503, "2") == (answer.status, answer.headers["Retry-After"])
        records.down = False
        await page.leave()
        page.wanted.set()
        await page.until(lambda: len(page.told("history")) == 2)
        assert 2 == len(page.told("history")[1]["messages"])


async def test_past_conversations_are_listed_and_read_by_their_own_person() -> None:
    """Whoever asks gets their own chat's; an id that is none asks nobody."""
    records = FakeRecords()
    async with house(records=records) as rig, rig.page() as page:
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
        async with aiohttp.ClientSession() as nobody, nobody.get(f"{rig.url}web/conversations") as answer:
            assert 401 == answer.status


@pytest.mark.parametrize("path", ["web/conversations", f"web/conversation?id={PAST}"])
async def test_what_was_said_before_is_not_told_without_end(path: str) -> None:
    """Each request counts for the address."""
    async with house(records=FakeRecords(), address_messages_per_min=60) as rig, rig.page() as page:
        statuses = set()
        for _ in range(120):
            async with page.http.get(f"{rig.url}{path}") as answer:
                statuses.add(answer.status)
        assert {200, 429} == statuses
