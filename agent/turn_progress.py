"""Types of events in a turn beside the model's response; `agent.turn_events` streams them to watchers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.transcript import EndReason


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call runs now."""

    name: str
    call_key: str = ""
    words: str = ""  # key of the agent's catalogue for what it does; empty: it has no words but its name


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """A tool says what it is doing."""

    name: str
    call_key: str
    words: str  # key of the agent's catalogue
    values: Mapping[str, object] = field(default_factory=dict)  # of the fields of those words


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool call is over."""

    name: str
    success: bool
    call_key: str = ""
    took_s: float | None = field(default=None, compare=False)  # None: it did not run


@dataclass(frozen=True, slots=True)
class QuestionPut:
    """The turn is parked: its person has been asked whether this tool may run."""

    tool: str


@dataclass(frozen=True, slots=True)
class HistoryShortened:
    """The conversation in the prompt was shortened."""

    how: str  # the fallback, or the layer


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The turn is over, and its answer on its way."""

    reason: EndReason
