"""The agent owns Protocols for all it needs from outside; `gateway` supplies them, tests supply fakes.

The agent never sees a chat, a table or a socket: history, effects, steering and the end of a turn all pass here.
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
from agent.pictures import LoadPictures
from agent.prices import TokenPrices
from agent.transcript import EndReason, Item, JournalEvent, ModelResponded, ToolCall, ToolReturned, UserItem
from agent.turn_progress import HistoryShortened, QuestionPut, ToolEnded, ToolProgress, ToolStarted, TurnFinished

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Principal:
    """The one person a turn acts for. It comes from the envelope, never from the model."""

    user_id: str
    tenant: str
    display_name: str = ""
    role: str = "member"
    timezone: str = "UTC"  # IANA name
    locale: str | None = None  # BCP 47
    week_start: int = 0  # 0 Monday ... 6 Sunday
    model: str | None = None  # by which they want to be answered; None: the first


# ---------------------------------------------------------------- the model


@dataclass(frozen=True, slots=True, eq=False)  # equal schemas may differ as JSON: `1` and `1.0`
class ToolSpec:
    """A tool as the model is told of it."""

    name: str
    description: str
    schema: dict[str, object]  # JSON schema of the arguments object


@dataclass(frozen=True, slots=True)
class RequestContext:
    """For whom and when a response is, as data: for models that run in this process; no wire sends it anywhere."""

    locale: str | None  # BCP 47
    now: datetime  # aware, in the person's own zone
    data: object = None  # what was read for this request, in the agent's own form; None: nothing


BOUNDARY = "\n\n---\n\n"
"""Stands between the two halves of a prompt where a wire sends it as one text."""


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """A model's instructions, in two halves: up to the boundary between them a provider may cache."""

    static: str = ""  # byte for byte the same for everybody, as long as a session's settings are
    dynamic: str = ""  # of this person and moment
    leading: tuple[str, ...] = ()  # blocks that stand before it, where a credential's profile asks for them

    def __str__(self) -> str:
        return BOUNDARY.join(part for part in (*self.leading, self.static, self.dynamic) if part)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Everything one model call depends on."""

    system: SystemPrompt
    items: Sequence[Item]
    tools: Sequence[ToolSpec] = ()  # empty: the model cannot call anything
    max_output_tokens: int = 8192
    stream: bool = True
    retry_budget_s: float = 60.0  # how long, at most, this call may sleep between tries; waiting for bytes not counted
    context: RequestContext | None = None  # None: the person is unknown
    pieces: EncodedPieces | None = field(default=None, compare=False, repr=False)  # of its conversation; None: of none
    who: Principal | None = None  # whose credential it may be asked with; None: the gateway's alone
    credential: Credential | None = field(default=None, compare=False, repr=False)  # None: the configuration's
    own_credential: bool = field(default=False, compare=False)  # it is the person's: its refusal is theirs alone
    estimated_tokens: int | None = field(default=None, compare=False)  # about all of it; None: not measured
    weight: float | None = None  # how much its turn asks of a model, see agent.context.sizes; None: it is no turn's
    load_pictures: LoadPictures | None = field(default=None, compare=False, repr=False)  # None: no pictures are kept
    picture_bytes: Mapping[str, bytes] = field(default_factory=dict, compare=False, repr=False)  # read so far, by id


@dataclass(eq=False)  # neither frozen nor slots: the interpreter writes an exception's traceback and context
class ModelFailure(Exception):
    """A model call that gave no usable response."""

    kind: FailureKind
    message: str  # for an operator; never holds a secret
    status: int | None = None  # HTTP status, None where there was none
    retryable: bool = False
    retry_after_s: float | None = None
    unasked: bool = False  # the provider never had the request, so that it cost nothing

    def __str__(self) -> str:
        status = "" if self.status is None else f" (HTTP {self.status})"
        return f"{self.kind}{status}: {self.message}"


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class TextDiscarded:
    """The streamed text and calls of this response are void; the model is asked again."""

    stands: str = ""  # what was answered before it and holds


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More of what the model thinks before it answers; no part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStreamed:
    """A call whose arguments have streamed in whole, before the response is over."""

    index: int
    call: ToolCall


@dataclass(frozen=True, slots=True)
class RetryPause:
    """The provider is busy: it is asked again after this long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Alive:
    """The provider sent something of the response that is not told otherwise: thinking, part of a call. No ping."""


ALIVE = Alive()


@dataclass(frozen=True, slots=True)
class Pinged:
    """The server said that it works (a comment, progress on the prompt, an empty piece) and nothing of the response."""


