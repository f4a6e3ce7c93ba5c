"""Messages that grow: chat.startStream, chat.appendStream, chat.stopStream.

Sources: docs.slack.dev/reference/methods (read 2026-11); what they do not say, from those who measured it: a stream
ends by itself about five minutes after its start, active or not, and is left broken (slackapi/python-slack-sdk#1859,
slackapi/node-slack-sdk#2702); all of one holds no more than 12,000 characters (CopilotKit/CopilotKit#6064).
"""

import time
from collections import deque
from collections.abc import Mapping

from channels.simulators.shared.world import Edit, JsonObject, objects_in
from channels.simulators.slack.checks import Content, Refusal, check_content, markdown_as_shown, pings_in
from channels.simulators.slack.methods import ChatMethods, Method, metadata, thread_of
from channels.simulators.slack.state import ShownMessage, SlackWorld

STREAM_CHARS = 12_000


class StreamMethods:
    """A stream is a message without key or metadata until it is stopped."""

    def __init__(self, world: SlackWorld, chats: ChatMethods) -> None:
        self._world = world
        self._chats = chats
        self._calls: dict[str, deque[float]] = {}  # of the last minute, by method
        self.table: Mapping[str, tuple[Method, str]] = {
            "chat.startStream": (self._start, "chat:write"),
            "chat.appendStream": (self._append, "chat:write"),
            "chat.stopStream": (self._stop, "chat:write"),
        }

    def _start(self, arguments: JsonObject) -> JsonObject:
        chat = self._chats.writable(arguments)
        thread = thread_of(chat, arguments)
        if thread is None:
            raise Refusal("invalid_arguments")
        if not chat.direct:
            for name in ("recipient_team_id", "recipient_user_id"):
                if not arguments.get(name):
                    raise Refusal(f"missing_{name}")
        text = _text(arguments)
        self._pace("chat.startStream")
        message = self._world.post(chat, Content("", "", (), ()), thread)
        message.streamed, message.unfurls = True, False
        message.stream_ends_s = time.monotonic() + self._world.stream_lasts_s
        _grow(message, text)
        return {"channel": chat.id, "ts": message.message_id}

    def _append(self, arguments: JsonObject) -> JsonObject:
        message = self._open(arguments)
        text = _text(arguments)
        if not text:
            raise Refusal("no_text")
        _grow(message, text)
        message.edits.append(Edit(message.text))
        return {"channel": message.chat_id, "ts": message.message_id}

    def _stop(self, arguments: JsonObject) -> JsonObject:
        message = self._open(arguments)
        text, below = _text(arguments), objects_in(arguments.get("blocks"))
        told = metadata(arguments)
        check_content("x", [*below])  # refused where Slack would not show them
        self._pace("chat.stopStream")
        _grow(message, text)
        shown: list[JsonObject] = [_rich_text(message.text)] if message.text else []
        message.take(Content(message.text, message.raw, (*shown, *below), message.pings))
        message.finished, message.stream_ends_s, message.metadata = True, 0.0, told
        return {"channel": message.chat_id, "ts": message.message_id, "message": self._world.as_message(message)}

    def _open(self, arguments: JsonObject) -> ShownMessage:
        message = self._chats.own(self._chats.writable(arguments), arguments, "message_not_owned_by_app")
        if not message.streaming:
            raise Refusal("message_not_in_streaming_state")
        return message

    def _pace(self, method: str) -> None:
        """Refuse more than so many a minute over the whole workspace, each method by itself, with limits on."""
        if self._world.streams_per_min is None:
            return
        calls = self._calls.setdefault(method, deque())
        now_s = time.monotonic()
        while calls and calls[0] <= now_s - 60:
            calls.popleft()
        if len(calls) >= self._world.streams_per_min:
            raise Refusal("ratelimited", status=429, more={"retry_after": int(calls[0] + 60 - now_s) + 1})
        calls.append(now_s)


def _text(arguments: JsonObject) -> str:
    """Return what is to be appended, in either of its two forms."""
    text = arguments.get("markdown_text")
    pieces = [text] if isinstance(text, str) else []
    chunks = [chunk for chunk in objects_in(arguments.get("chunks")) if chunk.get("type") == "markdown_text"]
    joined = "".join([*pieces, *[str(chunk.get("text", "")) for chunk in chunks]])
    if len(joined) > STREAM_CHARS:
        raise Refusal("msg_too_long")
    return joined


def _grow(message: ShownMessage, text: str) -> None:
    """Append; blanks at a join may be lost, so they are here."""
    whole = message.raw + (text.lstrip() if message.raw else text)
    if len(whole) > STREAM_CHARS:
        raise Refusal("msg_too_long")
    message.unfurls = message.unfurls or "://" in text
    message.take(Content(markdown_as_shown(whole), whole, (), pings_in([whole])))


def _rich_text(text: str) -> JsonObject:
    """Return what Slack makes of streamed text, its looks left out."""
    section: JsonObject = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [section]}
