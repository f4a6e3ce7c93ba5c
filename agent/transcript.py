"""The conversation as the model sees it, and the journal from which it is folded.

A turn is journaled as append-only `JournalEvent`s; the transcript is `fold` of them and never stored. A wire converts
items to its own messages, the gateway's store keeps the events.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Literal, TypeGuard

from pydantic import ConfigDict, Field, JsonValue, TypeAdapter

from agent.consent import Parked
from agent.fallbacks import BY_RULES, NEXT_MODEL, RULES_PREFIX, UNANSWERED, Fallback, Recovered, ResponseDiscarded
from agent.pictures import Picture, Unseen, without_pictures

SKIPPED = "Skipped due to queued user message."  # the result of a call that a new message skipped
EDITED = "(I changed my earlier message to:)"  # first line of an edit of a message that was already answered


@dataclass(frozen=True, slots=True)
class UserItem:
    """A message of a person."""

    text: str  # their own words: the only part that can be a request
    sender: str | None = None  # display name, if several people share the session
    at: str | None = None  # ISO 8601 instant, UTC
    data: str = ""  # framed by the gateway: text that they quote, forward or attach; not their request
    own: bool = True  # of the turn's person; False only in other people's turns
    pictures: tuple[Picture, ...] = ()  # attached, seen or not
    recalled: str = ""  # framed by the gateway: memories of the person that matter to this message
    spoken: str = ""  # transcript of its voice messages, which `text` has, too, or `data` if they were forwarded


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of a model."""

    id: str  # the provider's call id: pairs with the result, never used as a key
    name: str
    arguments: str  # JSON as the model wrote it, possibly malformed


@dataclass(frozen=True, slots=True)
class AssistantItem:
    """One response of the model: text and calls."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    thinking: tuple[JsonValue, ...] = ()  # provider blocks stored for replay, opaque


@dataclass(frozen=True, slots=True)
class ToolItem:
    """The one result of one call."""

    call_id: str
    name: str
    content: str  # always a JSON object {"success", "data", "error"}


@dataclass(frozen=True, slots=True)
class NoteItem:
    """A message of the harness to the model: a nudge, a change of model."""

    text: str
    ends_turn: bool = False  # the turn before it has ended, answered or not


Item = UserItem | AssistantItem | ToolItem | NoteItem
Transcript = tuple[Item, ...]


# ---------------------------------------------------------------- journaled events


class StopReason(StrEnum):
    """The reason why the model stopped, in one vocabulary for all providers."""

    END = "end"
    TOOLS = "tools"
    LENGTH = "length"  # cut off at the output cap
    REFUSED = "refused"  # the provider's filter
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call as the provider counted them; None if it did not say."""

    input_tokens: int | None = None  # all input, cached input included
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost_microusd: int | None = None  # by the prices at the time of the call; None: unknown
    cache_write_hour_tokens: int | None = None  # of those written to the cache: kept for an hour instead of minutes


class EndReason(StrEnum):
    """The reasons for which a turn ends."""

    COMPLETED = "completed"
    MAX_STEPS = "max_steps"
    MAX_COST = "max_cost"
    MAX_TOKENS = "max_tokens"
    TIMEOUT = "timeout"
    STOPPED = "stopped"
    STUCK = "stuck"
    MODEL_ERROR = "model_error"
    CONTEXT_EXHAUSTED = "context_exhausted"


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The turn began with these messages."""

    items: tuple[UserItem, ...]
    kind: Literal["turn_started"] = "turn_started"


@dataclass(frozen=True, slots=True)
class SuggestedReply:
    """A suggestion for the person's next message, shown as a button if the platform has buttons."""

    label: str  # text of the button; at most 40 characters are shown
    words: str  # the message that a press sends, or a complete command
    is_yes: bool = False  # typing "yes" chooses it, too
    language: str = ""  # of the answer that suggests it, used for the command's reply; "": the person's own


@dataclass(frozen=True, slots=True)
class ModelResponded:
    """One whole response."""

    step: int
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    thinking: tuple[JsonValue, ...] = ()
    stop: StopReason = StopReason.END
    usage: Usage = Usage()
    model: str = ""  # provider:name that answered
    took_s: float | None = field(default=None, compare=False)  # with all attempts; None: not measured
    calls_left_out: int = 0  # calls beyond the limit of one response
    replies: tuple[SuggestedReply, ...] = ()  # not part of the transcript
    kind: Literal["model_responded"] = "model_responded"


@dataclass(frozen=True, slots=True)
class ToolIntended:
    """A call is about to run; without a later result it is unknown if it ran."""

    step: int
    call_key: str  # turn/step/index: the idempotency key of the effect
    name: str
    arguments: str  # JSON as it will run, after input backfill
    kind: Literal["tool_intended"] = "tool_intended"


