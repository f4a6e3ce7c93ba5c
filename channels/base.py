"""The contract of a channel: an adapter's inputs, duties and optional abilities.

An adapter only translates. Splitting, retry, pacing, deduplication, access and typing are done above it. Optional
abilities are Protocols, found at run time with `isinstance`; limits are data with a unit.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from channels.markdown.tree import Block
from channels.messages import Address, Attachment, InboundEvent, OutboundPart, Receipt, Rejected, Rendered
from channels.turn_steps import TurnStep

if TYPE_CHECKING:
    from aiohttp import web


OWN_VIEWS = frozenset({"web", "console", "api"})
"""Channels of pages, terminals and programs connected to the gateway itself: a message is delivered when it is stored.

The process that holds a connection shows new messages of the store, whichever process wrote them.
"""


class TextUnit(StrEnum):
    """The unit in which a platform limits a text."""

    UTF16 = "utf16"  # UTF-16 code units (Telegram)
    CHARS = "chars"  # Unicode code points (Discord, Slack)

    def measure(self, text: str) -> int:
        """Return the length of `text` in this unit."""
        if self is TextUnit.CHARS or text.isascii():
            return len(text)
        return len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A platform's limits; each adapter's instance names its sources."""

    max_text: int  # in `unit`, after rendering
    unit: TextUnit
    edit_interval_s: float = 1.0  # minimum time between two edits of live answers in one chat
    typing_every_s: float = 4.5  # renewal of the typing indicator
    per_chat_per_s: float | None = None  # sends to one chat; None: not limited
    per_group_per_min: float | None = None  # calls of any kind to one group; None: not limited
    edits_per_min: float | None = None  # over all chats; None: not limited
    group_prefix: str | None = None  # prefix of group ids; None: groups are not recognisable
    overall_per_s: float | None = None  # sends over all chats; None: not limited
    hints: str = ""  # formatting advice for the model
    idempotent_sends: bool = False  # a repeated send with the same key is shown once (nonce, client_msg_id)
    max_caption: int | None = None  # in `unit`, for text with files; None: as `max_text`
    export_command: str = ""  # on a channel without files, writes all data of its person; "": none
    waits_for_room: bool = False  # it offers a message over its person's limit again, instead of the person


class ChannelState(StrEnum):
    """The health of a channel."""

    STARTING = "starting"
    READY = "ready"
    DEGRADED = "degraded"  # it keeps trying; the detail says what is wrong
    FAILED = "failed"  # an operator must act; the detail says how


@dataclass(frozen=True, slots=True)
class KnownChat:
    """A chat or thread in which an admitted person talks to the bot."""

    chat: str
    thread: str | None = None
    direct: bool = False
    heard_at: datetime | None = None  # aware UTC, accurate to an hour; None: no message since they were let in


class Sink(Protocol):
    """A connection's port to the gateway: for events, its resume point, and its health."""

    async def receive(
        self, events: Sequence[InboundEvent], *, rejected: Sequence[Rejected] = (), cursor: str | None = None
    ) -> None:
        """Commit the events; the platform may be told only after this returns.

        `cursor` is the adapter's own resume point, committed with the events. Their order is kept.

        Raises:
            NotPersisted: nothing was committed; do not acknowledge, offer the same events again.
        """
        ...

    async def cursor(self) -> str | None:
        """Return this connection's last committed resume point, or None."""
        ...

    async def chats(self) -> Sequence[KnownChat]:
        """Return this account's chats with admitted people, the last heard first.

        For platforms that list no chats: an adapter keeps no such list of its own, which would be bounded.
        """
        ...

    def report(self, state: ChannelState, detail: str = "") -> None:
        """Report this channel's health. READY also means: the platform was heard just now."""
        ...

    def report_missing(self, detail: str) -> None:
        """Report messages that could not be read to health; "" once nothing is missing.

        Until then, a channel that reports READY is shown as DEGRADED with this text.
        """
        ...


class NotPersisted(Exception):
    """The store did not take the events; they must not be acknowledged."""


class ChannelConnection(Protocol):
    """One connection of an account to its platform, with a resume point and a health of its own."""

    async def run(self, sink: Sink) -> None:
        """Receive until cancelled; after an exception the gateway restarts the account, with backoff.

        Raises:
            ConfigRefused: the platform refuses the configuration; restarting will not help.
        """
        ...


