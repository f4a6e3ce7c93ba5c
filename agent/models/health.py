"""Cooldowns and open circuits by model; operators see them, and restarts keep them.

A model cools down if its key or credit is refused (`agent.models.link`), and its circuit breaker opens for half a
minute after repeated failures.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from agent.calendar import utc_now
from agent.config import KEY_NAMES
from agent.errors import FailureKind
from agent.ports import ModelFailure


class Gate(StrEnum):
    """The reasons why a model cools down."""

    COOLDOWN = "cooldown"  # its key or credit was refused
    CIRCUIT = "circuit"  # it failed too often in a row


@dataclass(frozen=True, slots=True)
class Cooldown:
    """A period in which a model is not asked."""

    model: str  # provider:name
    gate: Gate
    why: FailureKind
    until: datetime  # aware UTC; in the past: the next call is a test
    strikes: int  # consecutive cooldowns, from 1
    mark: str = ""  # fingerprint of key and server
    problem: ModelFailure | None = field(default=None, compare=False)  # its cause; None: before a restart


Keep = Callable[[str, Gate, Cooldown | None], None]
"""Called with each change of a registered model: model, reason, and the cooldown or None if it ended. Never raises."""


READY = "ready"
"""State of a registered model that does not cool down; it may not have been asked yet."""


class HealthBoard:
    """Cooldowns and open circuits of all models of one agent."""

    def __init__(self, clock: Callable[[], datetime] = utc_now, keep: Keep = lambda *_: None) -> None:
        self._clock = clock
        self._keep = keep
        self._marks: dict[str, str] = {}  # by model
        self._cooldowns: dict[tuple[str, Gate], Cooldown] = {}

    def load(self, cooldowns: Iterable[Cooldown]) -> None:
        """Restore the cooldowns of models that are still configured with the same key, without reporting them."""
        here = (cooldown for cooldown in cooldowns if self._marks.get(cooldown.model) == cooldown.mark)
        self._cooldowns |= {(cooldown.model, cooldown.gate): cooldown for cooldown in here}

    def register(self, model: str, mark: str) -> None:
        """Register a model, so that status shows it while it is healthy; call this before `load`.

        `mark` identifies key and server: cooldowns with another mark are ignored.
        """
        self._marks[model] = mark

    def check(self, model: str, gate: Gate) -> Cooldown | None:
        """Return the last cooldown for this reason, or None.

        Raises:
            ModelFailure: the model cools down and was not asked; `retry_after_s` says for how long.
        """
        cooldown = self._cooldowns.get((model, gate)) if self._cooldowns else None
        if cooldown is None or (left_s := (cooldown.until - self._clock()) / timedelta(seconds=1)) <= 0:
            return cooldown
        problem = cooldown.problem or ModelFailure(cooldown.why, "before the last start")
        words = f"{problem.message}; cools down for {left_s:.0f} s more ({gate.value})"
        raise replace(problem, message=words, retryable=False, retry_after_s=left_s, unasked=True)

    def close(self, model: str, gate: Gate, problem: ModelFailure, for_s: float) -> None:
        """Refuse calls to a model for `for_s` seconds, with this problem; count one failure more."""
        before = self._cooldowns.get((model, gate))
        strikes = before.strikes + 1 if before is not None else 1
        until = self._clock() + timedelta(seconds=for_s)
        cooldown = Cooldown(model, gate, problem.kind, until, strikes, self._marks.get(model, ""), replace(problem))
        self._cooldowns[model, gate] = cooldown
        if model in self._marks:
            self._keep(model, gate, cooldown)

    def open(self, model: str, gate: Gate) -> None:
        """End the cooldown for this reason."""
        if self._cooldowns and self._cooldowns.pop((model, gate), None) is not None and model in self._marks:
            self._keep(model, gate, None)

    def end_cooldowns(self, model: str | None = None) -> bool:
        """End the cooldowns of a model with all its credentials, or of all models; return True if there were any."""
        cooling = [name for name, gate in self._cooldowns if gate is Gate.COOLDOWN]
        wanted = [name for name in cooling if model is None or f"{name} ".startswith(f"{model} ")]
        for name in wanted:
            self.open(name, Gate.COOLDOWN)
        return bool(wanted)

    def states(self) -> Mapping[str, str]:
        """Return the state of each model in words for an operator."""
        return {model: self._words(model) for model in self._marks}

    def _words(self, model: str) -> str:
        active = [
            cooldown
            for (name, _), cooldown in self._cooldowns.items()
            if name == model and cooldown.until > self._clock()
        ]
        if not active:
            return READY
        last = max(active, key=lambda cooldown: cooldown.until)
        key_name = KEY_NAMES.get(model.partition(":")[0]) if last.why is FailureKind.AUTH else None
        look = f"; look at {key_name}" if key_name else ""
        return f"cools down until {last.until:%Y-%m-%d %H:%M:%S} UTC: {last.why.value} ({last.gate.value}){look}"


FAILURES = 5
"""Consecutive failures, of any turns, that open the circuit."""

OPEN_S = 30.0

DOWN = frozenset({FailureKind.OVERLOADED, FailureKind.SERVER, FailureKind.NETWORK, FailureKind.TIMEOUT})
"""Kinds of failure without an answer of the provider; others show that it is up."""


class Circuit:
    """The circuit breaker of one model."""

    def __init__(self, model: str, board: HealthBoard) -> None:
        self._model = model
        self._board = board
        self._failures = 0  # consecutive
        self._has_trial = False  # a call is testing whether the provider is back

    @contextmanager
    def call(self) -> Iterator[None]:
        """Count how one call ends; after `OPEN_S`, let a single call test whether the provider is back.

        Raises:
            ModelFailure: the circuit is open.
        """
        cooldown = self._board.check(self._model, Gate.CIRCUIT)
        if cooldown is not None and self._has_trial:
            raise ModelFailure(cooldown.why, "another request is testing it", retryable=False, retry_after_s=OPEN_S)
        self._has_trial = cooldown is not None
        try:
            yield
        except ModelFailure as problem:
            self._note(problem, tried=cooldown is not None)
            raise
        finally:
            if cooldown is not None:
                self._has_trial = False
        self._close()

    def _note(self, problem: ModelFailure, *, tried: bool) -> None:
        if problem.kind not in DOWN:
            self._close()
            return
        self._failures += 1
        if tried or self._failures >= FAILURES:
            self._failures = 0
            self._board.close(self._model, Gate.CIRCUIT, problem, OPEN_S)

    def _close(self) -> None:
        self._failures = 0
        self._board.open(self._model, Gate.CIRCUIT)
