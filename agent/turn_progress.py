"""Events of a turn beside those of the model's response; `agent.turn_events` streams them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.transcript import CallOutcome, EndReason, Usage


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call started."""

    name: str
    call_key: str = ""
    arguments: str = "{}"  # JSON object as it runs
    words: str = ""  # catalogue key of its action; empty: show its name


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """A tool reported progress."""

    name: str
    call_key: str
    words: str  # key of the agent's catalogue
    values: Mapping[str, object] = field(default_factory=dict)  # fields of that text
    stays: bool = False  # shown until the answer begins, above the status of later tools


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool call ended."""

    name: str
    outcome: CallOutcome
    call_key: str = ""
    content: str = ""  # its result as the model sees it: a JSON object {"success", "data", "error"}
    took_s: float | None = field(default=None, compare=False)  # None: it did not run


@dataclass(frozen=True, slots=True)
class QuestionPut:
    """The turn waits: its person was asked to approve this tool."""

    tool: str


@dataclass(frozen=True, slots=True)
class ModelAnswered:
    """A response of the model is journaled, with the tokens and cost of its call."""

    model: str  # provider:name
    usage: Usage


@dataclass(frozen=True, slots=True)
class HistoryShortened:
    """The conversation in the prompt was shortened."""

    how: str  # name of the fallback or layer


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The turn ended, and its answer is being sent."""

    reason: EndReason
