"""Files that were sent to pages, in memory: a page fetches them by its message and their place in it.

They go with the process, or earlier where there are many; the message stays and says what was there.
"""

from collections import OrderedDict
from collections.abc import Sequence
from urllib.parse import quote

from aiohttp import web
from pydantic import JsonValue

from channels.messages import AttachmentKind, OutboundMedia
from channels.viewers.viewer_frames import PICTURES

MAX_FILE_BYTES = 8_000_000
BYTES_KEPT = 32_000_000  # over all chats; the oldest goes first


_HEADS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


class AttachedFiles:
    """What was attached, by message and place."""

    def __init__(self, *, most_bytes: int = BYTES_KEPT) -> None:
        """Empty."""
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, tuple[str, OutboundMedia]] = OrderedDict()
        self._bytes = 0

    def keep(self, chat: str, message_id: str, media: Sequence[OutboundMedia]) -> list[JsonValue]:
        """Keep files of a message for the pages of a chat; how a frame names them."""
        for number, file in enumerate(media):
            _, before = self._kept.pop(f"{message_id}.{number}", (chat, None))
            self._bytes += _weight(file) - (_weight(before) if before else 0)
            self._kept[f"{message_id}.{number}"] = (chat, file)
        while self._bytes > self._most_bytes and len(self._kept) > 1:
            self._bytes -= _weight(self._kept.popitem(last=False)[1][1])
        return self.names(message_id, media)

    def names(self, message_id: str, media: Sequence[OutboundMedia]) -> list[JsonValue]:
        """Return how a frame names the files of a message."""
        return [
            {
                "url": f"/web/file?id={message_id}.{number}",
                "name": file.name,
                "bytes": len(file.content),
                "picture": file.mime in PICTURES,
                "description": file.description,
            }
            for number, file in enumerate(media)
        ]

    def get(self, chat: str, id_: str) -> OutboundMedia | None:
        """The file, for the pages of its own chat; None where it is gone, or somebody else's."""
        held = self._kept.get(id_)
        return None if held is None or held[0] != chat else held[1]


def picture_type(content: bytes) -> str | None:
    """What a browser may show it as, by its first bytes; None where it is only ever saved (A76)."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for head, mime in _HEADS.items() if content.startswith(head)), None)


def to_own_response(content: bytes) -> web.Response:
    """What a person handed over, for themselves: nothing of it is believed but its bytes."""
    mime = picture_type(content)
    kind = AttachmentKind.DOCUMENT if mime is None else AttachmentKind.PHOTO
    return to_response(OutboundMedia(kind, "file", mime or "application/octet-stream", content))


def to_response(media: OutboundMedia) -> web.Response:
    """The file as a browser may have it: shown where it is a picture, else only saved."""
    picture = media.mime in PICTURES
    how = "inline" if picture else "attachment"
    return web.Response(
        body=media.content,
        content_type=media.mime if picture else "application/octet-stream",
        headers={
            "Content-Disposition": f"{how}; filename*=UTF-8''{quote(media.name, safe='')}",
            "Content-Security-Policy": "default-src 'none'; sandbox",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "private, max-age=86400, immutable",
        },
    )


def _weight(media: OutboundMedia) -> int:
    """What it takes in memory, about: a thousand empty files are something too."""
    return len(media.content) + len(media.name) + 500
