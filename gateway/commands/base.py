"""A command answers with a plan of what to change and what to say; `CommandRunner` carries it out in one commit."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, get_args

from agent.consent import Consent
from agent.ports import LocalEffect, Principal
from channels.base import CommandOption
from channels.messages import Address, Button, OutboundMedia
from gateway.access.api_keys import Scope
from gateway.access.roles import Role
from gateway.store.erasure import Extent
from gateway.store.tables.turns import Mode


class SessionAction(StrEnum):
    """What a command does to its session, in the same commit."""

    NEW = "new"  # a new generation: the conversation starts afresh
    STOP = "stop"  # cancel the running turn and clear what waits


MODES: tuple[str, ...] = get_args(Mode)
"""How messages that arrive mid-turn are taken: see `gateway.sessions.modes`."""


@dataclass(frozen=True, slots=True)
class SetMode:
    """Change how messages that arrive mid-turn are taken."""

    mode: str  # one of MODES


@dataclass(frozen=True, slots=True)
class ResumeConversation:
    """Go on with an earlier conversation of the same place; what runs in the present one is stopped."""

    session_id: str


@dataclass(frozen=True, slots=True)
class SetTitle:
    """Call the conversation so."""

    title: str


@dataclass(frozen=True, slots=True)
class SetTimezone:
    """Change the person's zone."""

    timezone: str  # IANA name


@dataclass(frozen=True, slots=True)
class SetName:
    """Change what the person is called."""

    name: str


@dataclass(frozen=True, slots=True)
class SetLanguage:
    """Change the language that the person is spoken to in."""

    language: str  # one of agent.language.NAMES


@dataclass(frozen=True, slots=True)
class SetModel:
    """Change the model that the person is answered by."""

    model: str | None  # its name in the configuration; None: whichever comes first


@dataclass(frozen=True, slots=True)
class ForgetPerson:
    """Stop what runs for the person, then delete what is kept of them, also beyond the agent's own data."""

    extent: Extent  # talk | everything
    sure: bool = True  # False: nothing is done yet, but whether it may be is looked at


@dataclass(frozen=True, slots=True)
class SaySuggested:
    """Take what an answer suggested as said by whoever pressed its button, where it is not too late for that."""

    turn_id: str  # whose answer it was
    index: int  # which of its suggestions


@dataclass(frozen=True, slots=True)
class AnswerApproval:
    """Take what somebody says to a question about a tool call."""

    approval_id: str
    answer: Consent  # allowed | remembered | denied


@dataclass(frozen=True, slots=True)
class ApprovalAnswered:
    """What became of that."""

    taken: bool  # it is the answer
    stood: Consent | None  # how the question stands now; None: there is none for them


@dataclass(frozen=True, slots=True)
class ForgetPermission:
    """Remember no more that a tool, or any (None), runs unasked for the person."""

    tool: str | None


@dataclass(frozen=True, slots=True)
class KeepCredential:
    """Keep what the person connected to a provider, in place of what they had there."""

    provider: str
    kind: str  # see agent.credentials.CredentialKind
    sealed: str


@dataclass(frozen=True, slots=True)
class DropCredential:
    """Forget it; whether there was one is added to the results."""

    provider: str


@dataclass(frozen=True, slots=True)
class PermissionsForgotten:
    """How many were."""

    count: int


@dataclass(frozen=True, slots=True)
class SessionCleared:
    """What `/stop`, `/new` or `/sessions` took away."""

    count: int  # of messages that wait no more
    texts: Sequence[str]  # theirs, where they had words
    was_running: bool  # something was being answered
    begun: bool = True  # False: it is the conversation that it was, also where another one was wanted


@dataclass(frozen=True, slots=True)
class SuggestionTaken:
    """What became of a pressed button under an answer."""

    said: bool  # its words were taken; False: too late
    before: str = ""  # what the button says that was pressed before; "": none was


