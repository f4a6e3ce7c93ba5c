"""The Web API methods an app calls to say things, over the simulated world; reading and files live beside.

Error names are those of docs.slack.dev/reference/methods (read 2026-11). Each method is `(arguments) -> answer` or a
Refusal.
"""

import time
from collections.abc import Callable, Mapping

from channels.simulation.history import Edit
from channels.slack.simulator.checks import Content, JsonObject, Refusal, taken
from channels.slack.simulator.state import Chat, ShownMessage, World

Method = Callable[[JsonObject], JsonObject]

STREAM_CHARS = 12_000


class ChatMethods:
    """chat.*, reactions.*, assistant.*, views.*."""

    def __init__(self, world: World, *, per_chat_per_s: float | None, keys_count: bool) -> None:
        """See `SlackSimulator`."""
        self._world = world
        self._per_chat_per_s = per_chat_per_s
        self._keys_count = keys_count
        self.table: Mapping[str, tuple[Method, str]] = {
            "chat.postMessage": (self._post, "chat:write"),
            "chat.postEphemeral": (self._whisper, "chat:write"),
            "chat.update": (self._update, "chat:write"),
            "chat.delete": (self._delete, "chat:write"),
            "chat.startStream": (self._start_stream, "chat:write"),
            "chat.appendStream": (self._append_stream, "chat:write"),
            "chat.stopStream": (self._stop_stream, "chat:write"),
            "reactions.add": (self._react, "reactions:write"),
            "reactions.remove": (self._unreact, "reactions:write"),
            "assistant.threads.setStatus": (self._status, "assistant:write"),
            "assistant.threads.setSuggestedPrompts": (self._nothing, "assistant:write"),
            "assistant.threads.setTitle": (self._nothing, "assistant:write"),
            "views.open": (self._view, ""),
            "views.publish": (self._view, ""),
        }

    def _post(self, arguments: JsonObject) -> JsonObject:
        chat = self._writable(arguments)
        key = arguments.get("client_msg_id")
        if self._keys_count and isinstance(key, str) and key in chat.keys:
            first = chat.messages[chat.keys[key]]
            return {"channel": chat.id, "ts": first.ts, "message": as_message(self._world, first)}
        content = taken(arguments.get("text"), arguments.get("blocks"))
        thread = _thread(chat, arguments)
        self._pace(chat)
        message = self._said(chat, content, thread)
        message.unfurls = arguments.get("unfurl_links") is not False or arguments.get("unfurl_media") is not False
        message.metadata = _metadata(arguments)
        if isinstance(key, str):
            message.key = key
            chat.keys[key] = message.ts
        return {"channel": chat.id, "ts": message.ts, "message": as_message(self._world, message)}

    def _whisper(self, arguments: JsonObject) -> JsonObject:
        chat = self._writable(arguments)
        user = str(arguments.get("user"))
        if chat.direct and user not in chat.members:
            raise Refusal("user_not_in_channel")
        message = self._said(chat, taken(arguments.get("text"), arguments.get("blocks")), _thread(chat, arguments))
        message.ephemeral_for = user
        return {"message_ts": message.ts}

    def _said(self, chat: Chat, content: Content, thread: str | None) -> ShownMessage:
        app = self._world.the_app()
        message = ShownMessage(self._world.new_ts(), chat.id, app.user, True, "", time.monotonic(), thread=thread)
        message.take(content)
        chat.messages[message.ts] = message
        return message

    def post_files(self, arguments: JsonObject, files: list[JsonObject]) -> None:
        """Show files that were uploaded, in one message."""
        chat = self._writable(arguments)
        message = self._said(chat, taken(arguments.get("text"), None, files=True), _thread(chat, arguments))
        message.files = files

    def _pace(self, chat: Chat) -> None:
        """With limits on: a burst of three passes, then the rate holds."""
        if self._per_chat_per_s is None:
            return
        gap_s = 1 / self._per_chat_per_s
        now_s = time.monotonic()
        wait_s = chat.next_send_s - now_s - 2 * gap_s
        if wait_s > 0:
            raise Refusal("ratelimited", status=429, more={"retry_after": int(wait_s) + 1})
        chat.next_send_s = max(chat.next_send_s, now_s) + gap_s

    def _update(self, arguments: JsonObject) -> JsonObject:
        chat = self._writable(arguments)
        message = self._own(chat, arguments, "cant_update_message")
        if message.streaming:
            raise Refusal("streaming_state_conflict")
        content = taken(arguments.get("text"), arguments.get("blocks"), updated=True)
        message.edits.append(Edit(content.text, time.monotonic()))
        message.edited_ts = self._world.new_ts()
        message.take(content)
        if "metadata" in arguments:
            message.metadata = _metadata(arguments)
        return {"channel": chat.id, "ts": message.ts, "text": content.raw, "message": as_message(self._world, message)}

    def _delete(self, arguments: JsonObject) -> JsonObject:
        chat = self._writable(arguments)
        message = self._own(chat, arguments, "cant_delete_message")
        message.deleted = True
        return {"channel": chat.id, "ts": message.ts}

    def _start_stream(self, arguments: JsonObject) -> JsonObject:
        chat = self._writable(arguments)
        thread = _thread(chat, arguments)
        if thread is None:
            raise Refusal("invalid_arguments")
        if not chat.direct and not (arguments.get("recipient_user_id") and arguments.get("recipient_team_id")):
            raise Refusal("missing_recipient_user_id")
        text = _streamed(arguments)
        message = self._said(chat, Content(text, text, (), ()), thread)
        message.streaming = True
        return {"channel": chat.id, "ts": message.ts}

    def _append_stream(self, arguments: JsonObject) -> JsonObject:
        message = self._streaming(arguments)
        text = _streamed(arguments)
        if not text:
            raise Refusal("no_text")
        message.text += text
        message.edits.append(Edit(message.text, time.monotonic()))
        return {"channel": message.chat, "ts": message.ts}

    def _stop_stream(self, arguments: JsonObject) -> JsonObject:
        message = self._streaming(arguments)
        message.text += _streamed(arguments)
        message.streaming = False
        message.metadata = _metadata(arguments) or message.metadata
        return {"channel": message.chat, "ts": message.ts, "message": as_message(self._world, message)}

    def _streaming(self, arguments: JsonObject) -> ShownMessage:
        message = self._own(self._writable(arguments), arguments, "cant_update_message")
        if not message.streaming:
            raise Refusal("message_not_in_streaming_state")
        return message

    def _react(self, arguments: JsonObject) -> JsonObject:
        message, who, name = self._reacted(arguments)
        if who in message.reactions.get(name, set()):
            raise Refusal("already_reacted")
        message.reactions.setdefault(name, set()).add(who)
        return {}

    def _unreact(self, arguments: JsonObject) -> JsonObject:
        message, who, name = self._reacted(arguments)
        if who not in message.reactions.get(name, set()):
            raise Refusal("no_reaction")
        message.reactions[name].discard(who)
        if not message.reactions[name]:
            del message.reactions[name]
        return {}

    def _reacted(self, arguments: JsonObject) -> tuple[ShownMessage, str, str]:
        chat = self._world.known_chat(str(arguments.get("channel")))
        name = str(arguments.get("name", ""))
        if not name or not name.replace("_", "").replace("-", "").replace("+", "").isalnum():
            raise Refusal("invalid_name")
        return self._world.message(chat, str(arguments.get("timestamp"))), self._world.the_app().user, name

    def _status(self, arguments: JsonObject) -> JsonObject:
        chat = self._world.known_chat(str(arguments.get("channel_id")))
        chat.statuses.append((str(arguments.get("thread_ts")), str(arguments.get("status")), time.monotonic()))
        return {}

    def _nothing(self, arguments: JsonObject) -> JsonObject:
        return {}

    def _view(self, arguments: JsonObject) -> JsonObject:
        view = arguments.get("view")
        if not isinstance(view, dict):
            raise Refusal("invalid_arguments")
        self._world.views.append(view)
        return {"view": view}

    def _writable(self, arguments: JsonObject) -> Chat:
        """The chat a call is for, where the app may write."""
        chat = self._world.known_chat(str(arguments.get("channel")))
        if self._world.the_app().user not in chat.members:
            raise Refusal("not_in_channel")
        if chat.archived:
            raise Refusal("is_archived")
        return chat

    def _own(self, chat: Chat, arguments: JsonObject, otherwise: str) -> ShownMessage:
        message = self._world.message(chat, str(arguments.get("ts")))
        if not message.by_bot:
            raise Refusal(otherwise)
        return message


