"""Fetches what people attached. Discord's addresses of files run out, so the message is asked for a fresh one."""

from pydantic import JsonValue

from channels.chat.downloads import check_size
from channels.discord.wire import MESSAGE, DiscordWire
from channels.errors import Permanent
from channels.foreign import JsonObject
from channels.messages import Attachment


async def fetch_file(wire: DiscordWire, attachment: Attachment, max_bytes: int) -> bytes:
    """Fetch the content of what somebody attached.

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
    """The attachments of a message, of a forwarded one as well."""
    if not isinstance(message, dict):
        return []
    found = message.get("attachments")
    files = [file for file in found if isinstance(file, dict)] if isinstance(found, list) else []
    snapshots = message.get("message_snapshots")
    for snapshot in snapshots if isinstance(snapshots, list) else []:
        if isinstance(snapshot, dict):
            files += _files_of(snapshot.get("message"))
    return files
