"""Files that people attached, fetched by their message: Discord's addresses of files run out, a handle does not."""

from pydantic import JsonValue

from channels.discord.wire import MESSAGE, DiscordWire, JsonObject
from channels.errors import Permanent
from channels.messages import Attachment


async def fetch_file(wire: DiscordWire, attachment: Attachment, max_bytes: int) -> bytes:
    """The content of what somebody attached; the message is asked for a fresh address.

    Raises:
        ApiRefusal: the message cannot be read.
        Permanent: the file is larger than `max_bytes`, or gone.
        Retryable, Unknown: not now.
    """
    if (attachment.size_bytes or 0) > max_bytes:
        raise Permanent(f"the file is larger than {max_bytes} bytes")
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
    files = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    snapshots = message.get("message_snapshots")
    for snapshot in snapshots if isinstance(snapshots, list) else []:
        if isinstance(snapshot, dict):
            files += _files_of(snapshot.get("message"))
    return files