Results = Sequence[object]
"""What each change of a reply gave back, or the data of its refusal; then what its session action did, if it says."""


SessionWish = (
    SessionAction
    | ForgetPerson
    | ResumeConversation
    | SetTitle
    | SetMode
    | SetTimezone
    | SetLanguage
    | SetModel
    | SetName
    | SaySuggested
    | AnswerApproval
    | ForgetPermission
    | KeepCredential
    | DropCredential
)
"""What a command may do beside its changes: to its session, or to the person who gave it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command wants: changes, and the words that follow from them (Markdown)."""

    text: str | Callable[[Results], str]
    files: tuple[OutboundMedia, ...] = ()  # sent with the reply, where the channel can
    changes: tuple[LocalEffect, ...] = ()  # run in the commit of the reply, in order
    session: SessionWish | None = None
    redact: bool = False  # the command held a secret: its row is blanked at its outcome
    buttons: tuple[Button, ...] = ()  # under the text, sealed for whoever gave the command
    secret_ref: str | None = None  # what stands for bullets in the text, when it is sent; see gateway.access.codes
    offer: SaySuggested | None = None  # the pressed button that asked for it: it is done once, if the offer holds


ReadFiles = Callable[[], Awaitable[Sequence[str]]]
"""The text files that came with a command, as far as they can be read."""


TakeBack = Callable[[], Awaitable[bool | None]]
"""Delete the message that gave a command, where the platform allows; False: it stands, None: there was none."""


async def no_message() -> bool | None:
    """A command that was no message."""
    return None


AnswerAside = Callable[[str], Awaitable[str]]
"""The answer to a question beside the turn, which becomes no part of the conversation; "" where it is refused."""


async def no_answer(_question: str) -> str:
    """Nobody answers here."""
    return ""


async def no_files() -> Sequence[str]:
    """A command that brought none."""
    return ()


class SessionControl(Protocol):
    """What a command may know and do about the session it was given in."""

    @property
    def mode(self) -> str:
        """The session's mode."""
        ...

    @property
    def running(self) -> bool:
        """Whether a turn runs now."""
        ...

    @property
    def where(self) -> tuple[str, str]:
        """Tenant and key: what the session is known by."""
        ...


@dataclass(frozen=True, slots=True)
class Invocation:
    """One use of a command by a known person."""

    name: str  # without the slash, lower case
    arguments: str  # all behind the name, stripped, lines and case kept; of several options one after another
    principal: Principal
    now: datetime  # aware UTC
    session: SessionControl
    key: str  # the idempotency key of its changes: "inbox:17"
    read_files: ReadFiles = no_files
    take_back: TakeBack = no_message
    sender: str = ""  # the canonical sender, `telegram:42`
    direct: bool = True  # nobody else reads along
    address: Address | None = None  # where it was given
    answer_aside: AnswerAside = no_answer
    scopes: frozenset[str] | None = None  # of the API key that it came by; None: it came by no key

    @property
    def by_operator(self) -> bool:
        """Whether an operator's role counts here: over the API only with a key that may operate."""
        may_operate = self.scopes is None or Scope.OPERATE in self.scopes
        return may_operate and Role(self.principal.role).allows(Role.OPERATOR)


@dataclass(frozen=True, slots=True)
class Command:
    """One row of the command table."""

    name: str
    summary: str  # what menus and /help show: a key of the catalogue, or the words
    handle: Callable[[Invocation], Awaitable[Reply]]
    least_role: Role = Role.MEMBER
    lists_people: bool = False  # it shows other people and changes nothing: a key of the API needs `read` for it
    urgent: bool = False  # passes the backlog by (/stop)
    turn: str | None = None  # it starts a turn of this kind; its handle is not called
    options: tuple[CommandOption, ...] = ()  # its arguments, described like it; empty: it takes none
    system: bool = False  # nobody can type it: it answers an event of the gateway's own
    shared: bool = False  # it is about what everybody in a group can read, and so is its answer
