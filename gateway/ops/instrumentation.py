"""Measures what the agent does, by wrappers and listeners around its model and its tools. Nothing is decided here."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from agent.context.sizes import RequestSizes
from agent.errors import FailureKind
from agent.journal import fallback_of
from agent.ports import ChatModel, ModelFacts, ModelFailure, ModelRequest, OnModelEvent, TurnEvent
from agent.transcript import JournalEvent, ModelResponded, ToolReturned, Usage
from agent.turn_progress import ToolEnded
from channels.clocks import wall_now
from gateway.spans import Attributes, note_past, span
from gateway.telemetry import (
    ESTIMATE_RATIO,
    MODEL_COST_USD,
    MODEL_FAILING,
    MODEL_FAILURES,
    MODEL_SECONDS,
    MODEL_TOKENS,
    RECOVERIES,
    TOOL_CALLS,
    TOOL_SECONDS,
    series,
)

log = structlog.get_logger()

OTHER = "other"
"""Stands for the names of tools that a model made up: a label must not grow with what it says."""

REFUSED = frozenset({FailureKind.AUTH, FailureKind.QUOTA})
"""What no model gets over by itself."""

MAX_FAILURE_CHARS = 200
"""Of what a model failed of, as operators read it."""

DRIFT = (2 / 3, 3 / 2)
"""A provider may count so much less, or more, than our estimate."""

LEAST_COMPARED_TOKENS = 1000
"""Of a shorter request what stands around the words is too much of it to say anything of the estimates."""


@dataclass(frozen=True, slots=True)
class Failing:
    """A model that gave no response the last times it was asked."""

    since: datetime  # the first of these
    times: int
    kind: FailureKind  # of the last
    words: str

    def __str__(self) -> str:
        times = "" if self.times == 1 else f", {self.times} times in a row"
        return f"fails since {self.since:%Y-%m-%d %H:%M:%S} UTC{times}: {self.words}"


class ModelWatch:
    """Which models answer and which fail, by what they did when they were asked last. Nothing is kept of it."""

    def __init__(self, clock: Callable[[], datetime] = wall_now) -> None:
        self._clock = clock
        self.failing: dict[str, Failing] = {}
        self.answered: set[str] = set()
        """Those that have answered, and not failed since."""
        self.drifting: dict[str, tuple[int, float]] = {}
        """Whose providers count far more than we estimate: how often in a row by now, and how many times as much."""

    def note_failure(self, model: str, failure: ModelFailure) -> None:
        """It gave no response; what was too long for its window was the request's own fault."""
        if failure.kind is FailureKind.CONTEXT:
            return
        before = self.failing.get(model)
        since, times = (self._clock(), 0) if before is None else (before.since, before.times)
        words = str(failure)[:MAX_FAILURE_CHARS]
        if failure.kind is FailureKind.RATE_LIMIT and failure.retry_after_s:
            words += f"; it asks to wait until {self._clock() + timedelta(seconds=failure.retry_after_s):%H:%M:%S} UTC"
        self.failing[model] = Failing(since, times + 1, failure.kind, words)
        self.answered.discard(model)
        MODEL_FAILING.labels(model).set(1)

    def note_response(self, model: str) -> None:
        """It answered."""
        if model not in self.answered:
            self.answered.add(model)
            self.failing.pop(model, None)
            MODEL_FAILING.labels(model).set(0)

    def note_estimate(self, model: str, estimated: int, counted: int) -> None:
        """A request that we held for so many tokens was counted; what is smaller than we thought harms nobody."""
        if min(estimated, counted) >= LEAST_COMPARED_TOKENS:
            ratio, times = counted / estimated, self.drifting.pop(model, (0, 0.0))[0]
            if ratio > DRIFT[1]:
                self.drifting[model] = times + 1, ratio