class Channel(Protocol):
    """One account on one platform."""

    name: str  # registry name, the `channel` of its addresses
    account: str
    limits: Limits
    renderer: "Renderer"

    async def connections(self) -> Sequence[ChannelConnection]:
        """Return the connections in the order of their numbers; most adapters return only themselves.

        The gateway runs each with its own sink. One process runs all connections of an account; if the platform posts
        events to any process (a webhook), each process runs the first, and one process the others.

        Raises:
            ConfigRefused: the platform refuses the configuration; restarting will not help.
            ChannelError: the number is unknown; the account is restarted, with backoff.
        """
        ...

    async def send(self, part: OutboundPart) -> Receipt:
        """Send one part by one call.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`; cancellation counts as Unknown.
        """
        ...

    async def aclose(self) -> None:
        """Close all resources; no connection is running."""
        ...


class Renderer(Protocol):
    """A pure converter of blocks of the Markdown tree to the platform's format."""

    def render(self, blocks: Sequence[Block]) -> Rendered:
        """Render the blocks as one part of any length."""
        ...

    def plain(self, text: str) -> Rendered:
        """Render a text literally."""
        ...


@dataclass(frozen=True, slots=True)
class Connections:
    """The number of connections that a channel has open in this process."""

    kind: str  # "shards" | "sockets"
    open: int
    wanted: int


@runtime_checkable
class CountsConnections(Protocol):
    """A channel with counted connections of its own."""

    def count_connections(self) -> "Connections | None":
        """Return the number of open connections; None if there should be none."""
        ...


@runtime_checkable
class LaysOutCursors(Protocol):
    """A channel whose resume points depend on the number of connections."""

    def lay_out(self, cursors: Mapping[int, str], count: int) -> Mapping[int, str | None]:
        """Return the resume points, by connection number, that change before `count` connections run.

        None deletes one. The gateway commits all changes together, before any connection runs.
        """
        ...


@runtime_checkable
class EditsMessages(Protocol):
    """A channel that can edit its messages. Repeating an edit changes nothing."""

    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        """Replace the text of our message `platform_id`; "not modified" is success."""
        ...


@runtime_checkable
class StreamsDrafts(Protocol):
    """A channel that can show an unfinished answer as a draft: no message, no id, with an expiry.

    A draft is weaker than a placeholder: it vanishes when it is not renewed and when the bot sends any message to the
    chat, a restart forgets it, and the final answer is a plain send that cannot be repeated unseen.
    """

    draft_lasts_s: float  # until a draft vanishes without renewal

    def drafts_in(self, address: Address) -> bool:
        """Return True if live answers are drafts in this chat, False if they are placeholders."""
        ...

    async def draft(self, address: Address, draft_id: int, rendered: Rendered) -> None:
        """Show the answer so far; "" shows that the bot is thinking. Callers ignore errors.

        `draft_id` is not 0 and the same for one answer: a change under the same id is animated.
        """
        ...


@runtime_checkable
class ShowsStored(Protocol):
    """A channel that shows stored messages on its own connections, see `OWN_VIEWS`."""

    def is_looked_at(self, address: Address) -> bool:
        """Return True if a view of this chat is open in this process."""
        ...


@runtime_checkable
class FollowsAnswers(Protocol):
    """A channel that streams answers to programs; the pieces are no messages."""

    def is_followed(self, address: Address) -> bool:
        """Return True if a program reads along in this chat."""
        ...

    def follow(self, address: Address, turn_id: str, text: str) -> None:
        """Pass on the turn's answer so far, as Markdown; it replaces the text before. Never block."""
        ...


@runtime_checkable
class FollowsSteps(Protocol):
    """A channel that tells programs or terminals the steps of a turn: tool calls, costs; they are no messages."""

    def is_followed(self, address: Address) -> bool:
        """Return True if a program reads along in this chat."""
        ...

    def follow_step(self, address: Address, turn_id: str, step: TurnStep) -> None:
        """Pass on a step of the turn. Never block."""
        ...


@runtime_checkable
class ShowsTyping(Protocol):
    """A channel that can show a typing indicator for a few seconds."""

    async def show_typing(self, address: Address) -> None:
        """Show it once; callers ignore errors."""
        ...


class Reaction(StrEnum):
    """The reactions on a person's message."""

    WORKING = "working"  # the answer takes a little longer
    QUEUED = "queued"  # it waits for the turn before it
    STEERED = "steered"  # it joined the running turn
    REFUSED = "refused"  # it was not accepted


