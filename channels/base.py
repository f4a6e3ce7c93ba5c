"""The contract of a channel says what an adapter is given, must do, and may be able to do.

An adapter only translates. Splitting, retry, pacing, dedupe, access and typing policy live above it.
Abilities beyond sending are Protocols, found at run time with `isinstance`; limits are data with a unit.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from channels.markdown.tree import Block
from channels.messages import Address, Attachment, InboundEvent, OutboundPart, Receipt, Rejected, Rendered

if TYPE_CHECKING:
    from aiohttp import web


OWN_VIEWS = frozenset({"web", "console", "api"})
"""Channels of pages, terminals and programs connected to the gateway itself: a message is delivered when it is stored.

The process that holds a connection shows what the store has, whichever process wrote it.
"""


class TextUnit(StrEnum):
    """What a platform counts when it limits a text."""

    UTF16 = "utf16"  # UTF-16 code units (Telegram)
    CHARS = "chars"  # Unicode code points (Discord, Slack)

    def measure(self, text: str) -> int:
        """The length of `text` in this unit."""
        if self is TextUnit.CHARS or text.isascii():
            return len(text)
        return len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a platform takes, as data. Sources stand beside each adapter's own instance."""

    max_text: int  # in `unit`, after rendering
    unit: TextUnit
    edit_interval_s: float = 1.0  # least time between two edits of live answers in one chat
    typing_every_s: float = 4.5  # how often a busy sign must be renewed
    per_chat_per_s: float | None = None  # sends a second to one chat; None: not limited
    per_group_per_min: float | None = None  # calls of any kind a minute to one group; None: not limited
    edits_per_min: float | None = None  # edits a minute over all chats; None: not limited
    group_prefix: str | None = None  # what ids of groups begin with; None: it cannot be told
    overall_per_s: float | None = None  # sends a second over all chats; None: not limited
    hints: str = ""  # how text is best formatted here, for the model
    idempotent_sends: bool = False  # a send repeated with the same key is said once (nonce, client_msg_id)
    answers_edits: bool = False  # what its sender changed after it was answered is answered anew
    max_caption: int | None = None  # in `unit`: of a text that goes with files; None: as `max_text`


class ChannelState(StrEnum):
    """How a channel is doing, as health shows it."""

    STARTING = "starting"
    READY = "ready"
    DEGRADED = "degraded"  # it goes on trying; the detail says what is wrong
    FAILED = "failed"  # it needs the operator; the detail says what to mend


@dataclass(frozen=True, slots=True)
class KnownChat:
    """A chat or thread where somebody who is let in talks to the bot."""

    chat: str
    thread: str | None = None
    direct: bool = False
    heard_at: datetime | None = None  # aware UTC, within an hour; None: they were let in and have said nothing since


class Sink(Protocol):
    """What a connection is given: the way in for its events, its resume point, and its health."""

    async def receive(
        self, events: Sequence[InboundEvent], *, rejected: Sequence[Rejected] = (), cursor: str | None = None
    ) -> None:
        """Return once everything given is committed; only then may the platform be told.

        `cursor` is the adapter's own resume point, committed with the events. Order in is order kept.

        Raises:
            NotPersisted: nothing was committed; do not acknowledge, offer the same events again.
        """
        ...

    async def cursor(self) -> str | None:
        """Return this connection's last committed resume point; None before the first."""
        ...

    async def chats(self) -> Sequence[KnownChat]:
        """Where people who are let in talk to the bot on this account, those heard last first.

        For what a platform lists nowhere: an adapter keeps no such list of its own, which would have a bound.
        """
        ...

    def report(self, state: ChannelState, detail: str = "") -> None:
        """Tell health how this channel is doing. READY also says: it was really heard just now."""
        ...

    def report_missing(self, detail: str) -> None:
        """Tell health what was said and could not be read; "" once nothing is missing any more.

        As long as something is, a channel that reports READY is shown as DEGRADED, with these words.
        """
        ...


class NotPersisted(Exception):
    """The store did not take the events; the platform must not be told that we have them."""


