"""The simulated Slack remembers an app and its workspace, people, chats, messages, files and calls.

Plain data; what may happen to it is in `methods` and its siblings (the app's side) and `simulated` (the person's).
"""

import time
from dataclasses import dataclass, field

from channels.simulators.shared.history import CallLog, Edit
from channels.simulators.slack.checks import Content, JsonObject, Refusal

SCOPES = (
    "app_mentions:read,assistant:write,channels:history,channels:read,chat:write,commands,files:read,files:write,"
    "groups:history,groups:read,im:history,im:read,im:write,mpim:history,mpim:read,reactions:write,users:read"
)
BOT_TOKEN = "xoxb-simulated"  # noqa: S105  of an app that only the simulator knows
APP_TOKEN = "xapp-simulated"  # noqa: S105  the same
SIGNING_SECRET = "simulated-secret"  # noqa: S105  the same
RESPONSE_URL_S = 1_800.0
STREAM_LASTS_S = 306.0
RESPONSE_URL_USES = 5


@dataclass(slots=True)
class ShownMessage:
    """A message as people see it now, with what it was before."""

    ts: str
    chat: str
    user: str
    by_bot: bool
    text: str  # what people see
    at_s: float
    raw: str = ""  # top-level text as it came
    blocks: tuple[JsonObject, ...] = ()
    buttons: list[JsonObject] = field(default_factory=list)
    pings: tuple[str, ...] = ()
    thread: str | None = None
    key: str | None = None  # client_msg_id
    metadata: JsonObject | None = None
    unfurls: bool = True
    ephemeral_for: str | None = None  # only this person sees it, and no API finds it
    files: list[JsonObject] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    edited_ts: str | None = None
    reactions: dict[str, set[str]] = field(default_factory=dict)  # emoji name -> who
    streamed: bool = False  # it began as a stream
    stream_ends_s: float = 0.0  # time.monotonic(): when Slack ends it by itself, or when it ended
    finished: bool = False  # it was stopped, or written over
    deleted: bool = False

    @property
    def message_id(self) -> str:
        """Its ts, under the name it has on every platform."""
        return self.ts

    @property
    def labels(self) -> list[tuple[str, str]]:
        """The buttons under it: what each says, as a text object of Block Kit or plainly, and its value."""
        texts = [(button.get("text"), button.get("value")) for button in self.buttons]
        return [(str(text.get("text") if isinstance(text, dict) else text), str(value)) for text, value in texts]

    @property
    def streaming(self) -> bool:
        """Whether it can be appended to, and nothing else may change it."""
        return self.streamed and time.monotonic() < self.stream_ends_s

    @property
    def broken(self) -> bool:
        """Whether Slack ended the stream by itself, and nothing was written over it since."""
        return self.streamed and not self.streaming and not self.finished

    def take(self, content: Content) -> None:
        """Show this from now on."""
        self.text, self.raw, self.blocks = content.text, content.raw, content.blocks
        self.pings, self.buttons = content.pings, content.buttons


@dataclass(slots=True)
class Chat:
    """A direct message or a channel."""

    id: str
    name: str
    members: set[str]
    messages: dict[str, ShownMessage] = field(default_factory=dict)  # by ts
    keys: dict[str, str] = field(default_factory=dict)  # client_msg_id -> ts
    statuses: list[tuple[str, str, float]] = field(default_factory=list)  # (thread, status, at_s)
    archived: bool = False
    next_send_s: float = 0.0  # with limits on: when the bucket lets the next one pass

    @property
    def direct(self) -> bool:
        """Whether it is one person's."""
        return self.id.startswith("D")

    @property
    def scope(self) -> str:
        """Which scopes it takes to read it."""
        return {"im": "im", "group": "groups"}.get(self.channel_type, "channels")

    @property
    def channel_type(self) -> str:
        """As events call it."""
        return "im" if self.direct else "group" if self.id.startswith("G") else "channel"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody in the workspace, or in one that shares a channel with it."""

    name: str  # the handle
    display_name: str  # "" where they chose none
    real_name: str
    team: str = ""  # "": the app's
    deleted: bool = False
    locale: str = ""  # "": it is not told


@dataclass(slots=True)
class StoredFile:
    """A file."""

    id: str
    name: str
    mimetype: str
    content: bytes
    size: int  # as told; may be a lie


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


class World(CallLog[str]):
    """Everything the simulator knows."""

    def __init__(self) -> None:
        super().__init__()
        self.app: AppAccount | None = None
        self.people: dict[str, Person] = {}  # by user id
        self.looked_up: list[str] = []  # whose users.info was asked for
        self.chats: dict[str, Chat] = {}
        self.files: dict[str, StoredFile] = {}
        self.response_urls: dict[str, ResponseUrl] = {}
        self.views: list[JsonObject] = []
        self.stream_lasts_s = STREAM_LASTS_S  # after which Slack ends a stream by itself
        self.streams_per_min: int | None = None  # begun, and ended, before it is 429; None lets all pass
        self.introductions = 0  # how often the app asked who it is
        self._last_us = 0
        self._names = 0

    def the_app(self) -> AppAccount:
        """The app.

        Raises:
            LookupError: there is none yet.
        """
        if self.app is None:
            raise LookupError("no app yet: add_app(...) first, or let one call in")
        return self.app

    def new_ts(self) -> str:
        """A ts later than every other."""
        self._last_us = max(self._last_us + 1, int(time.time() * 1e6))
        return f"{self._last_us // 1_000_000}.{self._last_us % 1_000_000:06d}"

    def new_name(self, prefix: str) -> str:
        """An id nobody has."""
        self._names += 1
        return f"{prefix}{self._names:08X}"

    def chat(self, chat_id: str) -> Chat:
        """A chat; one that is not there yet appears: D7 is the direct message with U7, C… has the bot in it."""
        chat = self.chats.get(chat_id)
        if chat is None:
            app = self.the_app()
            members = {app.user, "U" + chat_id[1:]} if chat_id.startswith("D") else {app.user}
            name = "directmessage" if chat_id.startswith("D") else f"channel-{chat_id.lower()}"
            chat = self.chats[chat_id] = Chat(chat_id, name, members)
        return chat

    def known_chat(self, chat_id: str) -> Chat:
        """A chat the app may be told of.

        Raises:
            Refusal: channel_not_found.
        """
        chat = self.chats.get(chat_id)
        if chat is None:
            raise Refusal("channel_not_found")
        return chat

    def message(self, chat: Chat, ts: str) -> ShownMessage:
        """A message that is still there.

        Raises:
            Refusal: message_not_found.
        """
        message = chat.messages.get(ts)
        if message is None or message.deleted or message.ephemeral_for is not None:
            raise Refusal("message_not_found")
        return message
