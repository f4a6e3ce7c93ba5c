"""Fetches the pictures that come with a message, each within bounds, and keeps their bytes; the rest is told in words.

Where a platform's files may come from is its adapter's matter, what the model sees of them the agent's.
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
from gateway.failpoints import failpoint
from gateway.safety.images import read_image
from gateway.sessions.config import PicturesConfig
from gateway.store.tables.base import new_id

log = structlog.get_logger()

MAX_SIDE = 8_000
"""Pixels: no provider takes a larger picture (Anthropic's vision guide, read 2026-11), and some unpack it (A74)."""

_IMAGE_TYPE = re.compile(r"image/[a-z0-9.+-]{1,40}\Z")

KeepFile = Callable[[str, str, bytes, str], Awaitable[None]]
"""Keeps a file durably: of this tenant, under this id, as that of what it came with."""


def is_picture(attachment: Attachment) -> bool:
    """Whether the platform says that it is one; what it is its bytes say."""
    is_file = attachment.kind is AttachmentKind.DOCUMENT
    return attachment.kind is AttachmentKind.PHOTO or (is_file and (attachment.mime or "").startswith("image/"))


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose pictures are fetched."""

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
        """The pictures among these, in order, each with its bytes kept or with why there are none."""
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
        failpoint("picture_kept")
        return picture


def _unseen(attachment: Attachment, why: Unseen, error: Exception | None = None) -> Picture:
    log.info("picture_unseen", why=why.value, error=str(error) if error else None)
    mime = (attachment.mime or "").lower()
    return Picture("", mime if _IMAGE_TYPE.match(mime) else "", attachment.size_bytes, unseen=why)


async def _keep_nothing(_tenant: str, _id: str, _content: bytes, _came_with: str) -> None:
    pass


NO_EYES = PictureFetcher(PicturesConfig(), lambda: False, _keep_nothing)
"""For models that see none."""
