"""The Web API methods of an app, over the simulated world; streams live beside.

Error names are those of docs.slack.dev/reference/methods (read 2026-11). Each method is `(arguments) -> answer` or a
Refusal.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from channels.simulators.shared.world import Edit, File, JsonObject, objects_in
from channels.simulators.slack.checks import Refusal, check_content
from channels.simulators.slack.state import ShownMessage, SlackChat, SlackWorld

Method = Callable[[JsonObject], JsonObject]

MAX_PAGE = 999
SCOPES_OF = {"public_channel": "channels", "private_channel": "groups", "mpim": "mpim", "im": "im"}


class ChatMethods:
    """chat.*, reactions.*, assistant.*: what an app says."""

    def __init__(self, world: SlackWorld, *, per_chat_per_s: float | None, keys_count: bool) -> None:
        """Take the world and two settings of `SlackSimulator`."""
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
        }

    def _post(self, arguments: JsonObject) -> JsonObject:
        chat = self.writable(arguments)
        key = arguments.get("client_msg_id")
        if self._keys_count and isinstance(key, str) and key in chat.keys:
            return self._as_posted(chat, chat.messages[chat.keys[key]])
        content = check_content(arguments.get("text"), arguments.get("blocks"))
        thread = thread_of(chat, arguments)
        wait_s = chat.pace(self._per_chat_per_s)
        if wait_s:
            raise Refusal("ratelimited", status=429, more={"retry_after": wait_s})
        message = self._world.post(chat, content, thread)
        message.unfurls = arguments.get("unfurl_links") is not False or arguments.get("unfurl_media") is not False
        message.metadata = metadata(arguments)
        if isinstance(key, str):
            message.key = key
            chat.keys[key] = message.message_id
        return self._as_posted(chat, message)

    def _as_posted(self, chat: SlackChat, message: ShownMessage) -> JsonObject:
        return {"channel": chat.id, "ts": message.message_id, "message": self._world.as_message(message)}

    def _whisper(self, arguments: JsonObject) -> JsonObject:
        chat = self.writable(arguments)
        user = str(arguments.get("user"))
        if chat.direct and user not in chat.members:
            raise Refusal("user_not_in_channel")
        content = check_content(arguments.get("text"), arguments.get("blocks"))
        message = self._world.post(chat, content, thread_of(chat, arguments))
        message.only_for = user
        return {"message_ts": message.message_id}

    def _update(self, arguments: JsonObject) -> JsonObject:
        chat = self.writable(arguments)
        message = self.own(chat, arguments, "cant_update_message")
        if message.streaming:
            raise Refusal("streaming_state_conflict")
        content = check_content(arguments.get("text"), arguments.get("blocks"), updated=True)
        message.edits.append(Edit(content.text))
        message.edited_ts = self._world.new_ts()
        message.take(content)
        message.finished = True
        if "metadata" in arguments:
            message.metadata = metadata(arguments)
        return self._as_posted(chat, message) | {"text": content.raw}

    def _delete(self, arguments: JsonObject) -> JsonObject:
        chat = self.writable(arguments)
        message = self.own(chat, arguments, "cant_delete_message")
        if message.streaming:
            raise Refusal("cant_delete_message")
        message.deleted = True
        return {"channel": chat.id, "ts": message.message_id}

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
        message.unreact(who, name)
        return {}

    def _reaction_asked(self, arguments: JsonObject) -> tuple[ShownMessage, str, str]:
        chat = self._world.known_chat(str(arguments.get("channel")))
        name = str(arguments.get("name", ""))
        if not name or not name.replace("_", "").replace("-", "").replace("+", "").isalnum():
            raise Refusal("invalid_name")
        return chat.living(str(arguments.get("timestamp"))), self._world.the_app().user, name

    def _status(self, arguments: JsonObject) -> JsonObject:
        chat = self._world.known_chat(str(arguments.get("channel_id")))
        chat.set_status(str(arguments.get("thread_ts")), str(arguments.get("status")))
        return {}

    def writable(self, arguments: JsonObject) -> SlackChat:
        """Return the chat a call is for, if the app may write there."""
        chat = self._world.known_chat(str(arguments.get("channel")))
        if self._world.the_app().user not in chat.members:
            raise Refusal("not_in_channel")
        if chat.archived:
            raise Refusal("is_archived")
        return chat

    def own(self, chat: SlackChat, arguments: JsonObject, otherwise: str) -> ShownMessage:
        """Return the app's message that a call is for; `otherwise` is the refusal if it is a person's."""
        message = chat.living(str(arguments.get("ts")))
        if not message.by_bot:
            raise Refusal(otherwise)
        return message


class ReadingMethods:
    """conversations.*, users.*, auth.test, files.*: what an app reads and uploads."""

    def __init__(self, world: SlackWorld, chats: ChatMethods) -> None:
        self._world = world
        self._chats = chats
        self._uploads: dict[str, File] = {}
        self.table: Mapping[str, tuple[Method, str]] = {
            "auth.test": (self._auth, ""),
            "users.info": (self._user, "users:read"),
            "users.conversations": (self._mine, ""),
            "conversations.open": (self._open, "im:write"),
            "conversations.history": (self._history, ""),
            "conversations.replies": (self._replies, ""),
            "files.info": (self._file, "files:read"),
            "files.getUploadURLExternal": (self._upload_url, "files:write"),
            "files.completeUploadExternal": (self._complete, "files:write"),
        }

    def _auth(self, arguments: JsonObject) -> JsonObject:
        app = self._world.the_app()
        self._world.introductions += 1
        return {
            "url": f"{self._world.base_url}/",
            "team": "Simulated",
            "user": app.name,
            "team_id": app.team,
            "user_id": app.user,
            "bot_id": app.bot,
            "is_enterprise_install": False,
        }

    def _user(self, arguments: JsonObject) -> JsonObject:
        user = str(arguments.get("user"))
        self._world.looked_up.append(user)
        person = self._world.people.get(user)
        if person is None:
            raise Refusal("user_not_found")
        asked = _is_true(arguments.get("include_locale")) and person.locale
        told: JsonObject = {"locale": person.locale} if asked else {}
        return {"user": {**person.as_user(user, self._world.the_app().team), **told}}

    def _mine(self, arguments: JsonObject) -> JsonObject:
        us = self._world.the_app().user
        kinds = [SCOPES_OF[kind] for kind in str(arguments.get("types") or "public_channel").split(",")]
        for kind in kinds:
            self._world.the_app().must_have(f"{kind}:read")
        ours = [chat for chat in self._world.chats.values() if us in chat.members and chat.scope in kinds]
        return _page("channels", [chat.as_chat() for chat in ours], arguments)

    def _open(self, arguments: JsonObject) -> JsonObject:
        user = str(arguments.get("users"))
        if not user.startswith("U"):
            raise Refusal("user_not_found")
        return {"channel": {"id": self._world.chat("D" + user[1:]).id}}

    def _history(self, arguments: JsonObject) -> JsonObject:
        chat = self._readable(arguments)
        found = [message for message in chat.public() if message.thread in (None, message.message_id)]
        return self._messages(found[::-1], arguments, chat)

    def _replies(self, arguments: JsonObject) -> JsonObject:
        chat = self._readable(arguments)
        thread = str(arguments.get("ts"))
        if thread not in chat.messages:
            raise Refusal("thread_not_found")
        found = [message for message in chat.public() if thread in (message.message_id, message.thread)]
        return self._messages(found, arguments, chat)

    def _readable(self, arguments: JsonObject) -> SlackChat:
        """Return the chat whose messages are asked for."""
        chat = self._world.known_chat(str(arguments.get("channel")))
        self._world.the_app().must_have(f"{chat.scope}:history")
        return chat

    def _messages(self, found: list[ShownMessage], arguments: JsonObject, chat: SlackChat) -> JsonObject:
        oldest, latest = _number(arguments.get("oldest"), 0.0), _number(arguments.get("latest"), float("inf"))
        ends = (oldest, latest) if _is_true(arguments.get("inclusive")) else ()
        within = [
            message
            for message in found
            if oldest < float(message.message_id) < latest or float(message.message_id) in ends
        ]
        page = _page("messages", [self._as_listed(message, chat, arguments) for message in within], arguments)
        response = page["response_metadata"]
        return page | {"has_more": bool(response["next_cursor"]) if isinstance(response, dict) else False}

    def _as_listed(self, message: ShownMessage, chat: SlackChat, arguments: JsonObject) -> JsonObject:
        body = self._world.as_message(message)
        replies = [reply for reply in chat.public() if reply.thread == message.message_id and reply is not message]
        if replies:
            who: list[JsonValue] = [*sorted({reply.sender_id for reply in replies})]
            body |= {"thread_ts": message.message_id, "reply_count": len(replies), "reply_users": who[:5]}
        if message.metadata is not None and _is_true(arguments.get("include_all_metadata")):
            body["metadata"] = message.metadata
        return body

    # ------------------------------------------------------------ files

    def _file(self, arguments: JsonObject) -> JsonObject:
        file = self._world.files.get(str(arguments.get("file")))
        if file is None:
            raise Refusal("file_not_found")
        return {"file": self._world.as_file(file)}

    def _upload_url(self, arguments: JsonObject) -> JsonObject:
        length = int(_number(arguments.get("length"), 0))
        name = str(arguments.get("filename") or "")
        if not name or length < 1:
            raise Refusal("invalid_arguments")
        file_id = self._world.new_name("F")
        mime = "application/octet-stream"
        self._uploads[file_id] = File("document", b"", name, mime, told_bytes=length, id=file_id)
        return {"upload_url": f"{self._world.base_url}/upload/v1/{file_id}", "file_id": file_id}

    def take_upload(self, file_id: str, content: bytes) -> bool:
        """Take a file's bytes. Return False if its URL was not asked for, or its length is another."""
        file = self._uploads.get(file_id)
        if file is None or len(content) != file.size:
            return False
        self._uploads[file_id] = replace(file, content=content)
        return True

    def _complete(self, arguments: JsonObject) -> JsonObject:
        files: list[File] = []
        for entry in objects_in(arguments.get("files")):
            file = self._uploads.pop(str(entry.get("id")), None)
            if file is None or len(file.content) != file.size:
                raise Refusal("file_not_found")
            self._world.files[file.id] = file
            files.append(file)
        if not files:
            raise Refusal("invalid_arguments")
        shared = arguments.get("channel_id")
        if isinstance(shared, str):
            chat = self._chats.writable({"channel": shared})
            content = check_content(arguments.get("initial_comment"), None, files=True)
            self._world.post(chat, content, thread_of(chat, arguments)).files = files
        return {"files": [self._world.as_file(file) for file in files]}