class MeasuredModel:
    """A model whose responses are timed and whose failures are counted, its own retries included."""

    def __init__(self, model: ChatModel, watch: ModelWatch | None = None) -> None:
        """`watch` is told how each call ended."""
        self.name = model.name
        provider, _, name = self.name.partition(":")
        self._span = f"chat {name}"
        self._attributes = {
            "gen_ai.operation.name": "chat", "gen_ai.provider.name": provider, "gen_ai.request.model": name,
        }  # fmt: skip
        self._model = model
        self._watch = watch or ModelWatch()
        self._sizes = RequestSizes()
        self._has_drifted = False

    @property
    def facts(self) -> ModelFacts:
        """The model's."""
        return self._model.facts

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """As the model's own; what is cut short by a stop is neither."""
        asked_s = time.monotonic()
        try:
            with span(self._span, self._attributes, client=True) as current:
                response = await self._model.respond(request, on_event)
                if current is not None:
                    current.set_attributes(_response_attributes(response))
        except ModelFailure as failure:
            series(MODEL_FAILURES, self.name, failure.kind.value).inc()
            if not (request.own_credential and failure.kind in REFUSED):
                self._watch.note_failure(self.name, failure)
            raise
        series(MODEL_SECONDS, self.name).observe(time.monotonic() - asked_s)
        self._watch.note_response(self.name)
        self._count(response.usage)
        self._compare(request, response)
        return response

    def _count(self, used: Usage) -> None:
        """What it used, as far as somebody counted it and knows what it costs."""
        series(MODEL_TOKENS, self.name, "input").inc(used.input_tokens or 0)
        series(MODEL_TOKENS, self.name, "output").inc(used.output_tokens or 0)
        if used.cost_microusd:
            series(MODEL_COST_USD, self.name).inc(used.cost_microusd / 1_000_000)

    def _compare(self, request: ModelRequest, response: ModelResponded) -> None:
        """How our estimate of a request stands to what the provider counted; said where they begin to drift apart."""
        counted = response.usage.input_tokens
        estimated = (request.estimated_tokens or self._sizes.estimate(request)) if counted else 0
        if not counted or not estimated:
            return
        ratio = counted / estimated
        series(ESTIMATE_RATIO, self.name).set(ratio)
        drifts = not DRIFT[0] <= ratio <= DRIFT[1]
        if drifts and not self._has_drifted:
            log.warning("token_estimate_drifted", model=self.name, counted=counted, estimated=estimated)
        self._has_drifted = drifts
        self._watch.note_estimate(self.name, estimated, counted)

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()


def _response_attributes(response: ModelResponded) -> Attributes:
    """What the GenAI conventions say of a response; tokens only where the provider counted them."""
    counted = {
        "gen_ai.usage.input_tokens": response.usage.input_tokens,
        "gen_ai.usage.output_tokens": response.usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": response.usage.cache_read_tokens,
    }
    known = {name: tokens for name, tokens in counted.items() if tokens is not None}
    answered = response.model.partition(":")[2]
    return {"gen_ai.response.model": answered, "gen_ai.response.finish_reasons": (response.stop.value,), **known}


class MeasuredTurns:
    """Measures tools as they run, and results and fallbacks as they are journaled."""

    def __init__(self, names: Iterable[str]) -> None:
        """`names` are the tools there are."""
        self._names = frozenset(names)

    def note_event(self, event: TurnEvent) -> None:
        """Note how long a tool ran: as a figure, and as a line of the log."""
        if isinstance(event, ToolEnded) and event.took_s is not None:
            name = event.name if event.name in self._names else OTHER
            series(TOOL_SECONDS, name).observe(event.took_s)
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": name,
                "gen_ai.tool.type": "function",
                "gen_ai.tool.call.id": event.call_key,
            }
            note_past(f"execute_tool {name}", event.took_s, attributes, "" if event.success else "tool_error")
            took_s = round(event.took_s, 3)
            log.debug("tool_ended", tool=event.name, call_key=event.call_key, success=event.success, took_s=took_s)

    def note_journaled(self, events: Iterable[JournalEvent]) -> None:
        """Count results and fallbacks."""
        for event in events:
            if isinstance(event, ToolReturned):
                name = event.name if event.name in self._names else OTHER
                series(TOOL_CALLS, name, event.outcome.value).inc()
            elif (fallback := fallback_of(event)) is not None:
                series(RECOVERIES, fallback.value).inc()