@runtime_checkable
class Reacts(Protocol):
    """A channel that can set and clear one reaction of its own on a message."""

    async def react(self, address: Address, message_id: str, reaction: Reaction | None) -> None:
        """Set our reaction, replacing an earlier one; None clears it. Callers ignore errors."""
        ...


@runtime_checkable
class ShowsWaits(Protocol):
    """A channel that can show for how long the model is busy."""

    async def show_wait(self, address: Address, for_s: float) -> None:
        """Show a waiting time from now on; 0 ends it. Callers ignore errors."""
        ...


@runtime_checkable
class DeletesMessages(Protocol):
    """A channel that can delete messages."""

    async def delete(self, address: Address, message_id: str) -> None:
        """Delete a message if the platform allows it."""
        ...


@runtime_checkable
class LinksInvites(Protocol):
    """A channel with links that send `/start CODE` to the bot when a person opens them."""

    async def invite_link(self, code: str) -> str | None:
        """Return the link for a code of letters, digits and dashes; None: not now. A path is relative to the gateway's
        URL.

        Raises:
            ChannelError: the platform did not answer.
        """
        ...


@runtime_checkable
class KnowsNoNames(Protocol):
    """A channel whose people have no names until they give one."""

    people_give_names: bool  # True


@runtime_checkable
class HasButtons(Protocol):
    """A channel that shows `OutboundPart.buttons`; a press arrives as `ButtonPressed` with a route, or the adapter
    answers it.
    """

    async def close_buttons(self, address: Address, message_id: str) -> None:
        """Remove the buttons of our message; callers ignore errors."""
        ...


@runtime_checkable
class SendsMedia(Protocol):
    """A channel that accepts `OutboundPart.media`."""

    max_media_bytes: int


@runtime_checkable
class FetchesMedia(Protocol):
    """A channel that can download people's files."""

    async def fetch(self, attachment: Attachment, max_bytes: int) -> bytes:
        """Return the content of a file.

        Raises:
            Permanent: it is larger than `max_bytes`, or gone.
            Retryable: not now.
        """
        ...


@runtime_checkable
class FindsSent(Protocol):
    """A channel that can look up whether a part with this key was sent, before an unknown send is repeated."""

    async def find_sent(self, part: OutboundPart) -> Receipt | None:
        """Return the receipt of the earlier attempt, or None if it did not arrive.

        Raises:
            Retryable: unknown now.
            Unknown: it can never be known; the part is sent again and marked as a repetition.
        """
        ...


@dataclass(frozen=True, slots=True)
class HttpRoute:
    """A path that a channel serves on the gateway's own HTTP server (webhooks, a web chat)."""

    method: str  # GET | POST
    path: str  # begins with "/": "/webhooks/slack/main/events", "/"
    handler: "Callable[[web.Request], Awaitable[web.StreamResponse]]"
    private: bool = False  # on the control socket, which only the gateway's own user can open


@runtime_checkable
class ServesHttp(Protocol):
    """A channel that receives through the gateway's HTTP server. Requests before `run` has its sink get a 503."""

    def http_routes(self) -> Sequence[HttpRoute]:
        """Return the routes; they are known after the constructor."""
        ...


@dataclass(frozen=True, slots=True)
class CommandOption:
    """One argument of a command, for platforms that ask for them one by one."""

    name: str
    description: str  # in a `Command` a catalogue key or the text; in a `CommandSpec` the text
    required: bool = False
    choices: tuple[str, ...] = ()  # suggestions, the same in every language; the handler gets any text. Empty: any text


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command in the menus of one language."""

    name: str
    summary: str
    options: tuple[CommandOption, ...] = ()
    shared: bool = False  # in a group, all read its answer; else only the asker, if the platform can
    talks: bool = False  # its argument is a message: for platforms on which people write by a command


Menus = Mapping[str, Sequence[CommandSpec]]
"""The commands by language code; "" is the default language. The names are the same in each."""


@runtime_checkable
class NamesCommands(Protocol):
    """A channel with room for few named commands: all others are typed after the one that talks."""

    def name_commands(self, shown: Sequence[CommandSpec], commands: Sequence[CommandSpec]) -> None:
        """Set the named commands `shown`, the one that talks among them, and all `commands`. Called first."""
        ...


@runtime_checkable
class HasCommands(Protocol):
    """A channel with a menu of commands."""

    async def set_commands(self, menus: Menus) -> None:
        """Set the menus. Called before `run`; they are kept before the first await."""
        ...
