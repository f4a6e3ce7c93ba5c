"""The Web API methods that read: who one is, chats, histories, people. And files, both ways."""

from collections.abc import Callable, Mapping
from urllib.parse import quote

from pydantic import JsonValue

from channels.simulators.slack.checks import JsonObject, Refusal
from channels.simulators.slack.methods import ChatMethods, Method, as_message
from channels.simulators.slack.state import Chat, Person, ShownMessage, StoredFile, World

MAX_PAGE = 999
SCOPES_OF = {"public_channel": "channels", "private_channel": "groups", "mpim": "mpim", "im": "im"}


class ReadingMethods:
    """conversations.*, users.*, auth.test, files.*."""

    def __init__(self, world: World, chats: ChatMethods, base_url: Callable[[], str]) -> None:
        """`base_url` is where the simulator listens."""
        self._world = world
        self._chats = chats
        self._base_url = base_url
        self._uploads: dict[str, StoredFile] = {}
        self.table: Mapping[str, tuple[Method, str]] = {
            "auth.test": (self._auth, ""),
            "users.info": (self._user, "users:read"),
            "users.conversations": (self._mine, ""),
            "conversations.open": (self._open, "im:write"),
            "conversations.info": (self._info, "channels:read"),
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
            "url": f"{self._base_url()}/", "team": "Simulated", "user": app.name, "team_id": app.team,
            "user_id": app.user, "bot_id": app.bot, "is_enterprise_install": False,
        }  # fmt: skip

    def _user(self, arguments: JsonObject) -> JsonObject:
        user = str(arguments.get("user"))
        self._world.looked_up.append(user)
        person = self._world.people.get(user)
        if person is None:
            raise Refusal("user_not_found")
        asked = str(arguments.get("include_locale")) in {"true", "1"} and person.locale
        told: JsonObject = {"locale": person.locale} if asked else {}
        return {"user": {**as_user(user, person, self._world.the_app().team), **told}}

    def _mine(self, arguments: JsonObject) -> JsonObject:
        us = self._world.the_app().user
        kinds = [SCOPES_OF[kind] for kind in str(arguments.get("types") or "public_channel").split(",")]
        for kind in kinds:
            self._world.the_app().must_have(f"{kind}:read")
        ours = [chat for chat in self._world.chats.values() if us in chat.members and chat.scope in kinds]
        begin = int(_number(arguments.get("cursor"), 0))
        limit = min(int(_number(arguments.get("limit"), 100)), MAX_PAGE)
        found: list[JsonValue] = [as_chat(chat) for chat in ours[begin : begin + limit]]
        more = begin + limit < len(ours)
        return {"channels": found, "response_metadata": {"next_cursor": str(begin + limit) if more else ""}}

    def _open(self, arguments: JsonObject) -> JsonObject:
        user = str(arguments.get("users"))
        if not user.startswith("U"):
            raise Refusal("user_not_found")
        return {"channel": {"id": self._world.chat("D" + user[1:]).id}}

    def _info(self, arguments: JsonObject) -> JsonObject:
        return {"channel": as_chat(self._world.known_chat(str(arguments.get("channel"))))}

    def _history(self, arguments: JsonObject) -> JsonObject:
        chat = self._readable(arguments)
        found = [message for message in _there(chat) if message.thread is None or message.thread == message.ts]
        return self._page(found[::-1], arguments, chat)

    def _replies(self, arguments: JsonObject) -> JsonObject:
        chat = self._readable(arguments)
        thread = str(arguments.get("ts"))
        if thread not in chat.messages:
            raise Refusal("thread_not_found")
        return self._page(
            [message for message in _there(chat) if thread in (message.ts, message.thread)], arguments, chat
        )

    def _readable(self, arguments: JsonObject) -> Chat:
        """The chat whose messages are asked for."""
        chat = self._world.known_chat(str(arguments.get("channel")))
        self._world.the_app().must_have(f"{chat.scope}:history")
        return chat

    def _page(self, found: list[ShownMessage], arguments: JsonObject, chat: Chat) -> JsonObject:
        oldest, latest = _number(arguments.get("oldest"), 0.0), _number(arguments.get("latest"), float("inf"))
        closed = str(arguments.get("inclusive")).lower() in ("1", "true")
        within = [
            message
            for message in found
            if oldest < float(message.ts) < latest or (closed and float(message.ts) in (oldest, latest))
        ]
        begin = int(_number(arguments.get("cursor"), 0))
        limit = min(int(_number(arguments.get("limit"), 100)), MAX_PAGE)
        messages: list[JsonValue] = [
            self._as_listed_message(message, chat, arguments) for message in within[begin : begin + limit]
        ]
        more = begin + limit < len(within)
        return {
            "messages": messages,
            "has_more": more,
            "response_metadata": {"next_cursor": str(begin + limit) if more else ""},
        }

    def _as_listed_message(self, message: ShownMessage, chat: Chat, arguments: JsonObject) -> JsonObject:
        body = as_message(self._world, message)
        replies = [reply for reply in _there(chat) if reply.thread == message.ts and reply is not message]
        if replies:
            who: list[JsonValue] = [*sorted({reply.user for reply in replies})]
            body |= {"thread_ts": message.ts, "reply_count": len(replies), "reply_users": who[:5]}
        if message.metadata is not None and str(arguments.get("include_all_metadata")).lower() in ("1", "true"):
            body["metadata"] = message.metadata
        return body

    # ------------------------------------------------------------ files

    def _file(self, arguments: JsonObject) -> JsonObject:
        file = self._world.files.get(str(arguments.get("file")))
        if file is None:
            raise Refusal("file_not_found")
        return {"file": self.as_file(file)}

    def as_file(self, file: StoredFile) -> JsonObject:
        """A file as messages carry it."""
        url = f"{self._base_url()}/files-pri/{file.id}/{quote(file.name, safe='')}"
        return {
            "id": file.id, "name": file.name, "title": file.name, "mimetype": file.mimetype, "size": file.size,
            "mode": "hosted", "url_private": url, "url_private_download": url,
        }  # fmt: skip

    def _upload_url(self, arguments: JsonObject) -> JsonObject:
        length = int(_number(arguments.get("length"), 0))
        name = str(arguments.get("filename") or "")
        if not name or length < 1:
            raise Refusal("invalid_arguments")
        file = StoredFile(self._world.new_name("F"), name, "application/octet-stream", b"", length)
        self._uploads[file.id] = file
        return {"upload_url": f"{self._base_url()}/upload/v1/{file.id}", "file_id": file.id}

    def take_upload(self, file_id: str, content: bytes) -> bool:
        """Take a file's bytes; False where nobody asked for its URL, or its length is another."""
        file = self._uploads.get(file_id)
        if file is None or len(content) != file.size:
            return False
        file.content = content
        return True

    def _complete(self, arguments: JsonObject) -> JsonObject:
        wanted = arguments.get("files")
        named = [entry for entry in wanted if isinstance(entry, dict)] if isinstance(wanted, list) else []
        files: list[JsonObject] = []
        for entry in named:
            file = self._uploads.pop(str(entry.get("id")), None)
            if file is None or len(file.content) != file.size:
                raise Refusal("file_not_found")
            self._world.files[file.id] = file
            files.append(self.as_file(file) | {"title": entry.get("title") or file.name})
        if not files:
            raise Refusal("invalid_arguments")
        shared = arguments.get("channel_id")
        if isinstance(shared, str):
            posted: JsonObject = {"channel": shared, "text": arguments.get("initial_comment") or ""}
            self._chats.post_files(posted | {"thread_ts": arguments.get("thread_ts")}, files)
        answer: list[JsonValue] = list(files)
        return {"files": answer}


def as_chat(chat: Chat) -> JsonObject:
    """A chat as the API writes it."""
    return {"id": chat.id, "name": chat.name, "is_im": chat.direct, "is_archived": chat.archived, "is_member": True}


def as_user(user: str, person: Person, team: str) -> JsonObject:
    """A person as the API writes them, of `team` where they are of no other; of who has left, less."""
    profile: JsonObject = {"display_name": person.display_name, "real_name": person.real_name}
    body: JsonObject = {
        "id": user, "team_id": person.team or team, "name": person.name, "deleted": person.deleted, "profile": profile,
    }  # fmt: skip
    return body if person.deleted else body | {"real_name": person.real_name, "is_bot": False}


def _there(chat: Chat) -> list[ShownMessage]:
    return [message for message in chat.messages.values() if not message.deleted and message.ephemeral_for is None]


def _number(value: JsonValue, otherwise: float) -> float:
    try:
        return float(str(value)) if value not in (None, "") else otherwise
    except ValueError:
        raise Refusal("invalid_arguments") from None
