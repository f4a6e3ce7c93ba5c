"""The conversation as the model sees it, and the journal it is folded from.

A turn is journaled as append-only `JournalEvent`s; the transcript is `fold` of them and never stored. No I/O and
no model format here: a wire turns items into its own messages, the gateway's store keeps the events.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

SKIPPED = "Skipped due to queued user message."
"""The result of a call that steering overtook; the words every agent of the field uses."""


# ---------------------------------------------------------------- items: what the model sees


@dataclass(frozen=True, slots=True)
class UserItem:
    """Something a person said."""

    text: str
    sender: str | None = None  # display name, where several people share the session
    at: str | None = None  # ISO 8601 instant, UTC


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to have a tool run."""

    id: str  # the provider's call id: pairs with the result, never used as a key
    name: str
    arguments: str  # JSON as the model wrote it, perhaps malformed


@dataclass(frozen=True, slots=True)
class AssistantItem:
    """What the model said and asked for in one response."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    thinking: tuple[JsonValue, ...] = ()  # provider blocks kept for replay, opaque


@dataclass(frozen=True, slots=True)
class ToolItem:
    """The one result of one call."""

    call_id: str
    name: str
    content: str  # always a JSON object {"success", "data", "error"}


@dataclass(frozen=True, slots=True)
class NoteItem:
    """Something the harness tells the model: a nudge, a change of model."""

    text: str


Item = UserItem | AssistantItem | ToolItem | NoteItem
Transcript = tuple[Item, ...]


# ---------------------------------------------------------------- events: what is journaled


class StopReason(StrEnum):
    """Why the model stopped, in one vocabulary for all providers."""

    END = "end"
    TOOLS = "tools"
    LENGTH = "length"  # cut at the output cap
    REFUSED = "refused"  # the provider's filter
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call as the provider counted them; None where it did not say."""

    input_tokens: int | None = None  # all input, cached included
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None


class EndReason(StrEnum):
    """How a turn ended."""

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
    """The turn began with these items."""

    items: tuple[UserItem, ...]
    kind: Literal["turn_started"] = "turn_started"


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
    kind: Literal["model_responded"] = "model_responded"


@dataclass(frozen=True, slots=True)
class ToolIntended:
    """A call is about to run; without a result after it, whether it ran is unknown."""

    step: int
    call_key: str  # turn/step/index: the idempotency key of the effect
    name: str
    arguments: str  # JSON as it will run, after input backfill
    kind: Literal["tool_intended"] = "tool_intended"


class CallOutcome(StrEnum):
    """What became of a call."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"  # steering or a stop overtook it before it started
    UNKNOWN = "unknown"  # it may have happened: the process died or the deadline passed in between
    DENIED = "denied"


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """The one result of a call, raw."""

    step: int
    call_key: str
    call_id: str
    name: str
    content: str  # JSON object {"success", "data", "error"}
    outcome: CallOutcome = CallOutcome.DONE
    kind: Literal["tool_returned"] = "tool_returned"


@dataclass(frozen=True, slots=True)
class ToolResultRewritten:
    """A post-hook changed what the model sees of a result; the raw one stays in the journal."""

    step: int
    call_key: str
    call_id: str
    content: str
    kind: Literal["tool_result_rewritten"] = "tool_result_rewritten"


@dataclass(frozen=True, slots=True)
class Steered:
    """Messages that came in mid-turn joined it here."""

    step: int
    items: tuple[UserItem, ...]
    kind: Literal["steered"] = "steered"


@dataclass(frozen=True, slots=True)
class Nudged:
    """The harness told the model something."""

    step: int
    text: str
    kind: Literal["nudged"] = "nudged"


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn is over; `text` is what the person gets."""

    reason: EndReason
    text: str
    kind: Literal["turn_ended"] = "turn_ended"


JournalEvent = (
    TurnStarted
    | ModelResponded
    | ToolIntended
    | ToolReturned
    | ToolResultRewritten
    | Steered
    | Nudged
    | TurnEnded
)

JOURNAL_EVENT: TypeAdapter[JournalEvent] = TypeAdapter(Annotated[JournalEvent, Field(discriminator="kind")])
"""Reads and writes a journal event as JSON; what the store keeps."""


def fold(events: Iterable[JournalEvent]) -> Transcript:
    """The transcript of these events: valid for a strict API, the same for the same events.

    Every call of a response has exactly one result right behind it, in the order asked; a missing one is made up
    as unknown, an orphan or second one is left out. Text that was said to the person but is no response (a forced
    or failed end) closes the turn as an assistant item.
    """
    raise NotImplementedError


def open_calls(events: Sequence[JournalEvent]) -> tuple[tuple[ModelResponded, int], ...]:
    """Calls of the last response that have no result yet, as (response, index)."""
    raise NotImplementedError