PINGED = Pinged()


@dataclass(frozen=True, slots=True)
class ModelAtWork:
    """From here on the time is the model's, which works and is waited for; with `on` false it is the turn's again."""

    on: bool


@dataclass(frozen=True, slots=True)
class Recovering:
    """A fallback within the model: what there was of the response is void, and it is asked once more."""

    fallback: Fallback
    detail: str = ""  # for an operator: the kind of failure, the next model's name
    why: str = ""  # which model failed of what, where the next is asked


ModelEvent = (
    TextDelta | TextDiscarded | ThinkingDelta | CallStreamed | RetryPause | Alive | Pinged | ModelAtWork | Recovering
)
BINDING = (TextDelta, CallStreamed)
"""What, once it was told, has to be taken back where the response counts for nothing."""

OnModelEvent = Callable[[ModelEvent], None]


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The known limits and abilities of a model."""

    context_window_tokens: int = 128_000  # what it takes in, its output included
    max_output_tokens: int | None = None  # of one response; None: unknown
    sees_images: bool = False
    takes_tools: bool = True
    prices: TokenPrices | None = None  # None: unknown, which is not free


class ChatModel(Protocol):
    """One model behind one wire, or a chain of them."""

    name: str  # provider:name

    @property
    def facts(self) -> ModelFacts:
        """Return the model's limits; of a chain, those of its first model. The first call may take some 300 ms."""
        ...

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """One whole response (its `step` is 0; the loop sets it); text and calls are told as they stream in.

        Raises:
            ModelFailure: there is no usable response; nothing was charged to the transcript.
        """
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...


# ---------------------------------------------------------------- the turn


TurnEvent = ModelEvent | ToolStarted | ToolProgress | ToolEnded | QuestionPut | HistoryShortened | TurnFinished
"""One piece of what happens in a turn; `agent.turn_events` streams them."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The text that replaces the older part of a conversation in one person's prompts."""

    notes: str  # what a model wrote down of it; "" where none could
    turn_id: str  # what is kept word for word begins with this turn
    step: int = 0  # and, of its steps, with this one; what its person said in it is kept whole
    condensed: int = 0  # messages in the notes, all told
    left_out: int = 0  # messages that are gone without a note, all told: no model could condense them
    kept_at: datetime | None = field(default=None, compare=False)  # a turn that ended later is not in it; None: unknown


class Prefix:
    """The static half of a session's prompt, as its first turn found it: what settings say since comes with the next.

    It holds until `/new`, or until the older part of the conversation is summarised: then the cache is lost anyway.
    """

    def __init__(self) -> None:
        self._latched: str | None = None

    def latch(self, prompt: SystemPrompt) -> SystemPrompt:
        """Return the prompt with the static half of the first request."""
        if self._latched is None:
            self._latched = prompt.static
        return prompt if prompt.static == self._latched else replace(prompt, static=self._latched)

    def release(self) -> None:
        """Forget the static half: the next prompt sets a new one."""
        self._latched = None


@dataclass(frozen=True, slots=True)
class Change:
    """The argument of a function that changes the agent's own data: its owner, and the transaction."""

    tx: Any  # the gateway's connection, for SQL beside the agent's tables; opaque to the agent
    principal: Principal
    key: str  # of the tool call, command or request that asked for it; unique
    now: datetime  # aware, of the wall clock


@dataclass(init=False, slots=True)
class LocalEffect:
    """A change that a tool asks for: a function and its arguments.

    The gateway runs it in the commit that journals its result, once a call. It returns data for the model; if it raises
    ToolError, nothing of it is kept and the model reads why.
    """

    function: Callable[..., object]
    arguments: tuple[object, ...]
    named: dict[str, object]

    def __init__(
        self, function: Callable[Concatenate[Change, P], object], /, *arguments: P.args, **named: P.kwargs
    ) -> None:
        self.function, self.arguments, self.named = function, arguments, named

    def run(self, change: Change) -> object:
        """Make the change, and return its result."""
        return self.function(change, *self.arguments, **self.named)


Spent = ModelResponded | ResponseDiscarded
"""What was paid for, whether anything came of it or not."""

NoteCost = Callable[[Spent], Awaitable[None]]
"""Counts what a model call cost that is no step of a turn."""


