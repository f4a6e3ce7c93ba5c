"""What people attach, as the model reads it: small text files in full, everything else by what it is.

Content is untrusted data, framed as such. Nothing is kept under a sender's file name.
"""

from collections.abc import Sequence

import structlog

from channels.base import Channel, FetchesMedia
from channels.errors import ChannelError, Permanent
from channels.messages import Attachment, AttachmentKind
from gateway.sessions.framing import framed, label

log = structlog.get_logger()

MAX_FILE_BYTES = 20_000_000
MAX_TEXT_BYTES = 256_000
MAX_TEXT_CHARS = 60_000
TEXT_TYPES = ("text/", "application/json", "application/xml", "application/csv")
MAX_FILES = 10


async def read_files(channel: Channel, attachments: Sequence[Attachment]) -> tuple[str, ...]:
    """A paragraph a file, in order."""
    said = [await _read(channel, attachment) for attachment in attachments[:MAX_FILES]]
    if len(attachments) > MAX_FILES:
        said.append(f"[{len(attachments) - MAX_FILES} more files were left out.]")
    return tuple(said)


async def _read(channel: Channel, attachment: Attachment) -> str:
    what = _described(attachment)
    if (attachment.size_bytes or 0) > MAX_FILE_BYTES:
        return f"[{what} is over {MAX_FILE_BYTES // 1_000_000} MB and was not opened.]"
    if not _is_text(attachment) or not isinstance(channel, FetchesMedia):
        return f"[{what} is attached; it cannot be opened here.]"
    try:
        content = await channel.fetch(attachment, MAX_TEXT_BYTES)
    except Permanent as refused:
        return f"[{what} is attached and was not opened: {label(refused.reason)}]"
    except (ChannelError, TimeoutError) as failure:
        log.info("file_unread", error=str(failure))
        return f"[{what} is attached and could not be fetched.]"
    text = content.decode("utf-8-sig", "replace").replace("\0", "")[:MAX_TEXT_CHARS]
    return framed(f"attached {attachment.kind.value}{_type_and_size(attachment)}", attachment.name, text)


def _is_text(attachment: Attachment) -> bool:
    return attachment.kind is AttachmentKind.DOCUMENT and (attachment.mime or "").startswith(TEXT_TYPES)


def _described(attachment: Attachment) -> str:
    name = f" {label(attachment.name)}" if attachment.name else ""
    return f"A {attachment.kind.value}{name}{_type_and_size(attachment)}"


def _type_and_size(attachment: Attachment) -> str:
    size = f", {attachment.size_bytes // 1000 or 1} kB" if attachment.size_bytes else ""
    kind = label(attachment.mime)[1:-1] if attachment.mime else "unknown type"
    return f" ({kind}{size})"
