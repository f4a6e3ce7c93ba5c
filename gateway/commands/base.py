"""Commands: a handler gets an `Invocation` and returns a `Reply`, or a `Write` whose job changes data and replies.

A handler reads and decides; it changes nothing. What a command changes is a function over the transaction that also
records the command's outcome and its reply, so all of it is stored, or nothing.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Concatenate, ParamSpec, Protocol, TypeVar, get_args

from agent.catalogue import Catalogue
from agent.permission_rules import Mode as PermissionMode
from agent.ports import Principal
from agent.transcript import SuggestedReply
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
R = TypeVar("R")

MODES: tuple[str, ...] = get_args(Mode)
"""Modes for messages that arrive during a turn: see `gateway.sessions.inbox_rules`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """Changes of a command's commit that memory holds, too. Only a hint: the store is right."""

    conversation: SessionState | None = None  # the session's conversation, if it is a new one or has a new mode
    ended: bool = False  # the earlier conversation ended
    cleared: Sequence[int] = ()  # rows that were cancelled
    unparked: Sequence[str] = ()  # turns whose approvals were withdrawn
    person: Person | None = None  # the person after the change
    forgotten: Sequence[Forgotten] = ()  # senders of an erased person
    permissions: bool = False  # rules or permission mode of the conversation
    said: InboxRow | None = None  # a message of the person that the commit admitted
    after: Callable[[], None] | None = None  # called after the commit


@dataclass(frozen=True, slots=True)
class Reply:
    """Reply of a command."""

    text: str  # Markdown; "": none
    files: tuple[OutboundMedia, ...] = ()  # sent with the text if the channel can
    redact: bool = False  # blank the row, because the command contained a secret
    buttons: tuple[Button, ...] = ()  # under the text, sealed for the person who gave the command
    offers: tuple[SuggestedReply, ...] = ()  # commands for buttons under the text
    typed: str = ""  # said in place of the buttons on a channel without them; "": the commands of `offers`
    secret_ref: str | None = None  # code that replaces the bullets when the text is sent; see gateway.access.codes
    changed: Changed = field(default_factory=Changed)


class Write:
    """Job to run in the commit that stores a command's outcome; it returns the `Reply`.

    The job is applied at most once, but its commit may be retried: it only runs SQL.
    """

    def __init__(self, job: Callable[Concatenate[Connection, P], Reply], /, *args: P.args, **kwargs: P.kwargs) -> None:
        self.job: Callable[..., Reply] = job
        self.args = args
        self.kwargs = kwargs

    def run(self, connection: Connection) -> Reply:
        """Call the job with its arguments."""
        return check_returned(self.job(connection, *self.args, **self.kwargs), (Reply,), self.job)


def check_returned(returned: R, wanted: tuple[type, ...], function: Callable[..., object]) -> R:
    """Return what a function of a command returned.

    Raises:
        TypeError: it is of no wanted class; the message names the function.
    """
    if isinstance(returned, wanted):
        return returned
    called = function.func if isinstance(function, partial) else function
    whose = f"{called.__module__}.{getattr(called, '__qualname__', type(called).__qualname__)}"
    classes = " or a ".join(kind.__name__ for kind in wanted)
    raise TypeError(f"{whose} returned {type(returned).__name__}, not a {classes}")


@dataclass(frozen=True, slots=True)
class Cleared:
    """The messages and turns that a command cleared or stopped in a session."""

    ids: Sequence[int] = ()  # of waiting messages
    texts: Sequence[str] = ()  # their texts, "" without words
    running: bool = False  # a turn was running
    unparked: Sequence[str] = ()  # turns that waited for an approval


class SessionControl(Protocol):
    """Session in which a command was given."""

    @property
    def state(self) -> SessionState:
        """Return the current conversation."""
        ...

    @property
    def configured_permission_mode(self) -> PermissionMode:
        """Return the permission mode of conversations in which none was set."""
        ...

    @property
    def tools(self) -> Sequence[str]:
        """Return the names of the agent's tools."""
        ...

    @property
    def running(self) -> bool:
        """Return True if a turn is running."""
        ...

    @property
    def key(self) -> str:
        """Return the session's key, unique in the tenant."""
        ...

    def cancel(self, user_id: str | None) -> bool:
        """Cancel the turn that answers an earlier message of a person (None: anyone); return False if there is none."""
        ...

    def clear(self, connection: Connection, why: str, user_id: str | None, now: datetime) -> Cleared:
        """Cancel the earlier messages of a person (None: of anyone)."""
        ...

    async def answer_aside(self, question: str) -> str:
        """Answer a question beside the turn, without making it part of the conversation; "" if it is refused."""
        ...

    async def read_files(self) -> Sequence[str]:
        """Return the text files that came with the command, as far as they can be read."""
        ...

    async def delete_message(self) -> bool | None:
        """Delete the message with the command. False: the platform does not allow it; None: it was not a message."""
        ...

    def mark(self, tenant: str, sender: str) -> str:
        """Return the keyed hash of a sender."""
        ...


