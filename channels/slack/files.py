"""Files: download of attachments with a size limit, upload by Slack's external flow.

Source: docs.slack.dev/messaging/working-with-files (read 2026-11).
"""

from urllib.parse import urlsplit

from pydantic import JsonValue

from channels.chat.downloads import check_size
from channels.errors import Permanent
from channels.foreign import JsonObject
from channels.messages import Attachment, OutboundMedia, OutboundPart, Receipt
from channels.slack.limits import MAX_FILE_BYTES
from channels.slack.mrkdwn import escape
from channels.slack.wire import SlackWire

FILE_ID = "file:"  # prefix of the ids of file messages, whose ts Slack does not return


async def fetch_file(wire: SlackWire, attachment: Attachment, max_bytes: int) -> bytes:
    """Return the content of an attachment.

    Raises:
        ApiRefusal, Permanent, Retryable: see `SlackWire`.
    """
    check_size(attachment.size_bytes, max_bytes)
    url = attachment.handle
    if not urlsplit(url).scheme:  # shared channels give only the id
        answer = await wire.get("files.info", file=url)
        found = answer.get("file")
        url = str(found.get("url_private_download") or found.get("url_private")) if isinstance(found, dict) else ""
    return await wire.download(url, max_bytes)


async def send_files(wire: SlackWire, part: OutboundPart) -> Receipt:
    """Upload all files of a part, then show them in one message with its text.

    Only the last call shows anything, so only that one can have an unknown outcome.
    """
    files: list[JsonValue] = [{"id": await _upload(wire, media), "title": media.name} for media in part.media]
    body: JsonObject = {"files": files, "channel_id": part.address.chat}
    if part.rendered.text.strip():
        body["initial_comment"] = comment_of(part)
    if part.address.thread is not None:
        body["thread_ts"] = part.address.thread
    answer = await wire.post("files.completeUploadExternal", body)
    shown = answer.get("files")
    first = shown[0] if isinstance(shown, list) and shown else {}
    return Receipt(FILE_ID + str(first.get("id") if isinstance(first, dict) else ""))


def comment_of(part: OutboundPart) -> str:
    """Return the text beside files, which is mrkdwn."""
    return part.rendered.text if part.rendered.markup is not None else escape(part.rendered.text)


async def _upload(wire: SlackWire, media: OutboundMedia) -> str:
    if len(media.content) > MAX_FILE_BYTES:
        raise Permanent(f"the file has {len(media.content):,} bytes; {MAX_FILE_BYTES:,} are sent")
    described = {"alt_txt": media.description} if media.description else {}
    length = len(media.content)
    answer = await wire.form("files.getUploadURLExternal", token=None, filename=media.name, length=length, **described)
    await wire.upload(str(answer.get("upload_url")), media.content)
    return str(answer.get("file_id"))
