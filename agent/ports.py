"""The protocols of all that the agent needs from outside; `gateway` implements them, tests use fakes.

The agent never sees a chat, a table or a socket: history, effects, steering and the end of a turn use these ports.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Concatenate, NoReturn, ParamSpec, Protocol

from agent.consent import AskedCall, Consent
from agent.credentials import Credential
from agent.encoded_pieces import EncodedPieces
from agent.errors import FailureKind
from agent.fallbacks import Fallback, ResponseDiscarded
from agent.permission_rules import NO_PERMISSIONS, TurnPermissions
from agent.pictures import LoadPictures
from agent.prices import TokenPrices
from agent.transcript import EndReason, Item, JournalEvent, ModelResponded, ToolCall, ToolReturned, UserItem
from agent.turn_progress import (
    HistoryShortened,
    ModelAnswered,
    QuestionPut,
    ToolEnded,
    ToolProgress,
    ToolStarted,
    TurnFinished,
)

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Principal:
    """The person for whom a turn runs. It comes from the gateway, never from the model."""

    user_id: str
    tenant: str
    display_name: str = ""
    role: str = "member"
    timezone: str = "UTC"  # IANA name
    locale: str | None = None  # BCP 47
    week_start: int = 0  # 0 Monday ... 6 Sunday
    model: str | None = None  # the person's choice; None: the first
    agent: str = ""  # the agent that they talk to, by its name in session keys; "": outside of conversations
    keeps_language: bool = False  # `locale` is their choice; else their messages are answered in their own language
    in_group: bool = False  # others read the conversation: nothing private of the person is shown
    wants_voice: bool = False  # their answers are spoken, too


# ---------------------------------------------------------------- the model


@dataclass(frozen=True, slots=True, eq=False)  # equal schemas may differ as JSON: `1` and `1.0`
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    schema: dict[str, object]  # JSON schema of the arguments object


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The person and time of a request, for models that run in this process; no wire sends it."""

    locale: str | None  # BCP 47
    now: datetime  # aware, in the person's own zone
    data: object = None  # parsed for this request, in the agent's own form; None: nothing
    keeps_language: bool = False  # the answer is in `locale`, whatever the language of the messages
    is_products: bool = True  # False: the product's rules cannot answer in the model's place


BOUNDARY = "\n\n---\n\n"
"""Separates the two halves of a prompt if a wire sends it as one text."""


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """A model's instructions in two halves: a provider may cache the first."""

    static: str = ""  # byte for byte the same for all people, as long as the session's settings are
    dynamic: str = ""  # for this person and time
    leading: tuple[str, ...] = ()  # blocks before it, if a credential's profile has some

    def __str__(self) -> str:
        return BOUNDARY.join(part for part in (*self.leading, self.static, self.dynamic) if part)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Everything on which one model call depends."""

    system: SystemPrompt
    items: Sequence[Item]
    tools: Sequence[ToolSpec] = ()  # empty: the model cannot call tools
    max_output_tokens: int = 8192
    stream: bool = True
    retry_budget_s: float = 60.0  # maximum sleep between attempts in this call; waiting for bytes does not count
    context: RequestContext | None = None  # None: the person is unknown
    pieces: EncodedPieces | None = field(default=None, compare=False, repr=False)  # of its conversation; None: none
    who: Principal | None = None  # whose credential may be used; None: only the gateway's
    credential: Credential | None = field(default=None, compare=False, repr=False)  # None: the configuration's
    estimated_tokens: int | None = field(default=None, compare=False)  # estimated, of all of it; None: not measured
    weigh: Callable[[], float | None] = field(default=lambda: None, compare=False)
    """Returns how hard its turn is, see agent.context.sizes; None: not part of a turn."""
    load_pictures: LoadPictures | None = field(default=None, compare=False, repr=False)  # None: no pictures are stored
    picture_bytes: Mapping[str, bytes] = field(default_factory=dict, compare=False, repr=False)  # loaded so far, by id


@dataclass(eq=False)  # neither frozen nor slots: the interpreter sets an exception's traceback and context
class ModelFailure(Exception):
    """A model call that gave no usable response."""

    kind: FailureKind
    message: str  # for operators; never contains a secret
    status: int | None = None  # HTTP status; None: there was none
    retryable: bool = False
    retry_after_s: float | None = None
    unasked: bool = False  # the request was not sent and is not billed
    own_credential: bool = False  # the person's own was refused: that affects only them

    def __str__(self) -> str:
        status = "" if self.status is None else f" (HTTP {self.status})"
        return f"{self.kind}{status}: {self.message}"


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Event: more of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class TextDiscarded:
    """Event: the streamed text and calls of this response are discarded; the model is asked again."""

    kept_text: str = ""  # the earlier answer, which stays


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """Event: more of the model's thinking, which is not part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStreamed:
    """Event: the arguments of a call have streamed completely, before the response ends."""

    index: int
    call: ToolCall