@dataclass(frozen=True, slots=True)
class Invocation:
    """One use of a command by a person, typed or pressed."""

    name: str  # without the slash, lower case; a button's word
    arguments: str  # text after the name, stripped; a button's subject
    principal: Principal
    now: datetime  # aware UTC, wall clock
    row: InboxRow  # the message or event with the command
    session: SessionControl
    store: Store  # for reading
    texts: Catalogue
    clock: Callable[[], datetime]  # the store's time, to be used inside the commit
    scopes: frozenset[str] | None = None  # of the API key it came by; None: without a key
    button: Button | None = None  # the pressed one, kept with its message; None: it is over, or none was pressed

    def say(self, key: str, /, **values: object) -> str:
        """Return a text of the catalogue in the person's language."""
        return self.texts.text(self.principal.locale, key, **values)

    def plural(self, key: str, n: int, /, **values: object) -> str:
        """Return a text of the catalogue for this number, in the person's language."""
        return self.texts.plural(self.principal.locale, key, n, **values)

    @property
    def key(self) -> str:
        """Return the idempotency key of the command's changes: "inbox:17"."""
        return f"inbox:{self.row.id}"

    @property
    def sender(self) -> str:
        """Return the canonical sender: `telegram:42`."""
        return self.row.event.sender_key

    @property
    def address(self) -> Address:
        return self.row.event.address

    @property
    def direct(self) -> bool:
        """Return True if only the person reads this chat."""
        return getattr(self.row.event, "kind", None) is ChatKind.DIRECT

    @property
    def by_operator(self) -> bool:
        """Return True if the person is an operator and, over the API, the key may operate."""
        return self._has(Role.OPERATOR)

    @property
    def by_owner(self) -> bool:
        """Return True if the person is an owner and, over the API, the key may operate."""
        return self._has(Role.OWNER)

    def _has(self, role: Role) -> bool:
        may_operate = self.scopes is None or Scope.OPERATE in self.scopes
        return may_operate and Role(self.principal.role).allows(role)


Handle = Callable[[Invocation], Awaitable[Reply | Write]]
"""Handler of a command or a button."""


class HelpGroup(StrEnum):
    """The lists of `/help`."""

    AGENT = "agent"  # what the agent is for
    CHAT = "chat"  # the conversation
    ACCOUNT = "account"  # the person and their data
    OWNER = "owner"  # other people, for operators and owners


_COMMAND_NAME = re.compile("[a-z0-9_]{1,32}")


@dataclass(frozen=True, slots=True)
class Command:
    """One row of the command table."""

    name: str
    summary: str  # for menus and /help: a key of the catalogue, or text
    handle: Handle
    least_role: Role = Role.MEMBER
    lists_people: bool = False  # it only shows other people: an API key needs `read` for it
    urgent: bool = False  # handled before waiting messages (/stop)
    turn: str | None = None  # it starts a turn of this kind instead of calling the handler
    options: tuple[CommandOption, ...] = ()  # its arguments; empty: none
    system: bool = False  # not for people: it answers an event of the gateway
    shared: bool = False  # it concerns what a whole group can read, and so does its answer
    hidden: bool = False  # in no menu and not in /help; it runs if it is typed
    group: HelpGroup = HelpGroup.AGENT  # list of /help; operators' commands are in one of their own
    stops: bool = False  # it may end the running turn; a button for it is sent as a message

    def __post_init__(self) -> None:
        """Check the name.

        Raises:
            ValueError: platforms refuse it.
        """
        if not _COMMAND_NAME.fullmatch(self.name):
            raise ValueError(f"the command {self.name!r} needs a name of 1 to 32 letters a to z, digits and _")