def thread_of(chat: SlackChat, arguments: JsonObject) -> str | None:
    """Return the thread a call is for; None: the chat itself."""
    thread = arguments.get("thread_ts")
    if thread is None:
        return None
    if str(thread) not in chat.messages:
        raise Refusal("thread_not_found")
    return str(thread)


def metadata(arguments: JsonObject) -> JsonObject | None:
    """Return the metadata a call carries."""
    told = arguments.get("metadata")
    if told is None:
        return None
    if not isinstance(told, dict) or not isinstance(told.get("event_payload"), dict):
        raise Refusal("invalid_metadata_format")
    return told


def _page(name: str, found: Sequence[JsonObject], arguments: JsonObject) -> JsonObject:
    """Return the page that a cursor and a limit ask for, and where the next begins."""
    begin = int(_number(arguments.get("cursor"), 0))
    limit = min(int(_number(arguments.get("limit"), 100)), MAX_PAGE)
    end = str(begin + limit) if begin + limit < len(found) else ""
    return {name: list(found[begin : begin + limit]), "response_metadata": {"next_cursor": end}}


def _is_true(value: JsonValue) -> bool:
    return str(value).lower() in ("1", "true")


def _number(value: JsonValue, otherwise: float) -> float:
    try:
        return float(str(value)) if value not in (None, "") else otherwise
    except ValueError:
        raise Refusal("invalid_arguments") from None
