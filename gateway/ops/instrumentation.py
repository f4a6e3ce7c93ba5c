"""Metrics, spans and failure records of models and tools, taken by wrappers and listeners."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from agent.context.sizes import RequestSizes
from agent.errors import FailureKind
from agent.journal import fallback_of
from agent.ports import ChatModel, ModelFacts, ModelFailure, ModelRequest, OnModelEvent, TurnEvent
from agent.transcript import CallOutcome, JournalEvent, ModelResponded, ToolReturned, Usage
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
"""Metric label for tool names that a model invented, so that labels stay bounded."""

REFUSED = frozenset({FailureKind.AUTH, FailureKind.QUOTA})
"""Failures that do not end by themselves."""

MAX_FAILURE_CHARS = 200
"""Longest error text of a model that operators see."""

DRIFT = (2 / 3, 3 / 2)
"""Range of the provider's token count over our estimate that counts as accurate."""

LEAST_COMPARED_TOKENS = 1000
"""Shortest request that is compared: in shorter ones the overhead dominates."""


@dataclass(frozen=True, slots=True)
class Failing:
    """The failures of a model since its last response."""

    since: datetime  # of the first failure
    times: int
    kind: FailureKind  # of the last failure
    words: str

    def __str__(self) -> str:
        times = "" if self.times == 1 else f", {self.times} times in a row"
        return f"fails since {self.since:%Y-%m-%d %H:%M:%S} UTC{times}: {self.words}"


class ModelWatch:
    """A record, in memory, of which models answered and which failed at their last request."""

    def __init__(self, clock: Callable[[], datetime] = wall_now) -> None:
        self._clock = clock
        self.failing: dict[str, Failing] = {}
        self.answered: dict[str, datetime] = {}
        """Models that have answered and not failed since -> their last answer."""
        self.drifting: dict[str, tuple[int, float]] = {}
        """Model -> how often in a row its provider counted far more tokens than we estimated, and the last ratio."""

    def note_failure(self, model: str, failure: ModelFailure) -> None:
        """Record that a model gave no response. Ignore requests that were too long for its window."""
        if failure.kind is FailureKind.CONTEXT:
            return
        before = self.failing.get(model)
        since, times = (self._clock(), 0) if before is None else (before.since, before.times)
        words = str(failure)[:MAX_FAILURE_CHARS]
        if failure.kind is FailureKind.RATE_LIMIT and failure.retry_after_s:
            words += f"; it asks to wait until {self._clock() + timedelta(seconds=failure.retry_after_s):%H:%M:%S} UTC"
        self.failing[model] = Failing(since, times + 1, failure.kind, words)
        self.answered.pop(model, None)
        MODEL_FAILING.labels(model).set(1)

    def note_response(self, model: str) -> None:
        """Record that a model answered."""
        if model not in self.answered:
            self.failing.pop(model, None)
            MODEL_FAILING.labels(model).set(0)
        self.answered[model] = self._clock()

    def note_estimate(self, model: str, estimated: int, counted: int) -> None:
        """Compare our estimate of a request with the provider's count. An estimate that is too high is harmless."""
        if min(estimated, counted) >= LEAST_COMPARED_TOKENS:
            ratio, times = counted / estimated, self.drifting.pop(model, (0, 0.0))[0]
            if ratio > DRIFT[1]:
                self.drifting[model] = times + 1, ratio


class MeasuredModel:
    """A wrapper of a model that times responses and counts failures."""

    def __init__(self, model: ChatModel, watch: ModelWatch | None = None) -> None:
        """Wrap a model; `watch` records how each call ended."""
        self.name = model.name
        provider, _, name = self.name.partition(":")
        self._span = f"chat {name}"
        self._attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": name,
        }
        self._model = model
        self._watch = watch or ModelWatch()
        self._sizes = RequestSizes()
        self._has_drifted = False

    @property
    def facts(self) -> ModelFacts:
        return self._model.facts

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Ask the model and record the response or failure. A cancelled call counts as neither."""
        asked_s = time.monotonic()
        try:
            with span(self._span, self._attributes, client=True) as current:
                response = await self._model.respond(request, on_event)
                if current is not None:
                    current.set_attributes(_response_attributes(response))
        except ModelFailure as failure:
            is_refusal = failure.kind in REFUSED
            cools_down = failure.unasked and (is_refusal or failure.retry_after_s is not None)
            if not cools_down:  # the failure before was counted
                series(MODEL_FAILURES, self.name, failure.kind.value).inc()
                if not (is_refusal and failure.own_credential):
                    self._watch.note_failure(self.name, failure)
            raise
        series(MODEL_SECONDS, self.name).observe(time.monotonic() - asked_s)
        self._watch.note_response(self.name)
        self._count(response.usage)
        self._compare(request, response)
        return response

    def _count(self, used: Usage) -> None:
        """Count the tokens and cost that are known."""
        series(MODEL_TOKENS, self.name, "input").inc(used.input_tokens or 0)
        series(MODEL_TOKENS, self.name, "output").inc(used.output_tokens or 0)
        if used.cost_microusd:
            series(MODEL_COST_USD, self.name).inc(used.cost_microusd / 1_000_000)

    def _compare(self, request: ModelRequest, response: ModelResponded) -> None:
        """Compare our estimate with the provider's count, and log when they begin to differ."""
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
        await self._model.aclose()


def _response_attributes(response: ModelResponded) -> Attributes:
    """Return the span attributes of a response by OpenTelemetry's GenAI conventions."""
    counted = {
        "gen_ai.usage.input_tokens": response.usage.input_tokens,
        "gen_ai.usage.output_tokens": response.usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": response.usage.cache_read_tokens,
    }
    known = {name: tokens for name, tokens in counted.items() if tokens is not None}
    answered = response.model.partition(":")[2]
    return {"gen_ai.response.model": answered, "gen_ai.response.finish_reasons": (response.stop.value,), **known}


class MeasuredTurns:
    """A listener that measures tools, results and fallbacks."""

    def __init__(self, names: Iterable[str]) -> None:
        """Keep the names of the existing tools."""
        self._names = frozenset(names)

    def note_event(self, event: TurnEvent) -> None:
        """Record and log how long a tool ran."""
        if isinstance(event, ToolEnded) and event.took_s is not None:
            is_done = event.outcome is CallOutcome.DONE
            name = event.name if event.name in self._names else OTHER
            series(TOOL_SECONDS, name).observe(event.took_s)
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": name,
                "gen_ai.tool.type": "function",
                "gen_ai.tool.call.id": event.call_key,
            }
            note_past(f"execute_tool {name}", event.took_s, attributes, "" if is_done else "tool_error")
            took_s = round(event.took_s, 3)
            log.debug("tool_ended", tool=event.name, call_key=event.call_key, success=is_done, took_s=took_s)

    def note_journaled(self, events: Iterable[JournalEvent]) -> None:
        """Count results and fallbacks."""
        for event in events:
            if isinstance(event, ToolReturned):
                name = event.name if event.name in self._names else OTHER
                series(TOOL_CALLS, name, event.outcome.value).inc()
            elif (fallback := fallback_of(event)) is not None:
                series(RECOVERIES, fallback.value).inc()