class JournalPort(Protocol):
    """Keeps what a running turn did, durably, and reads what was kept."""

    async def record(self, *events: JournalEvent) -> None:
        """Append events to the journal, durable when this returns.

        Raises:
            Fenced: another process owns the session now; drop everything.
        """
        ...

    async def apply(self, effect: LocalEffect, returned: ToolReturned) -> ToolReturned:
        """Run a local effect and journal its result in one commit; `returned.content` is filled in.

        The same `call_key` again changes nothing and gives the first result.

        Raises:
            ToolError: the effect was refused; nothing was written.
        """
        ...

    def steering_waits(self) -> bool:
        """Return True if `steer` would claim something now."""
        ...

    async def steer(self, step: int, overtaken: Sequence[ToolReturned]) -> tuple[UserItem, ...]:
        """Claim what the principal said meanwhile, with the skipped results it causes, in one commit.

        Empty, without a commit, when nothing waits; then nothing was overtaken either.
        """
        ...

    async def keep_summary(self, summary: Summary, responses: Sequence[Spent]) -> None:
        """Let this stand for the older part of the conversation from now on, with what it cost, in one commit.

        Raises:
            Fenced: another process owns the session; nothing was written.
        """
        ...

    async def note_cost(self, response: Spent) -> None:
        """Count what a model call cost that is no step of the turn: a judge's of a tool call, a summary not kept.

        Raises:
            Fenced: another process owns the session; nothing was written.
        """
        ...

    async def finish(
        self, reason: EndReason, text: str, response: ModelResponded | None, note: str = "", *,
        busy_s: float | None = None, why: str = "",
    ) -> bool:  # fmt: skip
        """End the turn: last response, answer, deliveries and outcomes in one commit.

        False, with nothing done, when a message came in that the turn should read first; only for `COMPLETED`.
        Any other end holds: what waits becomes the next turn. `text` is never empty; it ends with `note`, the
        harness's own words. `busy_s` is when a busy model may be asked again; `why` tells an operator what failed.
        """
        ...

    def scrub(self, text: str) -> str:
        """Return a tool's result without secrets, before it is journaled."""
        ...

    async def whole_result(self, handle: str) -> str | None:
        """Return the raw result of a call of this conversation and person by its call key; None if unknown."""
        ...

    async def load_pictures(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        """Return the bytes of pictures of this conversation by id, without those that are no longer kept."""
        ...


class ConsentPort(Protocol):
    """Asks the turn's person whether a tool may run."""

    async def consent(self, ask: AskedCall) -> Consent | None:
        """Return the person's answer about exactly this call; None if they were not asked or the question is void.

        `REMEMBERED` is an earlier answer about this tool, if that may count.
        """
        ...

    async def park(self, ask: AskedCall, left_s: float) -> NoReturn:
        """Ask them, and let the turn wait: the question and the wait are durable when this raises.

        `left_s` is what is left of the turn's time.

        Raises:
            TurnParked: always; the gateway ends this run and resumes the turn later.
            Fenced: another process owns the session now; drop everything.
        """
        ...


class WatcherPort(Protocol):
    """Shows a running turn to people, who may stop it."""

    def progress(self, event: TurnEvent) -> None:
        """Show an event; never blocks, never fails.

        A response's `TextDelta`s are void when `TextDiscarded` follows: it is asked again, or asked for tools, and was
        no answer. `Alive`, `Pinged`, `ModelAtWork` and `Recovering` never come here.
        """
        ...

    async def let_watchers_read(self) -> None:
        """Wait, at most some seconds, until the watchers are not too far behind."""
        ...

    def stopping(self) -> EndReason | None:
        """Return why the turn should end now (`/stop`, an interrupt), else None."""
        ...

    def until_stopped(self) -> asyncio.Future[EndReason]:
        """Return the turn's own future of what `stopping` will say; callers must not cancel it."""
        ...


@dataclass(frozen=True, slots=True)
class TurnPorts:
    """The ports by which a running turn acts outside the loop."""

    journal: JournalPort
    consents: ConsentPort
    watchers: WatcherPort


@dataclass(frozen=True, slots=True)
class Turn:
    """The state from which a turn starts or resumes."""

    id: str  # UUIDv7
    principal: Principal
    history: Sequence[Item]  # of the session, before this turn
    events: Sequence[JournalEvent]  # of this turn so far; more than TurnStarted after a crash
    started_at: datetime  # aware UTC
    hints: str = ""  # how this channel wants text formatted
    starts: tuple[tuple[int, str], ...] = ()  # where in `history` a turn begins, and its id; oldest first
    summary: Summary | None = None  # what stands at the head of `history`; None: all of it is there
    prefix: Prefix = field(default_factory=Prefix)  # of the session
    pieces: EncodedPieces = field(default_factory=EncodedPieces)  # of the session
    history_tokens: int | None = None  # about; None: not measured
