"""Commands: a handler gets an `Invocation` and returns a `Reply`, or a `Write` whose job changes data and replies.

A handler reads and decides; it changes nothing. What a command changes is a function over the transaction that also
records the command's outcome and its reply, so all of it is stored, or nothing.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Concatenate, ParamSpec, Protocol, get_args

from agent.catalogue import Catalogue
from agent.ports import Principal
from channels.base import CommandOption
from channels.messages import Address, Button, ChatKind, OutboundMedia
from gateway.access.api_keys import Scope
from gateway.access.config import Role
from gateway.store.engine import Connection, Store
from gateway.store.erasure import Forgotten
from gateway.store.inbox import InboxRow
from gateway.store.journal import SessionState
from gateway.store.people import Person
from gateway.store.tables.turns import Mode

P = ParamSpec("P")

MODES: tuple[str, ...] = get_args(Mode)
"""How messages that arrive mid-turn are taken: see `gateway.sessions.inbox_rules`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What a command's commit changed that memory holds too. Only a hint: the store is right."""

    conversation: SessionState | None = None  # the session's conversation, if it is another or in another mode
    ended: bool = False  # the conversation before it is over
    cleared: Sequence[int] = ()  # rows that wait no more
    unparked: Sequence[str] = ()  # turns that wait for no approval any more
    person: Person | None = None  # as they are now
    forgotten: Sequence[Forgotten] = ()  # senders of the person who is a stranger now
    said: InboxRow | None = None  # a message of the person's that the commit admitted
    after: Callable[[], None] | None = None  # tells whatever else holds in memory what changed


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command says."""

    text: str  # Markdown; "": nothing
    files: tuple[OutboundMedia, ...] = ()  # sent with the text if the channel can
    redact: bool = False  # the command held a secret: its row is blanked
    buttons: tuple[Button, ...] = ()  # under the text, sealed for the person who gave the command
    secret_ref: str | None = None  # replaces bullets in the text when it is sent; see gateway.access.codes
    changed: Changed = field(default_factory=Changed)


class Write:
    """A job to run in the commit that stores a command's outcome; the `Reply` that it returns is said.

    The job runs at most once a command, but its commit may be tried again: it does nothing but SQL.
    """

    def __init__(self, job: Callable[Concatenate[Connection, P], Reply], /, *args: P.args, **kwargs: P.kwargs) -> None:
        self.job: Callable[..., Reply] = job
        self.args = args
        self.kwargs = kwargs

    def run(self, connection: Connection) -> Reply:
        """Call the job with its arguments."""
        return self.job(connection, *self.args, **self.kwargs)


@dataclass(frozen=True, slots=True)
class Cleared:
    """The messages and turns that a command cleared or stopped in a session."""

    ids: Sequence[int] = ()  # of messages that waited
    texts: Sequence[str] = ()  # theirs, "" for those without words
    running: bool = False  # a turn was being run
    unparked: Sequence[str] = ()  # turns that waited for an approval


class SessionControl(Protocol):
    """The session in which a command was given."""

    @property
    def state(self) -> SessionState:
        """The living conversation."""
        ...

    @property
    def running(self) -> bool:
        """Whether a turn runs now."""
        ...

    @property
    def key(self) -> str:
        """The key by which the tenant's sessions are told apart."""
        ...

    def cancel(self, user_id: str | None) -> bool:
        """End the turn that answers an earlier message of a person (None: of anybody); False: there is none."""
        ...

    def clear(self, connection: Connection, why: str, user_id: str | None, now: datetime) -> Cleared:
        """Record that the earlier messages of a person (None: of anybody) are answered no more."""
        ...

    async def answer_aside(self, question: str) -> str:
        """Answer a question beside the turn, without making it part of the conversation; "" if it is refused."""
        ...

    async def read_files(self) -> Sequence[str]:
        """Return the text files that came with the command, as far as they can be read."""
        ...

    async def delete_message(self) -> bool | None:
        """Delete the message that gave the command. False: the platform does not allow it; None: it is no message."""
        ...

    def mark(self, tenant: str, sender: str) -> str:
        """Return the keyed hash of a sender."""
        ...


@dataclass(frozen=True, slots=True)
class Invocation:
    """One use of a command by a known person, typed or pressed."""

    name: str  # without the slash, lower case; of a button its word
    arguments: str  # everything behind the name, stripped, lines and case kept; of a button what it is about
    principal: Principal
    now: datetime  # aware UTC, by the wall clock
    row: InboxRow  # the message or event that gave it
    session: SessionControl
    store: Store  # to read from
    texts: Catalogue
    clock: Callable[[], datetime]  # the store's time: ask it inside the commit
    scopes: frozenset[str] | None = None  # of the API key by which it came; None: it came by no key

    def say(self, key: str, /, **values: object) -> str:
        """Return a text of the catalogue in the person's language."""
        return self.texts.text(self.principal.locale, key, **values)

    def plural(self, key: str, n: int, /, **values: object) -> str:
        """Return a text of the catalogue for this number, in the person's language."""
        return self.texts.plural(self.principal.locale, key, n, **values)

    @property
    def key(self) -> str:
        """The idempotency key of its changes: "inbox:17"."""
        return f"inbox:{self.row.id}"

    @property
    def sender(self) -> str:
        """The canonical sender: `telegram:42`."""
        return self.row.event.sender_key

    @property
    def address(self) -> Address:
        """Where it was given."""
        return self.row.event.address

    @property
    def direct(self) -> bool:
        """Whether only its person reads the chat."""
        return getattr(self.row.event, "kind", None) is ChatKind.DIRECT

    @property
    def by_operator(self) -> bool:
        """Return True if the person is an operator and, over the API, the key may operate."""
        may_operate = self.scopes is None or Scope.OPERATE in self.scopes
        return may_operate and Role(self.principal.role).allows(Role.OPERATOR)


Handle = Callable[[Invocation], Awaitable[Reply | Write]]
"""Decides what a command or a button does."""


@dataclass(frozen=True, slots=True)
class Command:
    """One row of the command table."""

    name: str
    summary: str  # what menus and /help show: a key of the catalogue, or the words
    handle: Handle
    least_role: Role = Role.MEMBER
    lists_people: bool = False  # it shows other people and changes nothing: a key of the API needs `read` for it
    urgent: bool = False  # passes the backlog by (/stop)
    turn: str | None = None  # it starts a turn of this kind; its handle is not called
    options: tuple[CommandOption, ...] = ()  # its arguments, described like it; empty: it takes none
    system: bool = False  # nobody can type it: it answers an event of the gateway's own
    shared: bool = False  # it is about what everybody in a group can read, and so is its answer
    stops: bool = False  # it may end the running turn; a button for it becomes a message of its own