class ChannelConnection(Protocol):
    """One connection of an account to its platform, with a resume point and a health of its own."""

    async def run(self, sink: Sink) -> None:
        """Receive until cancelled. An exception means: restart the account, with backoff.

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
        """Return the connections to receive by, in the order of their numbers; most adapters return only themselves.

        The gateway runs each with a sink of its own. One process runs all connections of an account; where the platform
        posts events to any process (a webhook), each process runs the first, and one process the others.

        Raises:
            ConfigRefused: the platform refuses the configuration; restarting will not help.
            ChannelError: the platform did not say how many; the account is restarted, with backoff.
        """
        ...

    async def send(self, part: OutboundPart) -> Receipt:
        """Make one call that says one part.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`; cancellation counts as Unknown.
        """
        ...

    async def aclose(self) -> None:
        """Close what was opened; no connection runs any more."""
        ...


class Renderer(Protocol):
    """Pure: from blocks of the Markdown tree to what the platform takes."""

    def render(self, blocks: Sequence[Block]) -> Rendered:
        """The blocks as one part, however long."""
        ...

    def plain(self, text: str) -> Rendered:
        """Text as it is, nothing of it interpreted."""
        ...


@dataclass(frozen=True, slots=True)
class Connections:
    """How many connections to its platform a channel has open in this process."""

    kind: str  # "shards" | "sockets"
    standing: int
    wanted: int


@runtime_checkable
class CountsConnections(Protocol):
    """Hears people over connections of its own, one or several."""

    def count_connections(self) -> "Connections | None":
        """Return how many are open now; None if none is to be."""
        ...


@runtime_checkable
class LaysOutCursors(Protocol):
    """Has resume points that depend on how many connections there are."""

    def lay_out(self, cursors: Mapping[int, str], count: int) -> Mapping[int, str | None]:
        """Return which resume points, by the number of their connection, change before `count` connections run.

        None forgets one. The gateway commits all changes together, before any connection runs.
        """
        ...


@runtime_checkable
class EditsMessages(Protocol):
    """Can replace what it said. Repeating an edit changes nothing."""

    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        """Replace the text of our message `platform_id`; "not modified" is success."""
        ...


@runtime_checkable
class StreamsDrafts(Protocol):
    """Can show an answer while it is written, as a draft: no message, no id, gone by itself.

    A draft promises less than a placeholder: it vanishes when it is not renewed and when the bot says anything in the
    chat, a restart forgets it, and the final answer is a plain send that cannot be repeated unseen.
    """

    draft_lasts_s: float  # a draft that is not shown again within this vanishes

    def drafts_in(self, address: Address) -> bool:
        """Whether live answers are drafts in this chat; elsewhere they are placeholders."""
        ...

    async def draft(self, address: Address, draft_id: int, rendered: Rendered) -> None:
        """Show the answer so far; "" shows that it is being thought about. Failures are raised and never matter.

        `draft_id` is not 0 and the same for one answer: a change under the same id is animated.
        """
        ...


@runtime_checkable
class ShowsStored(Protocol):
    """Shows stored messages over connections of its own, see `OWN_VIEWS`."""

    def is_looked_at(self, address: Address) -> bool:
        """Return True if a view of this chat is open in this process."""
        ...


@runtime_checkable
class FollowsAnswers(Protocol):
    """Shows answers word by word to programs that read them as a stream. Nothing of it is a message."""

    def is_followed(self, address: Address) -> bool:
        """Whether anybody reads along in this chat just now."""
        ...

    def follow(self, address: Address, turn_id: str, text: str) -> None:
        """The answer of this turn so far, as Markdown; what is no beginning of it any more is void. Never blocks."""
        ...


@runtime_checkable
class ShowsTyping(Protocol):
    """Can show that it is busy for a few seconds."""

    async def show_typing(self, address: Address) -> None:
        """Show it once; failures are raised and never matter."""
        ...


class Reaction(StrEnum):
    """What a reaction on a person's message tells them."""

    WORKING = "working"  # it takes a little longer
    QUEUED = "queued"  # it waits for the turn before it
    STEERED = "steered"  # the running turn took it
    REFUSED = "refused"  # it was not accepted


@runtime_checkable
class Reacts(Protocol):
    """Can set and clear a reaction of its own on a message."""

    async def react(self, address: Address, message_id: str, reaction: Reaction | None) -> None:
        """Set our reaction, replacing an earlier one; None clears it. Failures are raised and never matter."""
        ...


@runtime_checkable
class ShowsWaits(Protocol):
    """Can show, beside the conversation, for how long it helps nobody to ask again."""

    async def show_wait(self, address: Address, for_s: float) -> None:
        """Show so many seconds from now on, or, with 0, none any more. Failures are raised and never matter."""
        ...


@runtime_checkable
class DeletesMessages(Protocol):
    """Can delete a message in a chat."""

    async def delete(self, address: Address, message_id: str) -> None:
        """Delete it where the platform allows."""
        ...


@runtime_checkable
class LinksInvites(Protocol):
    """Has an address which, opened by a person, brings a code to the bot as if they had said `/start CODE`."""

    async def invite_link(self, code: str) -> str | None:
        """The link for a code of letters, digits and dashes; a path begins where the gateway is served. None: not now.

        Raises:
            ChannelError: the platform did not say.
        """
        ...


@runtime_checkable
class KnowsNoNames(Protocol):
    """Its people have no names of their own: they may give one."""

    people_give_names: bool  # true


@runtime_checkable
class HasButtons(Protocol):
    """Shows `OutboundPart.buttons`; presses come in as `ButtonPressed` with a route, or are answered by the adapter."""

    async def close_buttons(self, address: Address, message_id: str) -> None:
        """Take the buttons away from our message; failures are raised and never matter."""
        ...


@runtime_checkable
class SendsMedia(Protocol):
    """Takes `OutboundPart.media`."""

    max_media_bytes: int


@runtime_checkable
class FetchesMedia(Protocol):
    """Can fetch what somebody attached."""

    async def fetch(self, attachment: Attachment, max_bytes: int) -> bytes:
        """The content.

        Raises:
            Permanent: it is larger than `max_bytes`, or gone.
            Retryable: not now.
        """
        ...


@runtime_checkable
class FindsSent(Protocol):
    """Can look up whether a part with this key was said; asked before a send whose outcome is unknown is repeated."""

    async def find_sent(self, part: OutboundPart) -> Receipt | None:
        """The receipt of the earlier attempt; None where it did not arrive.

        Raises:
            Retryable: it cannot be told now.
            Unknown: it can never be told: what goes this way leaves no trace. It is said again, and shown to be.
        """
        ...


@dataclass(frozen=True, slots=True)
class HttpRoute:
    """A path that a channel serves on the gateway's own HTTP server (webhooks, a web chat)."""

    method: str  # GET | POST
    path: str  # begins with "/": "/webhooks/slack/main/events", "/"
    handler: "Callable[[web.Request], Awaitable[web.StreamResponse]]"
    private: bool = False  # on the control socket instead, which only the gateway's own user can open


@runtime_checkable
class ServesHttp(Protocol):
    """Hears people through the gateway's HTTP server. A request before `run` has its sink is answered 503."""

    def http_routes(self) -> Sequence[HttpRoute]:
        """The paths it wants; known as soon as it is made."""
        ...


@dataclass(frozen=True, slots=True)
class CommandOption:
    """One argument of a command, where a platform asks for them one by one."""

    name: str
    description: str  # in a `Command` a key of the catalogue, or the words; in a `CommandSpec` the words
    required: bool = False
    choices: tuple[str, ...] = ()  # the same in every language, and a hint: the handler meets any text. Empty: any text


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command as menus show it, in one language."""

    name: str
    summary: str
    options: tuple[CommandOption, ...] = ()
    shared: bool = False  # in a group its answer is everybody's; else, where the platform can, its asker's alone
    talks: bool = False  # its text is a message: for platforms where a command is the way to say one


Menus = Mapping[str, Sequence[CommandSpec]]
"""The commands by language code; "" is the default language. The names are the same in each."""


@runtime_checkable
class NamesCommands(Protocol):
    """Has room for few commands by name: all others are typed behind the one that talks, and people read them so."""

    def name_commands(self, shown: Sequence[CommandSpec], commands: Sequence[CommandSpec]) -> None:
        """`shown` are those worth a name, the one that talks among them, `commands` are all. Called before anything."""
        ...


@runtime_checkable
class HasCommands(Protocol):
    """Shows a menu of commands."""

    async def set_commands(self, menus: Menus) -> None:
        """Set the menus. Called before `run`; what is kept of them is kept before the first await."""
        ...
