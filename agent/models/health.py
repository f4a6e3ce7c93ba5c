"""Which models rest, why, and until when: one board for all links of a chain, which operators see and restarts keep.

What makes a model rest is decided in `cooldown` and `circuit`; where the board is kept is its `keep`'s matter.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from agent.config import KEY_NAMES
from agent.errors import FailureKind
from agent.ports import ModelFailure


class Gate(StrEnum):
    """What closed before a model."""

    COOLDOWN = "cooldown"  # its key or its credit is refused
    CIRCUIT = "circuit"  # it failed too often in a row


@dataclass(frozen=True, slots=True)
class Rest:
    """A model is not asked for a while."""

    model: str  # provider:name
    gate: Gate
    why: FailureKind
    until: datetime  # aware UTC; in the past: the next call is a trial
    strikes: int  # how often in a row, from 1
    mark: str = ""  # of the key and the server that it was


Keep = Callable[[str, Gate, Rest | None], None]
"""Told of each change: the model, the gate, and how it stands now; None: open. Never blocks, never fails."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class HealthBoard:
    """The rests of all models of one agent."""

    def __init__(self, clock: Callable[[], datetime] = _utc_now, keep: Keep = lambda *_: None) -> None:
        """Every model is well until `load`."""
        self._clock = clock
        self._keep = keep
        self._marks: dict[str, str] = {}  # by model
        self._rests: dict[tuple[str, Gate], Rest] = {}

    def load(self, rests: Iterable[Rest]) -> None:
        """What an earlier process left of models that are still here, with the same key; `keep` is told nothing."""
        here = (rest for rest in rests if self._marks.get(rest.model) == rest.mark)
        self._rests |= {(rest.model, rest.gate): rest for rest in here}

    def enlist(self, model: str, mark: str) -> None:
        """A model there is, so that it is shown also while it is well; before `load`."""
        self._marks[model] = mark

    def check(self, model: str, gate: Gate) -> Rest | None:
        """What is known at this gate; None: nothing.

        Raises:
            ModelFailure: the model rests; nothing was asked. `retry_after_s` says how long still.
        """
        rest = self._rests.get((model, gate))
        if rest is None or (left_s := (rest.until - self._clock()) / timedelta(seconds=1)) <= 0:
            return rest
        words = f"rests for {left_s:.0f} s more ({gate.value})"
        raise ModelFailure(rest.why, words, retryable=False, retry_after_s=left_s)

    def close(self, model: str, gate: Gate, why: FailureKind, for_s: float) -> None:
        """Let the model rest from now on, once more."""
        before = self._rests.get((model, gate))
        strikes = before.strikes + 1 if before is not None else 1
        until = self._clock() + timedelta(seconds=for_s)
        rest = Rest(model, gate, why, until, strikes, self._marks.get(model, ""))
        self._rests[model, gate] = rest
        self._keep(model, gate, rest)

    def open(self, model: str, gate: Gate) -> None:
        """The model is well as far as this gate is concerned."""
        if self._rests.pop((model, gate), None) is not None:
            self._keep(model, gate, None)

    def states(self) -> Mapping[str, str]:
        """Each model in words for an operator."""
        return {model: self._words(model) for model in self._marks}

    def _words(self, model: str) -> str:
        resting = [rest for (name, _), rest in self._rests.items() if name == model and rest.until > self._clock()]
        if not resting:
            return "ready"
        last = max(resting, key=lambda rest: rest.until)
        key_name = KEY_NAMES.get(model.partition(":")[0]) if last.why is FailureKind.AUTH else None
        look = f"; look at {key_name}" if key_name else ""
        return f"rests until {last.until:%Y-%m-%d %H:%M:%S} UTC: {last.why.value} ({last.gate.value}){look}"
