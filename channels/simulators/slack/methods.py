"""The Web API methods an app calls to say things, over the simulated world; reading and files live beside.

Error names are those of docs.slack.dev/reference/methods (read 2026-11). Each method is `(arguments) -> answer` or a
Refusal.
"""

import time
from collections.abc import Callable, Mapping

from channels.simulators.shared.history import Edit
from channels.simulators.slack.checks import Content, JsonObject, Refusal, check_content
from channels.simulators.slack.state import Chat, ShownMessage, World

Method = Callable[[JsonObject], JsonObject]


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
            "reactions.add": (self._react, "reactions:write"),
            "reactions.remove": (self._unreact, "reactions:write"),
            "assistant.threads.setStatus": (self._status, "assistant:write"),
            "assistant.threads.setSuggestedPrompts": (self._nothing, "assistant:write"),
            "assistant.threads.setTitle": (self._nothing, "assistant:write"),
            "views.open": (self._view, ""),
            "views.publish": (self._view, ""),
        }

    def _post(self, arguments: JsonObject) -> JsonObject:
        chat = self.writable(arguments)
        key = arguments.get("client_msg_id")
        if self._keys_count and isinstance(key, str) and key in chat.keys:
            first = chat.messages[chat.keys[key]]
            return {"channel": chat.id, "ts": first.ts, "message": as_message(self._world, first)}
        content = check_content(arguments.get("text"), arguments.get("blocks"))
        thread = thread_of(chat, arguments)
        self._pace(chat)
        message = self.post(chat, content, thread)
        message.unfurls = arguments.get("unfurl_links") is not False or arguments.get("unfurl_media") is not False
        message.metadata = metadata(arguments)
        if isinstance(key, str):
            message.key = key
            chat.keys[key] = message.ts
        return {"channel": chat.id, "ts": message.ts, "message": as_message(self._world, message)}

    def _whisper(self, arguments: JsonObject) -> JsonObject:
        chat = self.writable(arguments)
        user = str(arguments.get("user"))
        if chat.direct and user not in chat.members:
            raise Refusal("user_not_in_channel")
        message = self.post(
            chat, check_content(arguments.get("text"), arguments.get("blocks")), thread_of(chat, arguments)
        )
        message.ephemeral_for = user
        return {"message_ts": message.ts}

    def post(self, chat: Chat, content: Content, thread: str | None) -> ShownMessage:
        """A message of the app's."""
        app = self._world.the_app()
        message = ShownMessage(self._world.new_ts(), chat.id, app.user, True, "", time.monotonic(), thread=thread)
        message.take(content)
        chat.messages[message.ts] = message
        return message

    def post_files(self, arguments: JsonObject, files: list[JsonObject]) -> None:
        """Show files that were uploaded, in one message."""
        chat = self.writable(arguments)
        message = self.post(chat, check_content(arguments.get("text"), None, files=True), thread_of(chat, arguments))
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
        chat = self.writable(arguments)
        message = self.own(chat, arguments, "cant_update_message")
        if message.streaming:
            raise Refusal("streaming_state_conflict")
        content = check_content(arguments.get("text"), arguments.get("blocks"), updated=True)
        message.edits.append(Edit(content.text, time.monotonic()))
        message.edited_ts = self._world.new_ts()
        message.take(content)
        message.finished = True
        if "metadata" in arguments:
            message.metadata = metadata(arguments)
        return {"channel": chat.id, "ts": message.ts, "text": content.raw, "message": as_message(self._world, message)}

    def _delete(self, arguments: JsonObject) -> JsonObject:
        chat = self.writable(arguments)
        message = self.own(chat, arguments, "cant_delete_message")
        if message.streaming:
            raise Refusal("cant_delete_message")
        message.deleted = True
        return {"channel": chat.id, "ts": message.ts}

    def _react(self, arguments: JsonObject) -> JsonObject:
        message, who, name = self._reaction_asked(arguments)
        if who in message.reactions.get(name, set()):
            raise Refusal("already_reacted")
        message.reactions.setdefault(name, set()).add(who)
        return {}

    def _unreact(self, arguments: JsonObject) -> JsonObject:
        message, who, name = self._reaction_asked(arguments)
        if who not in message.reactions.get(name, set()):
            raise Refusal("no_reaction")
        message.reactions[name].discard(who)
        if not message.reactions[name]:
            del message.reactions[name]
        return {}

    def _reaction_asked(self, arguments: JsonObject) -> tuple[ShownMessage, str, str]:
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

    def writable(self, arguments: JsonObject) -> Chat:
        """The chat a call is for, where the app may write."""
        chat = self._world.known_chat(str(arguments.get("channel")))
        if self._world.the_app().user not in chat.members:
            raise Refusal("not_in_channel")
        if chat.archived:
            raise Refusal("is_archived")
        return chat

    def own(self, chat: Chat, arguments: JsonObject, otherwise: str) -> ShownMessage:
        """The app's message that a call is for; `otherwise` is the refusal where it is somebody else's."""
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
    if message.streamed:
        body["streaming_state"] = "in_progress" if message.streaming else "completed"
    if message.files:
        body["files"] = list(message.files)
        body["subtype"] = "file_share"
    return body


def thread_of(chat: Chat, arguments: JsonObject) -> str | None:
    """The thread a call is for; None: the chat itself."""
    thread = arguments.get("thread_ts")
    if thread is None:
        return None
    if str(thread) not in chat.messages:
        raise Refusal("thread_not_found")
    return str(thread)


def metadata(arguments: JsonObject) -> JsonObject | None:
    """The metadata a call carries."""
    told = arguments.get("metadata")
    if told is None:
        return None
    if not isinstance(told, dict) or not isinstance(told.get("event_payload"), dict):
        raise Refusal("invalid_metadata_format")
    return told
