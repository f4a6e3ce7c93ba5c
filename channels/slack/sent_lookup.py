"""Lookup of sent messages: a part by its key, and one message by its ts."""

from datetime import datetime, timedelta

from pydantic import JsonValue

from channels.errors import Permanent, PermanentKind
from channels.foreign import JsonObject
from channels.messages import Address, OutboundPart, Receipt
from channels.slack.files import FILE_ID, comment_of
from channels.slack.mrkdwn import unescape
from channels.slack.payloads import EVENT_TYPE
from channels.slack.wire import SlackWire, next_cursor

LOOK_BACK = timedelta(hours=25)  # delivery gives up after a day
FILES_LOOK_BACK = timedelta(minutes=15)  # files carry no key, so recent names and text are compared
PAGE = 200
MOST_PAGES = 5


async def find_sent(wire: SlackWire, part: OutboundPart, bot_user: str, now: datetime) -> Receipt | None:
    """Return the receipt of an earlier attempt; None if it did not arrive. `bot_user` is our bot's user id.

    A stream has no key before its end. A chat's messages are sent one after another, so a stream in this thread that is
    newer than every message with a key is the one begun for this placeholder.
    """
    thread = part.address.thread
    method = "conversations.history" if thread is None else "conversations.replies"
    since = now - (FILES_LOOK_BACK if part.media else LOOK_BACK)
    arguments: dict[str, str | int | bool] = {
        "channel": part.address.chat,
        "oldest": f"{since.timestamp():.6f}",
        "include_all_metadata": True,
        "limit": PAGE,
    }
    if thread is not None:
        arguments["ts"] = thread
    begun: Receipt | None = None
    for _ in range(MOST_PAGES):
        messages, cursor = await _page(wire, method, arguments)
        for message in messages:
            if (found := _said_by(message, part, bot_user)) is not None:
                return found
            if part.unfinished and thread is not None:
                begun = _open_stream(message, thread, bot_user, begun)
        if not cursor:
            return begun
        arguments["cursor"] = cursor
    return None


async def _page(wire: SlackWire, method: str, arguments: dict[str, str | int | bool]) -> tuple[list[JsonObject], str]:
    """Return the messages of one page, and the next page's cursor or ""."""
    answer = await wire.get(method, **arguments)
    messages = answer.get("messages")
    found = [message for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []
    return found, next_cursor(answer)


def _open_stream(message: JsonObject, thread: str, bot_user: str, before: Receipt | None) -> Receipt | None:
    """Return our newest unfinished stream, down to this message of a thread."""
    if message.get("user") != bot_user or message.get("ts") == thread:
        return before
    if _key(message) is not None:
        return None
    empty = not str(message.get("text") or "").strip() and not message.get("files")
    return Receipt(str(message.get("ts"))) if empty or "streaming_state" in message else before


async def message_at(wire: SlackWire, address: Address, ts: str) -> JsonObject:
    """Return one message of a chat or thread.

    Raises:
        ApiRefusal, Retryable, Unknown: see `SlackWire`.
        Permanent: it was deleted.
    """
    arguments: dict[str, str | int | bool] = {
        "channel": address.chat,
        "oldest": ts,
        "latest": ts,
        "inclusive": True,
        "limit": 2,
    }
    method = "conversations.history"
    if address.thread is not None:
        method, arguments["ts"] = "conversations.replies", address.thread
    messages = (await wire.get(method, **arguments)).get("messages")
    for message in messages if isinstance(messages, list) else []:
        if isinstance(message, dict) and message.get("ts") == ts:
            return message
    raise Permanent("the message is gone", PermanentKind.TARGET_GONE)


def _said_by(message: JsonObject, part: OutboundPart, bot_user: str) -> Receipt | None:
    if part.media:
        return _files_of(message, part) if message.get("user") == bot_user else None
    return Receipt(str(message.get("ts"))) if _key(message) == part.idem_key else None


def _key(message: JsonObject) -> JsonValue:
    """Return our key in a message's metadata, or None."""
    metadata = message.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("event_type") != EVENT_TYPE:
        return None
    payload = metadata.get("event_payload")
    return payload.get("key") if isinstance(payload, dict) else None


def _files_of(message: JsonObject, part: OutboundPart) -> Receipt | None:
    files = message.get("files")
    found: list[JsonObject] = [file for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    names: list[JsonValue] = [file.get("title") for file in found]
    if not found or names != [media.name for media in part.media]:
        return None
    same = unescape(str(message.get("text") or "")).strip() == unescape(comment_of(part)).strip()
    return Receipt(FILE_ID + str(found[0].get("id"))) if same else None
