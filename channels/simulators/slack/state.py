"""The simulated Slack remembers an app and its workspace, people, chats, messages and files; as_* write them in JSON.

Plain data; what may happen to it is in `methods` and its siblings (the app's side) and `server` (the person's).
"""

import time
from dataclasses import dataclass, field
from urllib.parse import quote

from channels.simulators.shared.world import Chat, File, JsonObject, Message, World
from channels.simulators.slack.checks import Content, Refusal

SCOPES = (
    "app_mentions:read,assistant:write,channels:history,channels:read,chat:write,commands,files:read,files:write,"
    "groups:history,groups:read,im:history,im:read,im:write,mpim:history,mpim:read,reactions:write,users:read"
)
BOT_TOKEN = "xoxb-simulated"  # noqa: S105  of an app that only the simulator knows
APP_TOKEN = "xapp-simulated"  # noqa: S105  the same
SIGNING_SECRET = "simulated-secret"  # noqa: S105  the same
RESPONSE_URL_S = 1_800.0
RESPONSE_URL_USES = 5
STREAM_LASTS_S = 306.0


@dataclass(slots=True)
class ShownMessage(Message[str]):
    """A message as people see it now; its id is the ts, its key the client_msg_id."""

    raw: str = ""  # top-level text as it came
    blocks: tuple[JsonObject, ...] = ()
    elements: list[JsonObject] = field(default_factory=list)  # its buttons, as Block Kit has them
    metadata: JsonObject | None = None
    unfurls: bool = True
    edited_ts: str | None = None
    streamed: bool = False  # it began as a stream
    stream_ends_s: float = 0.0  # time.monotonic(): when Slack ends it by itself, or when it ended
    finished: bool = False  # it was stopped, or written over

    @property
    def buttons(self) -> list[tuple[str, str]]:
        """Return the label, a text object of Block Kit or plain, and the value of each button."""
        texts = [(button.get("text"), button.get("value")) for button in self.elements]
        return [(str(text.get("text") if isinstance(text, dict) else text), str(value)) for text, value in texts]

    @property
    def reaction(self) -> str:
        """Return its first reaction, as Slack writes emoji in a text."""
        return next((f":{name}:" for name in self.reactions), "")

    @property
    def streaming(self) -> bool:
        """Return True while it can be appended to, and nothing else may change it."""
        return self.streamed and time.monotonic() < self.stream_ends_s

    @property
    def broken(self) -> bool:
        """Return True if Slack ended the stream by itself, and nothing was written over it since."""
        return self.streamed and not self.streaming and not self.finished

    def take(self, content: Content) -> None:
        """Show this from now on."""
        self.text, self.raw, self.blocks = content.text, content.raw, content.blocks
        self.pings, self.elements = content.pings, content.buttons


@dataclass(slots=True)
class SlackChat(Chat[str, ShownMessage]):
    """A direct message or a channel."""

    name: str = ""
    members: set[str] = field(default_factory=set)
    keys: dict[str, str] = field(default_factory=dict)  # client_msg_id -> ts
    statuses: list[tuple[str, str]] = field(default_factory=list)  # thread and status
    archived: bool = False

    @property
    def direct(self) -> bool:
        """Return True if it is one person's."""
        return self.id.startswith("D")

    @property
    def scope(self) -> str:
        """Return which scopes it takes to read it."""
        return {"im": "im", "group": "groups"}.get(self.channel_type, "channels")

    @property
    def channel_type(self) -> str:
        """Return its type as events call it."""
        return "im" if self.direct else "group" if self.id.startswith("G") else "channel"

    def public(self) -> list[ShownMessage]:
        """Return the messages of its history; no API finds an ephemeral one."""
        return [message for message in self.messages.values() if not message.deleted and message.only_for is None]

    def living(self, ts: str) -> ShownMessage:
        """Return a message of its history.

        Raises:
            Refusal: message_not_found.
        """
        message = self.messages.get(ts)
        if message is None or message.deleted or message.only_for is not None:
            raise Refusal("message_not_found")
        return message

    def set_status(self, thread: str, status: str) -> None:
        """Show a status in a thread, which is how the bot is seen typing; "" takes it away."""
        self.statuses.append((thread, status))
        if status:
            self.typing.append(time.monotonic())

    def as_chat(self) -> JsonObject:
        """Return it as the API writes it."""
        return {"id": self.id, "name": self.name, "is_im": self.direct, "is_archived": self.archived, "is_member": True}


@dataclass(frozen=True, slots=True)
class Person:
    """A member of the workspace, or of one that shares a channel with it."""

    name: str  # the handle
    display_name: str  # "" if they chose none
    real_name: str
    team: str = ""  # "": the app's
    deleted: bool = False
    locale: str = ""  # "": it is not told

    def as_user(self, user: str, team: str) -> JsonObject:
        """Return them as the API writes them, of `team` if they are of no other; of who has left, less."""
        profile: JsonObject = {"display_name": self.display_name, "real_name": self.real_name}
        body: JsonObject = {
            "id": user,
            "team_id": self.team or team,
            "name": self.name,
            "deleted": self.deleted,
            "profile": profile,
        }
        return body if self.deleted else body | {"real_name": self.real_name, "is_bot": False}