@dataclass(frozen=True, slots=True)
class RetryPause:
    """Event: the provider is busy and is asked again after a pause."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Alive:
    """Event: the provider sent a part of the response that no other event reports: thinking, part of a call."""


ALIVE = Alive()


@dataclass(frozen=True, slots=True)
class Pinged:
    """Event: the server is working (a comment, progress, an empty chunk), without a part of the response."""


PINGED = Pinged()


@dataclass(frozen=True, slots=True)
class ModelAtWork:
    """Event: pause (`on`) or resume the turn's deadline while the model is working."""

    on: bool


@dataclass(frozen=True, slots=True)
class Recovering:
    """Event: a fallback within the model discards the response so far and asks once more."""

    fallback: Fallback
    detail: str = ""  # for operators: the kind of failure or the next model's name
    why: str = ""  # which model failed and why, if the next one is asked


ModelEvent = (
    TextDelta | TextDiscarded | ThinkingDelta | CallStreamed | RetryPause | Alive | Pinged | ModelAtWork | Recovering
)
BINDING = (TextDelta, CallStreamed)
"""Events that must be retracted if the response is discarded."""

OnModelEvent = Callable[[ModelEvent], None]


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The known limits and abilities of a model."""

    context_window_tokens: int = 128_000  # input and output together
    max_output_tokens: int | None = None  # of one response; None: unknown
    sees_images: bool = False
    takes_tools: bool = True
    prices: TokenPrices | None = None  # None: unknown, which is not free


class ChatModel(Protocol):
    """One model behind one wire, or a chain of them."""

    name: str  # provider:name

    @property
    def facts(self) -> ModelFacts:
        """Return the model's limits; those of a chain's first model. The first call may be slow."""
        ...

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Return one whole response (the loop sets its `step`); report text and calls to `on_event` as they stream in.

        Raises:
            ModelFailure: there is no usable response.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


# ---------------------------------------------------------------- the turn


TurnEvent = (
    ModelEvent | ToolStarted | ToolProgress | ToolEnded | ModelAnswered | QuestionPut | HistoryShortened | TurnFinished
)
"""An event of a turn; `agent.turn_events` streams them."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The text that replaces the older part of a conversation in one person's prompts."""

    notes: str  # written by a model; "" if none could
    turn_id: str  # the first turn that is kept word for word
    step: int = 0  # and its first kept step; the person's messages in it are all kept
    condensed: int = 0  # total messages in the notes
    left_out: int = 0  # total messages without notes, because no model could condense them
    kept_at: datetime | None = field(default=None, compare=False)  # turns that ended later are not in it; None: unknown


class Prefix:
    """The static half of a session's prompt, frozen by its first turn; changed settings apply to the next session.

    It holds until `/new`, until the operator changes the agent's own prompt, or until the older part of the
    conversation is summarised, which invalidates the provider's cache anyway.
    """

    def __init__(self) -> None:
        self._latched: str | None = None
        self._source: object = None

    def latch(self, prompt: SystemPrompt, source: object) -> SystemPrompt:
        """Return the prompt with the static half of the session's first request; `source` is the agent's prompt."""
        if self._latched is None or self._source != source:
            self._latched, self._source = prompt.static, source
        return prompt if prompt.static == self._latched else replace(prompt, static=self._latched)

    def release(self) -> None:
        """Forget the static half, so that the next prompt sets a new one."""
        self._latched = None


@dataclass(frozen=True, slots=True)
class Change:
    """The argument of a function that changes the agent's own data: person, transaction, key, time."""

    tx: Any  # the gateway's database transaction; opaque to the agent
    principal: Principal
    key: str  # of the tool call, command or request; unique
    now: datetime  # aware


@dataclass(init=False, slots=True)
class LocalEffect:
    """A change that a tool requests: a function and its arguments.

    The gateway runs it once a call, in the commit that journals its result. It returns data for the model; if it raises
    ToolError, nothing is written and the model reads why.
    """

    function: Callable[..., object]
    arguments: tuple[object, ...]
    named: dict[str, object]

    def __init__(
        self, function: Callable[Concatenate[Change, P], object], /, *arguments: P.args, **named: P.kwargs
    ) -> None:
        self.function, self.arguments, self.named = function, arguments, named

    def run(self, change: Change) -> object:
        """Make the change and return its result."""
        return self.function(change, *self.arguments, **self.named)


Spent = ModelResponded | ResponseDiscarded
"""A response that costs money, whether it is used or not."""

NoteCost = Callable[[Spent], Awaitable[None]]
"""Counts the cost of a model call that is no step of a turn."""


