"""Pictures: fetched within bounds, or reported with the reason."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from agent.pictures import Picture, Unseen
from agent.ports import ModelFacts
from channels.errors import Permanent, PermanentKind, Retryable, Unknown
from channels.messages import Attachment, AttachmentKind
from gateway.sessions.config import PicturesConfig
from gateway.sessions.pictures import PictureFetcher, Whose
from tests.fakes.chat import FakeChannel
from tests.fakes.pictures import png
from tests.fakes.spine import Spine, quick_store

PHOTO = Attachment(AttachmentKind.PHOTO, "h", mime="image/png", size_bytes=100)


class Album(FakeChannel):
    def holding(self, *files: bytes | Exception | None) -> "Album":
        self.files = list(files)
        self.fetched = 0
        return self

    async def fetch(self, _attachment: Attachment, _max_bytes: int) -> bytes:
        found = self.files[self.fetched]
        self.fetched += 1
        if found is None:
            await asyncio.Event().wait()
        if isinstance(found, Exception):
            raise found
        return found or b""


async def fetch(
    channel: FakeChannel, *attachments: Attachment, sees: Callable[[], bool] = lambda: True, **config: float
) -> tuple[tuple[Picture, ...], dict[str, bytes]]:
    kept: dict[str, bytes] = {}

    async def keep(tenant: str, id_: str, content: bytes, came_with: str) -> None:
        assert ("t", "came:1") == (tenant, came_with)
        kept[id_] = content

    fetcher = PictureFetcher(PicturesConfig.model_validate(config), sees, keep)
    return await fetcher.fetch(channel, attachments, Whose("t", "came:1")), kept


async def test_pictures_are_kept_under_a_name_of_ours_with_what_their_bytes_say():
    """Cover A70, A76."""
    liar = Attachment(AttachmentKind.DOCUMENT, "h", "../../x.gif", "image/gif", 3)
    note = Attachment(AttachmentKind.DOCUMENT, "h", "a.txt", "text/plain", 3)
    content = png(900, 600)
    (picture,), kept = await fetch(Album().holding(content), liar, note)
    assert Picture(picture.id, "image/png", len(content), 900, 600) == picture
    assert {picture.id: content} == kept


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (Permanent("404"), Unseen.GONE),
        (Permanent("elsewhere than on the platform's host"), Unseen.GONE),
        (Permanent("larger", PermanentKind.TOO_LARGE), Unseen.TOO_LARGE),
        (Retryable("429"), Unseen.UNREACHABLE),
        (Unknown("cut"), Unseen.UNREACHABLE),
        (None, Unseen.UNREACHABLE),
        (b"%PDF-1.7", Unseen.OTHER_KIND),
        (png(2)[:20], Unseen.OTHER_KIND),
        (png(65_500, 65_500), Unseen.TOO_LARGE),
    ],
)
async def test_what_cannot_be_opened_is_known_by_why(found: bytes | Exception | None, why: Unseen):
    """Cover A74, A77."""
    (picture,), kept = await fetch(Album().holding(found), PHOTO, fetch_s=0.01 if found is None else 30)
    assert (Picture("", "image/png", 100, unseen=why), {}) == (picture, kept)


async def test_nothing_is_asked_for_that_would_not_be_opened():
    large = Attachment(AttachmentKind.PHOTO, "h", mime="</image>", size_bytes=5_000_001)
    channel = Album().holding(png(), png())
    assert (Picture("", "", 5_000_001, unseen=Unseen.TOO_LARGE),) == (await fetch(channel, large))[0]
    found, _ = await fetch(channel, PHOTO, PHOTO, PHOTO, PHOTO, max_count=2)
    assert [None, None, Unseen.TOO_MANY, Unseen.TOO_MANY] == [picture.unseen for picture in found]
    assert [Unseen.BLIND] == [picture.unseen for picture in (await fetch(channel, PHOTO, sees=lambda: False))[0]]
    assert [Unseen.GONE] == [picture.unseen for picture in (await fetch(FakeChannel(), PHOTO))[0]]
    assert 2 == channel.fetched


async def test_a_process_that_dies_while_it_fetches_loses_nothing(tmp_path: Path):
    store, content = await quick_store(tmp_path / "tenk.db"), png(900, 600)
    channel = Album().holding(None, content)
    spine = Spine(store, channel, reader=None)
    spine.model.facts = ModelFacts(sees_images=True)
    await spine.begin()
    await spine.say("which key is this?", attachments=(PHOTO,))
    await spine.until(lambda: channel.fetched == 1)
    await spine.kill()
    await spine.begin()
    await spine.asked()
    request = spine.model.requests[-1]
    (picture,) = request.items[-1].pictures
    assert {picture.id: content} == await request.load_pictures([picture.id, "another"])
    spine.model.give("It is in G.")
    await spine.quiet()
    await spine.kill()
    owners = await store.read(lambda c: c.execute(sa.text("SELECT turn_id FROM blobs")).scalars().all())
    assert owners == await store.read(lambda c: c.execute(sa.text("SELECT id FROM turns")).scalars().all())
    await store.aclose()