class CallOutcome(StrEnum):
    """The outcomes of a call."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"  # skipped before it started, by a new message or a stop
    UNKNOWN = "unknown"  # it may have happened: the process died or the deadline passed
    DENIED = "denied"
    EXPIRED = "expired"  # its person was asked and did not answer in time


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """The one result of a call, raw."""

    step: int
    call_key: str
    call_id: str
    name: str
    content: str  # JSON object {"success", "data", "error"}
    outcome: CallOutcome = CallOutcome.DONE
    ran_with: str | None = None  # its input, if hooks listen for the result and may rewrite it
    took_s: float | None = field(default=None, compare=False)  # of the tool; None: did not run, or not measured
    kind: Literal["tool_returned"] = "tool_returned"


@dataclass(frozen=True, slots=True)
class ToolResultRewritten:
    """A result as the model sees it, if hooks changed it or a limit shortened it; the raw one stays in the journal."""

    step: int
    call_key: str
    call_id: str
    content: str
    is_cut: bool = False  # shortened, with the rest readable in parts; else replaced by a hook
    kind: Literal["tool_result_rewritten"] = "tool_result_rewritten"


@dataclass(frozen=True, slots=True)
class Steered:
    """Messages that came in during the turn joined it here."""

    step: int
    items: tuple[UserItem, ...]
    kind: Literal["steered"] = "steered"


class NudgeReason(StrEnum):
    """The reason for a message of the harness to the model; each has its own bound a turn."""

    EMPTY = "empty"  # the response was empty
    CUT = "cut"  # the response was cut off at the output cap
    MALFORMED = "malformed"  # a call was unreadable
    STUCK = "stuck"  # the turn repeats itself
    STOP = "stop"  # a hook wants the turn to go on
    GATE = "gate"  # the answer does not fit the operator's schema
    LAST = "last"  # answer now, without tools


@dataclass(frozen=True, slots=True)
class Nudged:
    """The harness sent the model a message."""

    step: int
    text: str
    why: NudgeReason | None = None  # None: journaled before nudges had reasons
    ends: EndReason | None = None  # the next response is the turn's last, and the turn ends with this reason
    kind: Literal["nudged"] = "nudged"


@dataclass(frozen=True, slots=True)
class StepsNoted:
    """From here on, requests show this text in place of a span of calls and results of an earlier turn."""

    step: int
    span: str  # digest of its calls and results, see agent.context.layers
    text: str
    kind: Literal["steps_noted"] = "steps_noted"


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn ended; `text` is what the person gets."""

    reason: EndReason
    text: str
    note: str = ""  # the harness's text at the end of `text`; unknown in an old journal
    busy_s: float | None = None  # seconds until the model may be asked again; None: not busy, or not recorded
    why: str = ""  # for operators: which model failed and why, or which cap was reached; "": neither, or not recorded
    kind: Literal["turn_ended"] = "turn_ended"


JournalEvent = (
    TurnStarted
    | ModelResponded
    | ToolIntended
    | ToolReturned
    | ToolResultRewritten
    | Steered
    | Nudged
    | StepsNoted
    | Parked
    | Recovered
    | ResponseDiscarded
    | TurnEnded
)

JOURNAL_EVENT: TypeAdapter[JournalEvent] = TypeAdapter(
    Annotated[JournalEvent, Field(discriminator="kind")], config=ConfigDict(defer_build=True)
)
"""Converts a journal event from and to JSON."""


def fold(events: Iterable[JournalEvent]) -> Transcript:
    """Return the transcript of these events: valid for a strict API, the same for the same events.

    Every call of a response has exactly one result right after it, in the order of the calls; a missing one is filled
    in as unknown, an orphan or second one is dropped. Streamed text of an incomplete response ends the turn as an
    assistant item, the harness's own text as a note. Empty responses are dropped.
    """
    folding = _Folding()
    for event in events:
        folding.apply(event)
    folding.close_calls()
    return tuple(folding.items)


def answer_text(events: Iterable[JournalEvent]) -> str:
    """Return the answer in one turn's events so far: the responses without calls, joined."""
    text, between = "", ""
    for event in events:
        if _answers(event):
            text += between + event.text
            between = "" if event.stop is StopReason.LENGTH else PARAGRAPH
    return text


def answer_separator(events: Sequence[JournalEvent]) -> str:
    """Return the separator between `answer_text` of these events and a following answer."""
    before = next((event for event in reversed(events) if _answers(event)), None)
    return "" if before is None or before.stop is StopReason.LENGTH else PARAGRAPH


def _answers(event: JournalEvent) -> TypeGuard[ModelResponded]:
    return isinstance(event, ModelResponded) and bool(event.text.strip()) and not event.tool_calls