def as_message(world: World, message: ShownMessage) -> JsonObject:
    """A message as Slack's API and events write it."""
    app = world.the_app()
    body: JsonObject = {
        "type": "message", "user": message.user, "text": message.raw if message.by_bot else message.text,
        "ts": message.ts, "team": app.team,
    }  # fmt: skip
    if message.by_bot:
        body |= {"bot_id": app.bot, "app_id": app.app}
    if message.blocks:
        body["blocks"] = list(message.blocks)
    if message.thread is not None:
        body["thread_ts"] = message.thread
        root = world.chats[message.chat].messages.get(message.thread)
        if root is not None and root is not message:
            body["parent_user_id"] = root.user
    if message.edited_ts is not None:
        body["edited"] = {"user": message.user, "ts": message.edited_ts}
    if message.files:
        body["files"] = list(message.files)
        body["subtype"] = "file_share"
    return body


def _thread(chat: Chat, arguments: JsonObject) -> str | None:
    thread = arguments.get("thread_ts")
    if thread is None:
        return None
    if str(thread) not in chat.messages:
        raise Refusal("thread_not_found")
    return str(thread)


def _metadata(arguments: JsonObject) -> JsonObject | None:
    metadata = arguments.get("metadata")
    if metadata is None:
        return None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("event_payload"), dict):
        raise Refusal("invalid_metadata_format")
    return metadata


def _streamed(arguments: JsonObject) -> str:
    text = arguments.get("markdown_text")
    pieces = [text] if isinstance(text, str) else []
    chunks = arguments.get("chunks")
    pieces += [
        str(chunk.get("text", ""))
        for chunk in (chunks if isinstance(chunks, list) else [])
        if isinstance(chunk, dict) and chunk.get("type") == "markdown_text"
    ]
    joined = "".join(pieces)
    if len(joined) > STREAM_CHARS:
        raise Refusal("msg_too_long")
    return joined
