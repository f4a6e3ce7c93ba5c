"""Download of attachments. Discord's file URLs expire, so the message is fetched for a fresh one."""

from pydantic import JsonValue

from channels.chat.downloads import check_size
from channels.discord.wire import MESSAGE, DiscordWire
from channels.errors import Permanent
from channels.foreign import JsonObject
from channels.messages import Attachment


async def fetch_file(wire: DiscordWire, attachment: Attachment, max_bytes: int) -> bytes:
    """Return the content of an attachment.

    Raises:
        ApiRefusal, Permanent, Retryable: see `DiscordWire`.
    """
    check_size(attachment.size_bytes, max_bytes)
    channel, message_id, file_id = (*attachment.handle.split("/"), "", "")[:3]
    message = await wire.call("GET", MESSAGE, at={"channel_id": channel, "message_id": message_id})
    for file in _files_of(message):
        if file.get("id") == file_id:
            return await wire.download(str(file.get("url")), max_bytes)
    raise Permanent("the file is gone")


def _files_of(message: JsonValue) -> list[JsonObject]:
    """Return the attachments of a message, including a forwarded one."""
    if not isinstance(message, dict):
        return []
    found = message.get("attachments")
    files = [file for file in found if isinstance(file, dict)] if isinstance(found, list) else []
    snapshots = message.get("message_snapshots")
    for snapshot in snapshots if isinstance(snapshots, list) else []:
        if isinstance(snapshot, dict):
            files += _files_of(snapshot.get("message"))
    return files
