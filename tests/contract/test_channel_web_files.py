"""Files uploaded on the page: kept for their own message, shown by their content, within bounds (A70-A77)."""

import io

import aiohttp
import pytest

from channels.base import FetchesMedia, NotPersisted
from channels.errors import Permanent, PermanentKind, Retryable
from channels.messages import Attachment, AttachmentKind, InboundMessage
from channels.web.attached import MAX_FILE_BYTES
from channels.web.config import Guests
from tests.fakes.views import FakePage
from tests.fakes.web import FakeRecords, house

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
LET_IN = Guests(may_send_files=lambda _chat: True)
OCTETS = {"Content-Type": "application/octet-stream"}


class KeptFiles(FakeRecords):
    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, bytes] = {}

    async def keep_file(self, handle: str, content: bytes) -> None:
        if self.down:
            raise NotPersisted("down")
        self.files.setdefault(handle, content)

    async def find_file(self, handle: str) -> bytes | None:
        if self.down:
            raise NotPersisted("down")
        return self.files.get(handle)


async def hand(page: FakePage, content: bytes, of: str = "message-1", number: str = "0", **headers: str) -> int:
    where = {"of": of, "number": number}
    async with page.http.post(
        f"{page.url}web/upload", params=where, data=io.BytesIO(content), headers=OCTETS | headers
    ) as answer:
        return answer.status


async def test_a_file_goes_with_its_message_and_is_fetched_when_it_is_read():
    kept = KeptFiles()
    async with house(guests=LET_IN, records=kept) as rig, rig.page() as page:
        assert 200 == await hand(page, PNG)
        assert 200 == await hand(page, b"again, other words")  # the first one stays
        files = [{"number": 0, "name": "../../etc/\x00cat.png", "mime": "image/png", "size": 28}]
        await page.send({"type": "say", "id": "message-1", "text": "", "files": files})
        await page.until(lambda: bool(page.told("said")))
        event = next(event for event in rig.sink.events if isinstance(event, InboundMessage))
        photo = Attachment(AttachmentKind.PHOTO, f"{page.chat}:message-1:0", "../../etc/cat.png", "image/png", 28)
        assert ("", (photo,)) == (event.text, event.attachments)
        assert isinstance(rig.channel, FetchesMedia)
        assert PNG == await rig.channel.fetch(photo, 100)
        with pytest.raises(Permanent) as large:
            await rig.channel.fetch(photo, 10)
        assert PermanentKind.TOO_LARGE is large.value.kind
        shown = page.told("said")[0]["files"][0]
        assert (True, "../../etc/cat.png") == (shown["picture"], shown["name"])
        async with page.http.get(f"{rig.url}{shown['url'][1:]}") as answer:
            assert (200, "image/png", PNG) == (answer.status, answer.content_type, await answer.read())
        async with rig.page() as stranger, stranger.http.get(f"{rig.url}{shown['url'][1:]}") as answer:
            assert 404 == answer.status
        kept.down = True
        with pytest.raises(Retryable):
            await rig.channel.fetch(photo, 100)


@pytest.mark.parametrize(
    "content", [b"<svg onload=alert(1)>", b"<html><script>alert(1)</script>", b"GIF8", b"%PDF-1.7"]
)
async def test_what_is_no_picture_is_only_ever_saved(content: bytes):
    """Cover A76."""
    async with house(guests=LET_IN, records=KeptFiles()) as rig, rig.page() as page:
        await hand(page, content)
        async with page.http.get(f"{rig.url}web/file", params={"of": "message-1", "number": "0"}) as answer:
            assert "application/octet-stream" == answer.content_type
            assert answer.headers["Content-Disposition"].startswith("attachment")
            assert "nosniff" == answer.headers["X-Content-Type-Options"]
            assert "sandbox" in answer.headers["Content-Security-Policy"]


async def test_files_are_refused_in_words():
    known: list[bool] = [False]
    kept = KeptFiles()
    async with house(guests=Guests(may_send_files=lambda _chat: known[0]), records=kept) as rig, rig.page() as page:
        assert 403 == await hand(page, b"x")
        known[0] = True
        assert 413 == await hand(page, bytes(MAX_FILE_BYTES + 1))
        for of, number in (
            ("../../x", "0"),
            ("short", "0"),
            ("message-1", "20"),
            ("message-1", "x"),
            ("message-1", ""),
        ):
            assert 400 == await hand(page, b"x", of, number)
        assert 415 == await hand(page, b"x", **{"Content-Type": "text/plain"})
        assert 403 == await hand(page, b"x", Origin="https://elsewhere.example")
        where = {"of": "message-1", "number": "0"}

        async def endless():
            yield b"x" * 1000

        async with page.http.post(f"{rig.url}web/upload", params=where, data=endless(), headers=OCTETS) as answer:
            assert 411 == answer.status
        async with aiohttp.ClientSession(headers=OCTETS) as stranger, stranger.post(f"{rig.url}web/upload") as answer:
            assert 401 == answer.status
        assert {} == kept.files
        kept.down = True
        assert 503 == await hand(page, b"x")
        kept.down = False
        statuses = [await hand(page, bytes(7_900_000), number=str(number)) for number in range(7)]
        assert (200, 429) == (statuses[0], statuses[-1])