PARAGRAPH = "\n\n"
RULES_ANSWERED = NoteItem("(Rules answered this message, not you.)", ends_turn=True)
NO_RESULT = '{"success":false,"data":null,"error":"No result: the outcome of this call is unknown."}'
"""The result of a call that never returned."""

WITHHELD = '{"success":false,"data":null,"error":"It ran. Its result is withheld: the hooks behind it were not heard."}'
"""The result of a call until its hooks have run."""


class _Folding:
    """A transcript while it is folded; items after a response wait until all its calls have results."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._turn: list[JournalEvent] = []  # responses of the current turn
        self._open: list[tuple[str, ToolCall]] = []  # (id in the journal, call in the transcript)
        self._asked: frozenset[str] = frozenset()  # ids of the open calls
        self._results: dict[str, str] = {}  # contents by id in the journal
        self._after: list[Item] = []  # items added while calls were open
        self._used: set[str] = set()  # call ids: strict APIs want each to be unique
        self._next_model = ""  # the model to which the current turn switched and of which it was told
        self._numbers: dict[str, int] = {}  # number of variants by id

    def apply(self, event: JournalEvent) -> None:
        """Fold one event into the transcript."""
        match event:
            case TurnStarted():
                self.close_calls()
                self._turn, self._next_model = [], ""
                self.items.extend(event.items)
            case ModelResponded():
                self.close_calls()
                self._respond(event)
            case ToolReturned() if event.call_id in self._asked:
                self._results.setdefault(event.call_id, event.content if event.ran_with is None else WITHHELD)
            case ToolResultRewritten() if event.call_id in self._results:
                self._results[event.call_id] = event.content
            case Steered():
                self._say_after(event.items)
            case Nudged() | Recovered():
                self._note(event)
            case TurnEnded():
                self.close_calls()
                self._end(event)
            case _:
                pass  # an intent, a wait, a recovery, or a result without an open call

    def _note(self, event: Nudged | Recovered) -> None:
        """Add a message of the harness, mention a change of model once, and drop pictures that were refused."""
        if isinstance(event, Nudged):
            self._say_after((NoteItem(event.text),))
        elif event.fallback is Fallback.NEXT_MODEL:
            is_by_rules = event.detail.startswith(RULES_PREFIX)
            if is_by_rules or event.detail != self._next_model:
                self._say_after((NoteItem(BY_RULES if is_by_rules else NEXT_MODEL),))
            self._next_model = event.detail
        elif event.fallback is Fallback.PICTURES_STRIPPED:
            self.items = without_pictures(self.items, Unseen.REFUSED)

    def close_calls(self) -> None:
        """Add the results of all open calls, then the items that came meanwhile."""
        if not self._open:
            return
        for id_, call in self._open:
            self.items.append(ToolItem(call.id, call.name, self._results.get(id_, NO_RESULT)))
        self.items.extend(self._after)
        self._open, self._asked, self._results, self._after = [], frozenset(), {}, []

    def _say_after(self, items: Sequence[Item]) -> None:
        (self._after if self._open else self.items).extend(items)

    def _respond(self, response: ModelResponded) -> None:
        self._turn.append(response)
        self._open = [(call.id, self._with_unused_id(call)) for call in response.tool_calls]
        self._asked = frozenset(id_ for id_, _ in self._open)
        calls = tuple(call for _, call in self._open)
        if response.model.startswith(RULES_PREFIX) and not calls:
            self.items.append(RULES_ANSWERED)
        elif response.text.strip() or calls:
            self._add(AssistantItem(response.text, calls, response.thinking))

    def _end(self, ended: TurnEnded) -> None:
        last = self.items[-1] if self.items else None
        if ended.reason is EndReason.COMPLETED and (isinstance(last, AssistantItem) or last == RULES_ANSWERED):
            return
        rest = ended.text.removesuffix(ended.note).rstrip().removeprefix(answer_text(self._turn).rstrip()).strip()
        if rest:
            self._add(AssistantItem(rest))
        if ended.note:
            self.items.append(NoteItem(UNANSWERED.format(reason=ended.reason.value), ends_turn=True))

    def _add(self, item: AssistantItem) -> None:
        """Merge with a preceding assistant item: strict APIs want roles to alternate."""
        if self.items and isinstance(before := self.items[-1], AssistantItem):
            text = "\n\n".join(part for part in (before.text, item.text) if part.strip())
            self.items[-1] = AssistantItem(text, item.tool_calls, before.thinking + item.thinking)
        else:
            self.items.append(item)

    def _with_unused_id(self, call: ToolCall) -> ToolCall:
        id_ = call.id or "call"
        fresh, n = id_, self._numbers.get(id_, 1)
        while fresh in self._used:
            n += 1
            fresh = f"{id_}_{n}"
        self._used.add(fresh)
        self._numbers[id_] = n
        return call if fresh == call.id else replace(call, id=fresh)
