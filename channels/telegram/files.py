"""Fetches what somebody attached: getFile, then the content, capped before and while it is read. Nothing is written."""

import re
from contextlib import aclosing

from channels.errors import ChannelError, Permanent, Retryable, Unknown
from channels.messages import Attachment
from channels.telegram.config import OFFICIAL_API, TelegramAccount
from channels.telegram.error_mapping import ApiRefusal, to_channel_error
from channels.telegram.limits import MAX_DOWNLOAD_BYTES
from channels.telegram.wire import TelegramWire

_FILE_PATH = re.compile(r"(?!/)(?!.*\.\.)[\w./-]+", re.ASCII)  # what the Bot API gives: "documents/file_7.pdf"


async def fetch(wire: TelegramWire, config: TelegramAccount, attachment: Attachment, max_bytes: int) -> bytes:
    """The content of an attachment; its name is never looked at.

    Raises:
        Permanent: it is larger than `max_bytes` or than Telegram hands out, or it is gone.
        Retryable: not now.
    """
    _check_size(attachment.size_bytes, max_bytes)
    if config.api_base == OFFICIAL_API:
        _check_size(attachment.size_bytes, MAX_DOWNLOAD_BYTES)
    try:
        path = await _path(wire, config, attachment, max_bytes)
        return await _content(wire, config, path, max_bytes)
    except ApiRefusal as refusal:
        raise _meaning(refusal) from None
    except Unknown as unknown:
        raise Retryable(unknown.reason) from None  # reading changes nothing: it may simply be read again


async def _path(wire: TelegramWire, config: TelegramAccount, attachment: Attachment, max_bytes: int) -> str:
    """Where the server keeps it; valid for an hour."""
    told = await wire.call("getFile", {"file_id": attachment.handle}, timeout_s=config.call_timeout_s)
    file = told if isinstance(told, dict) else {}
    path, size = file.get("file_path"), file.get("file_size")
    _check_size(size if isinstance(size, int) else None, max_bytes)
    if isinstance(path, str) and path.startswith("/"):
        raise Permanent("the Bot API server keeps files on its own disk; start it without --local")
    if not isinstance(path, str) or not _FILE_PATH.fullmatch(path):
        raise Permanent("Telegram does not say where the file is")
    return path


async def _content(wire: TelegramWire, config: TelegramAccount, path: str, max_bytes: int) -> bytes:
    """The file, given up as soon as it is too large: what a server says of a size is not believed (A77)."""
    content = bytearray()
    async with aclosing(wire.download(path, timeout_s=config.file_timeout_s)) as chunks:
        async for chunk in chunks:
            content += chunk
            _check_size(len(content), max_bytes)
    return bytes(content)


def _check_size(size_bytes: int | None, max_bytes: int) -> None:
    if size_bytes is not None and size_bytes > max_bytes:
        raise Permanent(f"the file is larger than {max_bytes / 1_000_000:g} MB")


def _meaning(refusal: ApiRefusal) -> ChannelError:
    """What a refused getFile or download means; there is nothing that could have happened."""
    words = refusal.description.lower()
    if "file is too big" in words:
        return Permanent(f"Telegram hands bots files of up to {MAX_DOWNLOAD_BYTES // 1_000_000} MB; this one is larger")
    if refusal.status in (404, 410) or "file_id" in words or "temporarily unavailable" in words:
        return Permanent(f"the file is gone ({refusal.status} {refusal.description})")
    meant = to_channel_error(refusal)
    return Retryable(meant.reason) if isinstance(meant, Unknown) else meant
