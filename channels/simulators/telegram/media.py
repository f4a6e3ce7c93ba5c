"""The methods that carry files: sending one or an album, replacing a text by a file, and saying where a file is.

Limits: core.telegram.org/bots/api#sending-files and #getfile (2026-09). A file is what came with the call; sending by
URL or file_id is not simulated.
"""

import time
from dataclasses import replace
from uuid import uuid4

from pydantic import JsonValue

from channels.simulators.shared.history import Edit
from channels.simulators.telegram.checks import JsonObject, Refusal, formatted_caption
from channels.simulators.telegram.params import Params, UploadedFile
from channels.simulators.telegram.people import as_message, living
from channels.simulators.telegram.posting import Poster, keyboard_of, saying, writable
from channels.simulators.telegram.state import Bot, FileKind, Method, PersonFile, ShownFile, ShownMessage, World

MAX_UPLOAD_BYTES = 50_000_000
MAX_PHOTO_BYTES = 10_000_000
MAX_DOWNLOAD_BYTES = 20_000_000
_IMAGES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF", b"GIF8")


class MediaMethods:
    """Carries out what bots ask for with files."""

    def __init__(self, world: World, poster: Poster) -> None:
        self._world = world
        self._poster = poster

    def table(self) -> dict[str, Method]:
        """The methods by name."""
        return {
            "sendPhoto": lambda bot, params: self._send(bot, params, "photo"),
            "sendDocument": lambda bot, params: self._send(bot, params, "document"),
            "sendMediaGroup": self._send_group,
            "editMessageMedia": self._edit,
            "getFile": self._get_file,
        }

    def _send(self, bot: Bot, params: Params, kind: FileKind) -> JsonValue:
        writable(bot, params)
        params.refuse_parse_mode()
        says = saying(*formatted_caption(params.text("caption"), params.json("caption_entities")))
        says.file = _keep_file(bot, kind, params.own_file(kind))
        chat, (message,) = self._poster.post(bot, params, says)
        return as_message(self._world, bot, chat, message)

    def _send_group(self, bot: Bot, params: Params) -> JsonValue:
        writable(bot, params)
        items = [item for item in params.listing("media") if isinstance(item, dict)]
        kinds = {item.get("type") for item in items}
        if not 2 <= len(items) <= 10:
            raise Refusal(400, "Bad Request: wrong number of messages in an album: must be from 2 to 10")
        if len(kinds) != 1 or not kinds <= {"photo", "document"}:
            raise Refusal(400, "Bad Request: documents can't be mixed with other media types")
        if params.mapping("reply_markup"):
            raise Refusal(400, "Bad Request: reply markup can't be specified for an album")
        album = uuid4().hex
        chat, posted = self._poster.post(bot, params, *[_item(bot, params, item, album) for item in items])
        return [as_message(self._world, bot, chat, message) for message in posted]

    def _edit(self, bot: Bot, params: Params) -> JsonValue:
        chat = writable(bot, params)
        message = living(chat, params.integer("message_id"), "message to edit")
        if not message.by_bot:
            raise Refusal(400, "Bad Request: message can't be edited")
        keyboard = keyboard_of(params)
        says = _item(bot, params, params.mapping("media"), None)
        message.edits.append(Edit(says.text, time.monotonic()))
        message.file, message.text, message.entities, message.keyboard = says.file, says.text, says.entities, keyboard
        message.blocks = ()
        return as_message(self._world, bot, chat, message)

    def _get_file(self, bot: Bot, params: Params) -> JsonValue:
        stored = bot.files.get(params.text("file_id"))
        if stored is None:
            raise Refusal(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        if stored.shown.size_bytes > MAX_DOWNLOAD_BYTES:
            raise Refusal(400, "Bad Request: file is too big")
        return {
            "file_id": stored.shown.file_id,
            "file_unique_id": f"u{stored.shown.file_id}",
            "file_size": stored.shown.size_bytes,
            "file_path": stored.path,
        }


def _item(bot: Bot, params: Params, item: JsonObject, album: str | None) -> ShownMessage:
    """One file of an album, or the new one of a message."""
    kind: FileKind = "photo" if item.get("type") == "photo" else "document"
    caption = item.get("caption")
    says = saying(*formatted_caption(caption if isinstance(caption, str) else "", item.get("caption_entities")))
    says.file = replace(_keep_file(bot, kind, params.file(item.get("media"))), album=album)
    return says


def _keep_file(bot: Bot, kind: FileKind, file: UploadedFile | None) -> ShownFile:
    """Keep an uploaded file.

    Raises:
        Refusal: Telegram would not take it.
    """
    if file is None or not file.content:
        raise Refusal(400, f"Bad Request: there is no {kind} in the request")
    if len(file.content) > MAX_UPLOAD_BYTES:
        raise Refusal(413, "Request Entity Too Large")
    if kind == "photo" and len(file.content) > MAX_PHOTO_BYTES:
        raise Refusal(400, "Bad Request: file is too big for a photo; the maximum size is 10485760 bytes")
    if kind == "photo" and not file.content.startswith(_IMAGES):
        raise Refusal(400, "Bad Request: IMAGE_PROCESS_FAILED")
    return bot.keep_file(PersonFile(kind, file.content, file.name, file.mime))
