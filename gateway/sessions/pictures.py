"""Fetches the pictures that come with a message, each within bounds, and keeps their bytes; the rest is told in words.

Where a platform's files may come from is its adapter's matter, what the model sees of them the agent's. A picture's
type and size are told by its bytes; nothing is decoded, no name or label is believed. Sources: w3.org/TR/png, gif89a,
RFC 9649 (WebP), ITU T.81 (JPEG), read 2026-11.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog

from agent.pictures import Picture, Unseen
from channels.base import Channel, FetchesMedia
from channels.errors import ChannelError, Permanent, PermanentKind
from channels.messages import Attachment, AttachmentKind
from gateway.sessions.config import PicturesConfig
from gateway.store.tables.base import new_id

log = structlog.get_logger()

MAX_SEGMENTS = 2_000
"""The most segments of a JPEG that are read to find its size; cameras write some dozens."""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """A picture's type and size."""

    mime: str
    width: int  # pixels, at least 1
    height: int


def read_image(content: bytes) -> ImageFacts | None:
    """Return the facts of a PNG, JPEG, GIF or WebP; None if it is none, or broken before its size."""
    if content.startswith(b"\x89PNG\r\n\x1a\n") and content[12:16] == b"IHDR":
        return _facts("image/png", _big(content[16:20]), _big(content[20:24]))
    if content.startswith((b"GIF87a", b"GIF89a")):
        return _facts("image/gif", _little(content[6:8]), _little(content[8:10]))
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return _facts("image/webp", *_webp_size(content))
    if content.startswith(b"\xff\xd8\xff"):
        return _facts("image/jpeg", *_jpeg_size(content))
    return None


def _facts(mime: str, width: int, height: int) -> ImageFacts | None:
    return ImageFacts(mime, width, height) if width > 0 and height > 0 else None


def _big(octets: bytes) -> int:
    return int.from_bytes(octets, "big")


def _little(octets: bytes) -> int:
    return int.from_bytes(octets, "little")


def _webp_size(content: bytes) -> tuple[int, int]:
    match content[12:16]:
        case b"VP8X" if len(content) >= 30:
            return _little(content[24:27]) + 1, _little(content[27:30]) + 1
        case b"VP8L" if len(content) >= 25:
            bits = _little(content[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            return _little(content[26:28]) & 0x3FFF, _little(content[28:30]) & 0x3FFF
        case _:
            return 0, 0


def _jpeg_size(content: bytes) -> tuple[int, int]:
    at = 2
    for _ in range(MAX_SEGMENTS):
        marker, length = content[at : at + 2], _big(content[at + 2 : at + 4])
        if len(marker) < 2 or marker[0] != 0xFF:
            break
        if marker[1] == 0xFF:  # filling
            at += 1
            continue
        if 0xC0 <= marker[1] <= 0xCF and marker[1] not in {0xC4, 0xC8, 0xCC}:  # the start of a frame
            return _big(content[at + 7 : at + 9]), _big(content[at + 5 : at + 7])
        at += 2 + max(2, length)
    return 0, 0


MAX_SIDE = 8_000
"""Pixels: no provider takes a larger picture (Anthropic's vision guide, read 2026-11), and some unpack it (A74)."""

_IMAGE_TYPE = re.compile(r"image/[a-z0-9.+-]{1,40}\Z")

KeepFile = Callable[[str, str, bytes, str], Awaitable[None]]
"""Keeps a file durably: of this tenant, under this id, as that of what it came with."""


def is_picture(attachment: Attachment) -> bool:
    """Return True if the platform calls it a picture; its bytes say which."""
    is_file = attachment.kind is AttachmentKind.DOCUMENT
    return attachment.kind is AttachmentKind.PHOTO or (is_file and (attachment.mime or "").startswith("image/"))


@dataclass(frozen=True, slots=True)
class Whose:
    """The tenant and the event of the pictures that are fetched."""

    tenant: str
    came_with: str  # see gateway.store.outbox.came_with


class PictureFetcher:
    """Turns attachments into pictures as a transcript has them."""

    def __init__(self, config: PicturesConfig, sees_images: Callable[[], bool], keep: KeepFile) -> None:
        """Nothing is fetched for a model that `sees_images` says does not; `keep` holds what was fetched."""
        self._config = config
        self._sees_images = sees_images
        self._keep = keep

    async def fetch(self, channel: Channel, attachments: Sequence[Attachment], whose: Whose) -> tuple[Picture, ...]:
        """Fetch the pictures among these, in order, each with its bytes kept or with the reason for their absence."""
        sent = [attachment for attachment in attachments if is_picture(attachment)]
        until_s = asyncio.get_running_loop().time() + self._config.fetch_s
        found: list[Picture] = []
        for place, attachment in enumerate(sent):
            if not self._sees_images():
                picture = _unseen(attachment, Unseen.BLIND)
            elif place >= self._config.max_count:
                picture = _unseen(attachment, Unseen.TOO_MANY)
            else:
                picture = await self._open(channel, attachment, whose, until_s)
            found.append(picture)
        return tuple(found)

    async def _open(self, channel: Channel, attachment: Attachment, whose: Whose, until_s: float) -> Picture:
        if (attachment.size_bytes or 0) > self._config.max_bytes:
            return _unseen(attachment, Unseen.TOO_LARGE)
        if not isinstance(channel, FetchesMedia):
            return _unseen(attachment, Unseen.GONE)
        try:
            async with asyncio.timeout_at(until_s):
                content = await channel.fetch(attachment, self._config.max_bytes)
        except Permanent as refused:
            why = Unseen.TOO_LARGE if refused.kind is PermanentKind.TOO_LARGE else Unseen.GONE
            return _unseen(attachment, why, refused)
        except (ChannelError, TimeoutError) as failure:
            return _unseen(attachment, Unseen.UNREACHABLE, failure)
        facts = read_image(content)
        if facts is None:
            return _unseen(attachment, Unseen.OTHER_KIND)
        if max(facts.width, facts.height) > MAX_SIDE:
            return _unseen(attachment, Unseen.TOO_LARGE)
        picture = Picture(new_id(), facts.mime, len(content), facts.width, facts.height)
        await self._keep(whose.tenant, picture.id, content, whose.came_with)
        return picture


def _unseen(attachment: Attachment, why: Unseen, error: Exception | None = None) -> Picture:
    log.info("picture_unseen", why=why.value, error=str(error) if error else None)
    mime = (attachment.mime or "").lower()
    return Picture("", mime if _IMAGE_TYPE.match(mime) else "", attachment.size_bytes, unseen=why)


async def _keep_nothing(_tenant: str, _id: str, _content: bytes, _came_with: str) -> None:
    pass


NO_EYES = PictureFetcher(PicturesConfig(), lambda: False, _keep_nothing)
"""For models that see none."""
