"""Download of attachments: getFile, then the file itself with a size limit."""

import re

from channels.chat.downloads import check_size
from channels.chat.refusals import ApiRefusal
from channels.errors import ChannelError, Permanent, PermanentKind, Retryable, Unknown
from channels.messages import Attachment
from channels.telegram.config import OFFICIAL_API, TelegramAccount
from channels.telegram.error_mapping import REFUSALS
from channels.telegram.limits import MAX_DOWNLOAD_BYTES
from channels.telegram.wire import TelegramWire

_FILE_PATH = re.compile(r"(?!/)(?!.*\.\.)[\w./-]+", re.ASCII)  # as the Bot API returns it: "documents/file_7.pdf"


async def fetch_file(wire: TelegramWire, config: TelegramAccount, attachment: Attachment, max_bytes: int) -> bytes:
    """Return the content of an attachment.

    Raises:
        Permanent: it is larger than `max_bytes` or Telegram's limit, or it is gone.
        Retryable: Telegram does not deliver it now.
    """
    check_size(attachment.size_bytes, max_bytes)
    if config.api_base == OFFICIAL_API:
        check_size(attachment.size_bytes, MAX_DOWNLOAD_BYTES)
    try:
        path = await _path(wire, config, attachment, max_bytes)
        return await wire.download(path, max_bytes, timeout_s=config.file_timeout_s)
    except ApiRefusal as refusal:
        raise _to_error(refusal) from None
    except Unknown as unknown:
        raise Retryable(unknown.reason) from None  # reading has no effect: it can be repeated


async def _path(wire: TelegramWire, config: TelegramAccount, attachment: Attachment, max_bytes: int) -> str:
    """Return the file's path on the server, which is valid for an hour."""
    answer = await wire.call("getFile", {"file_id": attachment.handle}, timeout_s=config.call_timeout_s)
    file = answer if isinstance(answer, dict) else {}
    path, size = file.get("file_path"), file.get("file_size")
    check_size(size if isinstance(size, int) else None, max_bytes)
    if isinstance(path, str) and path.startswith("/"):
        raise Permanent("the Bot API server keeps files on its own disk; start it without --local")
    if not isinstance(path, str) or not _FILE_PATH.fullmatch(path):
        raise Permanent("Telegram does not say where the file is")
    return path


def _to_error(refusal: ApiRefusal) -> ChannelError:
    """Return the error for a refused getFile or download; never `Unknown`, because reading has no effect."""
    words = refusal.words.lower()
    if "file is too big" in words:
        most_mb = MAX_DOWNLOAD_BYTES // 1_000_000
        return Permanent(
            f"Telegram hands bots files of up to {most_mb} MB; this one is larger", PermanentKind.TOO_LARGE
        )
    if refusal.status in (404, 410) or "file_id" in words or "temporarily unavailable" in words:
        return Permanent(f"the file is gone ({refusal})")
    meant = REFUSALS.to_channel_error(refusal)
    return Retryable(meant.reason) if isinstance(meant, Unknown) else meant
