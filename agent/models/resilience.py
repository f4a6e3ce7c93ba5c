"""A model that is asked again when that can help, and never waited for without end; wraps any ChatModel.

Kinds of failure are the wire's to name. A chain of other models, or a circuit breaker, is another wrapper of the same
protocol around this one.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace

import structlog

from agent.config import ModelConfig
from agent.errors import FailureKind
from agent.models.failures import failure
from agent.ports import (
    CallStreamed,
    ChatModel,
    ModelEvent,
    ModelFailure,
    ModelRequest,
    OnModelEvent,
    TextDelta,
    TextDiscarded,
    Waiting,
)
from agent.transcript import ModelResponded

log = structlog.get_logger()

PAUSES_S = (5.0, 10.0, 15.0)
"""Between tries, where the provider names no time."""

JITTER_S = 1.0


class Resilient:
    """Retries, `Retry-After` and the stall watchdog around one model."""

    def __init__(
        self,
        model: ChatModel,
        config: ModelConfig,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.name = model.name
        self._model = model
        self._config = config
        self._sleep = sleep
        self._jitter = jitter

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """One whole response, from the first try that gives one.

        A try that is thrown away is told as `TextDiscarded`, a pause as `Waiting`; pauses add up to at most
        `request.patience_s`. A stalled stream is asked again without streaming.

        Raises:
            ModelFailure: of the last try; `retry_after_s` says when to come back, where the provider said so.
        """
        patience_s = request.patience_s
        for attempt in range(self._config.tries):
            listening = _Listening(on_event)
            try:
                return await self._attempt(request, listening)
            except ModelFailure as problem:
                pause_s = self._pause(problem, attempt)
                if pause_s is None or pause_s > patience_s:
                    raise
                log.warning("model_call_failed", model=self.name, attempt=attempt, error=str(problem), pause_s=pause_s)
                patience_s -= pause_s
                listening.discard()
                if problem.kind is FailureKind.TIMEOUT:
                    request = replace(request, stream=False)
            if pause_s:
                on_event(Waiting(pause_s))
                await self._sleep(pause_s)
        raise AssertionError("unreachable: the last try raises or returns")

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()

    def _pause(self, problem: ModelFailure, attempt: int) -> float | None:
        """Seconds until the next try; None when there is none."""
        if not problem.retryable or attempt + 1 >= self._config.tries:
            return None
        if problem.retry_after_s is not None:
            return problem.retry_after_s + self._jitter() * JITTER_S
        if problem.kind is FailureKind.TIMEOUT:
            return 0.0  # it was waited for long enough
        return PAUSES_S[min(attempt, len(PAUSES_S) - 1)] + self._jitter() * JITTER_S

    async def _attempt(self, request: ModelRequest, listening: "_Listening") -> ModelResponded:
        scope = asyncio.timeout(None)
        try:
            async with scope:
                watch = _Watch(scope, self._config, self.name, streams=request.stream)
                listening.heard = watch.heard
                try:
                    return await self._model.respond(request, listening)
                finally:
                    watch.close()
        except TimeoutError:
            raise failure(FailureKind.TIMEOUT, f"silent for {watch.silent_s():.0f} s") from None


class _Listening:
    """Passes events on and knows whether any was told that binds."""

    def __init__(self, on_event: OnModelEvent) -> None:
        self.heard: Callable[[], None] = lambda: None
        self._on_event = on_event
        self._told = False

    def __call__(self, event: ModelEvent) -> None:
        self.heard()
        self._told = self._told or isinstance(event, TextDelta | CallStreamed)
        self._on_event(event)

    def discard(self) -> None:
        """What was told is void."""
        if self._told:
            self._on_event(TextDiscarded())


class _Watch:
    """Ends a scope when nothing is heard for too long. One timer, looked at when it is due: cheap per chunk."""

    def __init__(self, scope: asyncio.Timeout, config: ModelConfig, name: str, *, streams: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self._scope = scope
        self._name = name
        self._limit_s = config.first_byte_s if streams else config.whole_s
        self._idle_abort_s = config.idle_abort_s
        self._warn_s = config.idle_warn_s
        self._heard_at = self._loop.time()
        self._warned = False
        self._timer = self._loop.call_later(min(self._limit_s, self._warn_s), self._look)

    def heard(self) -> None:
        """The provider sent something."""
        self._heard_at = self._loop.time()
        self._limit_s = self._idle_abort_s

    def silent_s(self) -> float:
        """Seconds since something was heard."""
        return self._loop.time() - self._heard_at

    def _look(self) -> None:
        silent_s = self.silent_s()
        if silent_s >= self._limit_s:
            self._scope.reschedule(self._loop.time())
            return
        due_s = self._limit_s
        if silent_s < self._warn_s:
            due_s, self._warned = min(due_s, self._warn_s), False
        elif not self._warned:
            self._warned = True
            log.warning("model_stream_stalled", model=self._name, silent_s=round(silent_s, 1))
        self._timer = self._loop.call_later(max(due_s - silent_s, 0.001), self._look)

    def close(self) -> None:
        """Watch no more."""
        self._timer.cancel()
