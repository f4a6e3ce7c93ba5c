"""Files of messages: their entries in frames and their HTTP responses."""

from collections.abc import Sequence
from urllib.parse import quote

from aiohttp import web
from pydantic import JsonValue

from channels.messages import AttachmentKind, OutboundMedia
from channels.viewers.viewer_frames import PICTURES

MAX_FILE_BYTES = 8_000_000

_HEADS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def names_of(message_id: str, media: Sequence[OutboundMedia]) -> list[JsonValue]:
    """Return the entries of our message's files in a frame."""
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


def picture_type(content: bytes) -> str | None:
    """Return the picture type by the first bytes; None for all other files, which can only be saved (A76)."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for head, mime in _HEADS.items() if content.startswith(head)), None)


def to_own_response(content: bytes) -> web.Response:
    """Return a person's own file to them; only its bytes decide its type."""
    mime = picture_type(content)
    kind = AttachmentKind.DOCUMENT if mime is None else AttachmentKind.PHOTO
    return to_response(OutboundMedia(kind, "file", mime or "application/octet-stream", content))


def to_response(media: OutboundMedia) -> web.Response:
    """Return the response for a file: shown inline if it is a picture, else only saved."""
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
