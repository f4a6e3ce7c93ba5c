"""Conversion of a part to one Bot API call, with its parameters and files. Pure.

One part is always one call. A text too long for a caption raises `Permanent`: a separate message would be a second
call, and no key could tell which of the two was made (see `Limits.max_caption`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from channels.base import TextUnit
from channels.errors import Permanent
from channels.foreign import JsonObject, decode_json
from channels.messages import Address, AttachmentKind, Button, ButtonStyle, OutboundMedia, OutboundPart, Rendered
from channels.telegram.limits import MAX_ALBUM, MAX_CAPTION_UTF16, MAX_PHOTO_BYTES
from channels.telegram.rich import classic, rich_message

ROW_CHARS = 30  # of all labels in a row of buttons: a phone cuts more
ROW_BUTTONS = 3
NAME_CHARS = 64
_SENDING = {"photo": "sendPhoto", "voice": "sendVoice", "document": "sendDocument"}
_VOICE_TYPES = frozenset({"audio/ogg", "audio/mpeg", "audio/mp4"})
_PHOTO_TYPES = frozenset({"image/jpeg", "image/png", "image/webp"})
_UNSAFE = re.compile(r"[^\w .()+-]+")
_STYLES = {ButtonStyle.PRIMARY: "primary", ButtonStyle.DANGER: "danger"}


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to upload with a call, and the form field that carries it."""

    field: str
    name: str
    mime: str
    content: bytes


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One Bot API call."""

    method: str
    body: JsonObject
    files: tuple[Upload, ...] = ()


def to_send_call(part: OutboundPart) -> ApiCall:
    """Return the call that sends a part.

    Raises:
        Permanent: Telegram has no single call for this.
    """
    body = _where(part.address)
    if part.reply_to is not None:
        # If the question was deleted, the answer goes without a reference to it.
        body["reply_parameters"] = {"message_id": int(part.reply_to), "allow_sending_without_reply": True}
    if len(part.media) > 1:
        return _album(part, body)
    body |= _keyboard(part.buttons)
    if part.media:
        kind, upload = _file(part.media[0], 0)
        return ApiCall(_SENDING[kind], body | _file_parameter(kind, upload) | _caption(part.rendered), (upload,))
    rich = rich_message(part.rendered)
    if rich is not None:
        return ApiCall("sendRichMessage", body | {"rich_message": rich})
    return ApiCall("sendMessage", body | _text(part.rendered))


def to_edit_call(part: OutboundPart, message_id: str) -> ApiCall:
    """Return the call that replaces our message with a part, including its buttons.

    Raises:
        Permanent: Telegram has no single call for this.
    """
    body: JsonObject = {"chat_id": part.address.chat, "message_id": int(message_id), **_keyboard(part.buttons)}
    if len(part.media) > 1:
        raise Permanent("Telegram puts one file at most into an existing message")
    if part.media:
        kind, upload = _file(part.media[0], 0)
        media = _file_parameter("media", upload) | {"type": kind} | _caption(part.rendered)
        return ApiCall("editMessageMedia", body | {"media": media}, (upload,))
    rich = rich_message(part.rendered)
    if rich is not None:
        return ApiCall("editMessageText", body | {"rich_message": rich})
    return ApiCall("editMessageText", body | _text(part.rendered))


def to_draft_call(address: Address, draft_id: int, rendered: Rendered) -> ApiCall:
    """Return the call that shows a draft."""
    body = _where(address) | {"draft_id": draft_id}
    rich = rich_message(rendered)
    if rich is not None:
        return ApiCall("sendRichMessageDraft", body | {"rich_message": rich})
    text, entities = classic(rendered)
    return ApiCall("sendMessageDraft", body | {"text": text} | _entities("entities", entities))


def _where(address: Address) -> JsonObject:
    body: JsonObject = {"chat_id": address.chat}
    if address.thread is not None:
        body["message_thread_id"] = int(address.thread)
    return body


def _text(rendered: Rendered) -> JsonObject:
    text, entities = classic(rendered)
    # A fetched preview could carry data out.
    body: JsonObject = {"text": text, "link_preview_options": {"is_disabled": True}}
    return body | _entities("entities", entities)


def _caption(rendered: Rendered) -> JsonObject:
    text, entities = classic(rendered)
    if not text:
        return {}
    body: JsonObject = {"caption": text}
    length = TextUnit.UTF16.measure(text)
    if length > MAX_CAPTION_UTF16:
        raise Permanent(f"a text of {length} units does not fit under a file, where Telegram takes {MAX_CAPTION_UTF16}")
    if entities is not None:
        body["caption_entities"] = decode_json(entities)  # a nested object inside an album or an edit
    return body


def _entities(name: str, markup: str | None) -> JsonObject:
    return {} if markup is None else {name: markup}  # JSON already; the Bot API accepts it as text


def _album(part: OutboundPart, body: JsonObject) -> ApiCall:
    """Return the call for several files as one album; photos become documents if any file is a document."""
    if part.buttons:
        raise Permanent("Telegram shows no buttons under several files; send the files and the buttons apart")
    if len(part.media) > MAX_ALBUM:
        raise Permanent(f"Telegram takes {MAX_ALBUM} files at once, not {len(part.media)}")
    files = [_file(media, index) for index, media in enumerate(part.media)]
    kind = "photo" if all(kind == "photo" for kind, _ in files) else "document"
    items = [_file_parameter("media", upload) | {"type": kind} for _, upload in files]
    items[0] |= _caption(part.rendered)
    return ApiCall("sendMediaGroup", {**body, "media": list(items)}, tuple(upload for _, upload in files))


def _file(media: OutboundMedia, index: int) -> tuple[str, Upload]:
    """Return the type Telegram shows a file as, and the upload; what Telegram would refuse becomes a document."""
    small = len(media.content) <= MAX_PHOTO_BYTES
    photo = media.kind is AttachmentKind.PHOTO and media.mime in _PHOTO_TYPES and small
    voice = media.kind is AttachmentKind.VOICE and media.mime in _VOICE_TYPES
    upload = Upload(f"file{index}", file_name(media.name), media.mime, media.content)
    return "photo" if photo else "voice" if voice else "document", upload


def _file_parameter(name: str, upload: Upload) -> JsonObject:
    return {name: f"attach://{upload.field}"}


def file_name(name: str) -> str:
    """Return a file name without path separators and characters that are unsafe in a file system or a header."""
    last = name.replace("\\", "/").rpartition("/")[2]
    safe = _UNSAFE.sub("_", last)[-NAME_CHARS:].strip(" .")
    return safe or "file"


def _keyboard(buttons: Sequence[Button]) -> JsonObject:
    """Return the buttons in rows; an empty object without buttons."""
    rows: list[list[Button]] = []
    for button in buttons:
        row = rows[-1] if rows else []
        room = ROW_CHARS - sum(len(placed.label) for placed in row)
        if row and len(row) < ROW_BUTTONS and len(button.label) <= room:
            row.append(button)
        else:
            rows.append([button])
    keys: list[JsonValue] = [[_as_key(key) for key in row] for row in rows]
    return {"reply_markup": {"inline_keyboard": keys}} if keys else {}


def _as_key(button: Button) -> JsonValue:
    key: JsonObject = {"text": button.label, "callback_data": button.data}
    if button.style in _STYLES:
        key["style"] = _STYLES[button.style]
    return key