class JournalPort(Protocol):
    """The durable journal of a running turn."""

    async def record(self, *events: JournalEvent) -> None:
        """Append events to the journal; they are durable when this returns.

        Raises:
            Fenced: another process owns the session now.
        """
        ...

    async def apply(self, effect: LocalEffect, returned: ToolReturned) -> ToolReturned:
        """Run a local effect and journal its result in one commit; `returned.content` is filled in.

        A repeated `call_key` changes nothing and gives the first result.

        Raises:
            ToolError: the effect was refused; nothing was written.
        """
        ...

    def steering_waits(self, *, by_person: bool = False) -> bool:
        """Return True if `steer` would claim something now; `by_person`: something that a person wrote."""
        ...

    async def steer(self, step: int, overtaken: Sequence[ToolReturned]) -> tuple[UserItem, ...]:
        """Claim the person's new messages, and journal the calls that they skip, in one commit.

        Return () without a commit if there are none; then no call was skipped either.
        """
        ...

    async def keep_summary(self, summary: Summary, responses: Sequence[Spent]) -> None:
        """Store the summary of the conversation's older part and its cost, in one commit.

        Raises:
            Fenced: another process owns the session; nothing was written.
        """
        ...

    async def note_cost(self, response: Spent) -> None:
        """Count the cost of a model call that is no step of the turn: a judge's, or a discarded summary's.

        Raises:
            Fenced: another process owns the session; nothing was written.
        """
        ...

    async def finish(
        self,
        reason: EndReason,
        text: str,
        response: ModelResponded | None,
        note: str = "",
        *,
        busy_s: float | None = None,
        why: str = "",
    ) -> bool:
        """End the turn: last response, answer, deliveries and outcomes in one commit.

        Return False, with nothing done, if a message came in that the turn should read first; only for `COMPLETED`.
        Other ends always succeed, and such a message starts the next turn. `text` is never empty; it ends with `note`,
        the harness's own text. `busy_s` is when a busy model may be asked again; `why` tells an operator what failed.
        """
        ...

    def scrub(self, text: str) -> str:
        """Remove secrets from a tool's result before it is journaled."""
        ...

    async def whole_result(self, handle: str) -> str | None:
        """Return the raw result of a call of this conversation and person by its call key; None if unknown."""
        ...

    async def load_pictures(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        """Return the bytes of this conversation's pictures by id, without those that are no longer kept."""
        ...


class ConsentPort(Protocol):
    """Approvals by the turn's person."""

    async def consent(self, ask: AskedCall) -> Consent | None:
        """Return the person's answer about exactly this call; None if they were not asked or the question is void.

        `REMEMBERED` is an earlier answer about this tool, if that may count.
        """
        ...

    async def park(self, ask: AskedCall, left_s: float) -> NoReturn:
        """Ask the person and suspend the turn: the question and the wait are durable when this raises.

        `left_s` is the rest of the turn's time.

        Raises:
            TurnParked: always; the gateway ends this run and resumes the turn later.
            Fenced: another process owns the session now.
        """
        ...


class WaitPort(Protocol):
    """Calls whose results come later."""

    async def begin_work(self, effect: LocalEffect, call_key: str) -> None:
        """Start the work of a call in a commit of its own.

        Raises:
            ToolError: it was refused; nothing was written.
            Fenced: another process owns the session now.
        """
        ...

    async def wait(self, step: int, calls: Mapping[str, str], left_s: float) -> None:
        """Suspend the turn until one of these calls, tools by call key, has its result; return at once if one has.

        Raises:
            TurnParked: the wait is durable; the gateway ends this run and resumes the turn later.
            Fenced: another process owns the session now.
        """
        ...


class WatcherPort(Protocol):
    """The people who watch a running turn and may stop it."""

    def progress(self, event: TurnEvent) -> None:
        """Show an event; never block or raise.

        `TextDiscarded` retracts a response's `TextDelta`s: it is asked again, or it called tools and was no answer.
        `Alive`, `Pinged`, `ModelAtWork` and `Recovering` never come here.
        """
        ...

    async def let_watchers_read(self) -> None:
        """Wait, at most some seconds, until slow watchers have caught up."""
        ...

    def stopping(self) -> EndReason | None:
        """Return the reason why the turn should end now (`/stop`, an interrupt), or None."""
        ...

    def until_stopped(self) -> asyncio.Future[EndReason]:
        """Return the turn's own future of the value of `stopping`; callers must not cancel it."""
        ...


@dataclass(frozen=True, slots=True)
class TurnPorts:
    """The ports through which a running turn acts."""

    journal: JournalPort
    consents: ConsentPort
    watchers: WatcherPort
    waits: WaitPort | None = None  # None: it cannot wait, and such calls are refused


@dataclass(frozen=True, slots=True)
class Turn:
    """The state from which a turn starts or resumes."""

    id: str  # UUIDv7
    principal: Principal
    history: Sequence[Item]  # of the session, before this turn
    events: Sequence[JournalEvent]  # of this turn so far; more than TurnStarted after a crash
    started_at: datetime  # aware UTC
    hints: str = ""  # the channel's formatting hints for text
    starts: tuple[tuple[int, str], ...] = ()  # (index in `history`, turn id), oldest first
    summary: Summary | None = None  # of the part before `history`; None: nothing was summarised
    prefix: Prefix = field(default_factory=Prefix)  # of the session
    pieces: EncodedPieces = field(default_factory=EncodedPieces)  # of the session
    history_tokens: int | None = None  # estimated; None: not measured
    permissions: TurnPermissions = NO_PERMISSIONS  # of its session
    memory: str = ""  # the prompt's section of what is remembered of the person
    conversation: str = ""  # opaque, of the conversation with this person; another one after `/new`