@dataclass(slots=True)
class ResponseUrl:
    """A way to answer one interaction."""

    chat: str
    user: str
    ends_s: float  # time.monotonic()
    left: int = RESPONSE_URL_USES


@dataclass(slots=True)
class AppAccount:
    """The app in its workspace."""

    bot_token: str
    app_token: str
    signing_secret: str
    team: str = "T0SIM"
    user: str = "U0TENK"
    bot: str = "B0TENK"
    app: str = "A0TENK"
    name: str = "tenk"
    scopes: str = SCOPES
    socket_mode: bool = True
    revoked: bool = False
    webhook_url: str = ""  # set: events are posted there
    commands: frozenset[str] | None = None  # the slash commands that its manifest declares, "/log"; None: any

    def must_have(self, scope: str) -> None:
        """Go on only with this scope.

        Raises:
            Refusal: missing_scope.
        """
        if scope not in self.scopes.split(","):
            raise Refusal("missing_scope", more={"needed": scope, "provided": self.scopes})


class SlackWorld(World[str]):
    """Everything the simulator knows."""

    def __init__(self) -> None:
        super().__init__()
        self.base_url = ""
        self.app: AppAccount | None = None
        self.people: dict[str, Person] = {}  # by user id
        self.looked_up: list[str] = []  # whose users.info was asked for
        self.chats: dict[str, SlackChat] = {}
        self.files: dict[str, File] = {}
        self.response_urls: dict[str, ResponseUrl] = {}
        self.stream_lasts_s = STREAM_LASTS_S  # after which Slack ends a stream by itself
        self.streams_per_min: int | None = None  # begun, and ended, before it is 429; None lets all pass
        self.introductions = 0  # how often the app asked who it is
        self._last_us = 0
        self._names = 0

    def the_app(self) -> AppAccount:
        """Return the app.

        Raises:
            LookupError: there is none yet.
        """
        if self.app is None:
            raise LookupError("no app yet: add_app(...) first, or let one call in")
        return self.app

    def new_ts(self) -> str:
        """Return a ts later than every other."""
        self._last_us = max(self._last_us + 1, int(time.time() * 1e6))
        return f"{self._last_us // 1_000_000}.{self._last_us % 1_000_000:06d}"

    def new_name(self, prefix: str) -> str:
        """Return an id that nothing else has."""
        self._names += 1
        return f"{prefix}{self._names:08X}"

    def chat(self, chat_id: str) -> SlackChat:
        """Return a chat; one that is not there yet appears: D7 is the direct message with U7, C… has the bot in it."""
        chat = self.chats.get(chat_id)
        if chat is None:
            app = self.the_app()
            members = {app.user, "U" + chat_id[1:]} if chat_id.startswith("D") else {app.user}
            name = "directmessage" if chat_id.startswith("D") else f"channel-{chat_id.lower()}"
            chat = self.chats[chat_id] = SlackChat(chat_id, name=name, members=members)
        return chat

    def known_chat(self, chat_id: str) -> SlackChat:
        """Return a chat the app may be told of.

        Raises:
            Refusal: channel_not_found.
        """
        chat = self.chats.get(chat_id)
        if chat is None:
            raise Refusal("channel_not_found")
        return chat

    def post(self, chat: SlackChat, content: Content, thread: str | None = None) -> ShownMessage:
        """Let a message of the app's appear."""
        message = ShownMessage(self.new_ts(), chat.id, self.the_app().user, by_bot=True, text="", thread=thread)
        message.take(content)
        chat.messages[message.message_id] = message
        return message

    def as_message(self, message: ShownMessage) -> JsonObject:
        """Return a message as the API and events write it."""
        app = self.the_app()
        body: JsonObject = {
            "type": "message",
            "user": message.sender_id,
            "text": message.raw if message.by_bot else message.text,
            "ts": message.message_id,
            "team": app.team,
        }
        if message.by_bot:
            body |= {"bot_id": app.bot, "app_id": app.app}
        if message.blocks:
            body["blocks"] = list(message.blocks)
        if message.thread is not None:
            body["thread_ts"] = message.thread
            root = self.chats[message.chat_id].messages.get(message.thread)
            if root is not None and root is not message:
                body["parent_user_id"] = root.sender_id
        if message.edited_ts is not None:
            body["edited"] = {"user": message.sender_id, "ts": message.edited_ts}
        if message.streamed:
            body["streaming_state"] = "in_progress" if message.streaming else "completed"
        if message.files:
            body |= {"files": [self.as_file(file) for file in message.files], "subtype": "file_share"}
        return body

    def as_file(self, file: File) -> JsonObject:
        """Return a file as messages carry it."""
        url = f"{self.base_url}/files-pri/{file.id}/{quote(file.name, safe='')}"
        clip: JsonObject = {}
        if file.seconds is not None:
            clip = {"subtype": "slack_audio", "duration_ms": int(file.seconds * 1000)}
        return clip | {
            "id": file.id,
            "name": file.name,
            "title": file.name,
            "mimetype": file.mime,
            "size": file.size,
            "mode": "hosted",
            "url_private": url,
            "url_private_download": url,
        }
