"""Contents of the events that we send. Pure."""

import hashlib

import orjson

from channels.foreign import JsonObject
from channels.messages import AttachmentKind, OutboundMedia, OutboundPart, Rendered
from tenk_matrix.render import to_html

MAX_CONTENT_BYTES = 60_000  # of the 65,536 of an event
MAX_FALLBACK_CHARS = 500  # of an edit, for clients that show no edits
_KINDS = {AttachmentKind.PHOTO: "m.image", AttachmentKind.VOICE: "m.audio", AttachmentKind.DOCUMENT: "m.file"}


def to_key(part: OutboundPart, number: int = 0) -> str:
    """Return the transaction id of a part's event, the same for every attempt.

    The homeserver remembers it for a day; a new database of the gateway's begins its keys anew, with other texts.
    """
    said = f"{part.rendered.text}\n{part.rendered.markup}\n{number}"
    return f"{part.idem_key}-{hashlib.sha256(said.encode(errors='replace')).hexdigest()[:12]}"


def to_message(part: OutboundPart) -> JsonObject:
    """Return the content of a message with the part's text."""
    return _styled(part.rendered) | {"msgtype": "m.text"} | _relation(part)


def to_media_message(part: OutboundPart, media: OutboundMedia, uri: str, *, captioned: bool) -> JsonObject:
    """Return the content of a message with an uploaded file, and the part's text as its caption."""
    kind = "m.video" if media.mime.startswith("video/") else _KINDS[media.kind]
    shown = _styled(part.rendered if captioned and part.rendered.text.strip() else Rendered(media.name))
    info: JsonObject = {"mimetype": media.mime, "size": len(media.content)}
    return shown | {"msgtype": kind, "filename": media.name, "url": uri, "info": info} | _relation(part)


def to_edit(part: OutboundPart, event_id: str) -> JsonObject:
    """Return the content of an event that replaces our message."""
    return {
        "msgtype": "m.text",
        "body": f"* {part.rendered.text[:MAX_FALLBACK_CHARS]}",
        "m.mentions": {},
        "m.new_content": _styled(part.rendered) | {"msgtype": "m.text"},
        "m.relates_to": {"rel_type": "m.replace", "event_id": event_id},
    }


def _styled(rendered: Rendered) -> JsonObject:
    """Return the text, with its HTML unless both together are too long for an event. It mentions no one."""
    content: JsonObject = {"body": rendered.text, "m.mentions": {}}
    html = to_html(rendered)
    if html is None:
        return content
    styled = content | {"format": "org.matrix.custom.html", "formatted_body": html}
    return styled if len(orjson.dumps(styled)) <= MAX_CONTENT_BYTES else content


def _relation(part: OutboundPart) -> JsonObject:
    """Return the relation to the thread, or to the message replied to."""
    thread, reply_to = part.address.thread, part.reply_to
    relation: JsonObject = {}
    if reply_to is not None or thread is not None:
        relation["m.in_reply_to"] = {"event_id": reply_to or thread}
    if thread is not None:
        relation |= {"rel_type": "m.thread", "event_id": thread, "is_falling_back": reply_to is None}
    return {"m.relates_to": relation} if relation else {}
