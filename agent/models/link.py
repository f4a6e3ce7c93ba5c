"""One model of a chain: credentials with their cooldowns, rate limit, retries, stall watchdog, circuit breaker, cache.

The wire names the kinds of failure; `agent.models.chain` asks the next model.
"""

import asyncio
import random
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import structlog

from agent.config import LinkConfig
from agent.context.sizes import RequestSizes
from agent.credentials import Credential
from agent.errors import FailureKind
from agent.fallbacks import Fallback
from agent.models.credentials import OWN, ConfiguredKey, CredentialSource
from agent.models.health import Circuit, Gate, HealthBoard
from agent.ports import (
    BINDING,
    ChatModel,
    ModelAtWork,
    ModelEvent,
    ModelFacts,
    ModelFailure,
    ModelRequest,
    OnModelEvent,
    Pinged,
    Recovering,
    RetryPause,
    TextDelta,
    TextDiscarded,
)
from agent.transcript import ModelResponded, StopReason, Usage

WINDOW_S = 60.0


@dataclass(slots=True)
class Use:
    """One call within the window."""

    at_s: float
    tokens: int  # estimated until the provider has counted


class RateLimiter:
    """Requests and tokens a minute of one model, in this process."""

    def __init__(self, config: LinkConfig, *, waits: bool, sleep: Callable[[float], Awaitable[object]]) -> None:
        """If not `waits`, a call without room fails at once, so that another model answers."""
        self._waits = waits
        self._requests = config.requests_per_min
        self._tokens = config.tokens_per_min
        self._sleep = sleep
        self._sizes = RequestSizes()
        self._used: deque[Use] = deque()

    async def wait(self, request: ModelRequest, on_event: OnModelEvent) -> Use:
        """Wait for room, take it for a call, and report each pause as `RetryPause`.

        Raises:
            ModelFailure: there is no room within `request.retry_budget_s`.
        """
        tokens = self._sizes.estimate(request)
        waited_s = 0.0
        while (wait_s := self._wait_s(tokens)) > 0:
            if not self._waits or waited_s + wait_s > request.retry_budget_s:
                raise ModelFailure(FailureKind.RATE_LIMIT, "our own limit a minute", retry_after_s=wait_s)
            on_event(RetryPause(wait_s))
            await self._sleep(wait_s)
            waited_s += wait_s
        use = Use(asyncio.get_running_loop().time(), tokens)
        self._used.append(use)
        return use

    @staticmethod
    def settle(use: Use, response: ModelResponded) -> None:
        """Replace the estimate by the provider's count."""
        counted = (response.usage.input_tokens, response.usage.output_tokens)
        use.tokens = sum(count or 0 for count in counted) or use.tokens

    def _wait_s(self, tokens: int) -> float:
        """Return the seconds until this fits; a request larger than the whole limit fits an empty window."""
        now_s = asyncio.get_running_loop().time()
        while self._used and self._used[0].at_s <= now_s - WINDOW_S:
            self._used.popleft()
        left, spent, free_at_s = len(self._used), sum(use.tokens for use in self._used), now_s
        for use in self._used:
            if self._fits(left, spent, tokens):
                break
            left, spent, free_at_s = left - 1, spent - use.tokens, use.at_s + WINDOW_S
        return max(0.0, free_at_s - now_s)

    def _fits(self, left: int, spent: int, tokens: int) -> bool:
        too_many = self._requests is not None and left >= self._requests
        too_much = self._tokens is not None and spent + tokens > self._tokens
        return not (too_many or too_much)


MOST = 256
"""Maximum number of cached answers."""


class AnswerCache:
    """A cache of whole answers of one model without tool calls, which may act differently the next time."""

    def __init__(self, for_s: float) -> None:
        self._for_s = for_s
        self._kept: OrderedDict[bytes, tuple[float, ModelResponded]] = OrderedDict()  # expiry time and answer

    def find(self, request: ModelRequest) -> ModelResponded | None:
        """Return the cached answer at no cost, or None."""
        ends_s, kept = self._kept.get(_key(request), (0.0, None))
        if kept is None or asyncio.get_running_loop().time() >= ends_s:
            return None
        return replace(kept, usage=Usage(0, 0, cost_microusd=0))

    def keep(self, request: ModelRequest, response: ModelResponded) -> None:
        """Store an answer, and drop the oldest beyond `MOST`."""
        if response.stop is not StopReason.END or response.tool_calls:
            return
        key = _key(request)
        self._kept[key] = (asyncio.get_running_loop().time() + self._for_s, response)
        self._kept.move_to_end(key)
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)


def _key(request: ModelRequest) -> bytes:
    """Return a key of all that a wire sends; the instructions name the person."""
    sent = (request.system, tuple(request.items), tuple(request.tools), request.max_output_tokens)
    return blake2b(repr(sent).encode(errors="replace"), digest_size=16).digest()


log = structlog.get_logger()

QUICK_PAUSES_S = (0.3, 0.6)
"""Seconds between attempts if a fallback model can answer."""

HURRY_S = 2.4
"""Seconds after which no attempt begins if a fallback model can answer, so that it starts within 3 s."""

QUICK_JITTER_S = 0.1

REFUSED_PAUSE_S = 5.0
"""Seconds before a refused key is tried a second time: one refusal may be the provider's own fault."""

PAUSES_S = (5.0, 10.0, 15.0)
"""Seconds between attempts if the provider names no time."""

JITTER_S = 1.0


FIRST_COOLDOWN_S = {FailureKind.AUTH: 300.0, FailureKind.QUOTA: 3600.0}
"""First cooldown in seconds; doubled with each consecutive one."""

LONGEST_COOLDOWN_S = 86_400.0

MOST_DOUBLED = 20


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The failures after which a model is asked again, and for how long."""

    passes_on: frozenset[FailureKind] = frozenset()  # failures after which another model can answer
    hurry_s: float = HURRY_S  # seconds after the first attempt in which one may begin after such a failure
    retries: bool = True  # False: asked once without a watchdog; another distribution's wire retries as it sees fit


NO_FALLBACK = RetryPolicy()


class ModelLink:
    """A model that is asked again if that can help, within bounded time, and with the next credential after a refusal.

    A refused credential cools down and is not used meanwhile.
    """

    def __init__(
        self,
        model: ChatModel,
        config: LinkConfig,
        board: HealthBoard | None = None,
        *,
        sources: Sequence[CredentialSource] = (),
        policy: RetryPolicy = NO_FALLBACK,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Without `sources` the model has its credential from its configuration."""
        self.name = model.name
        self._model = model
        self._config = config
        self._board = board or HealthBoard()
        self._sources = sources
        self._policy = policy
        self._sleep = sleep
        self._jitter = jitter
        self._circuit = Circuit(model.name, self._board)
        self._cache = None if config.cache_s is None else AnswerCache(config.cache_s)
        is_limited = config.requests_per_min is not None or config.tokens_per_min is not None
        waits = FailureKind.RATE_LIMIT not in policy.passes_on
        self._limiter = RateLimiter(config, waits=waits, sleep=sleep) if is_limited else None

    @property
    def facts(self) -> ModelFacts:
        return self._model.facts

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Return one whole response, with the first credential that is not refused: the person's own first.

        A discarded attempt is reported as `TextDiscarded`, a pause as `RetryPause`; pauses add up to at most
        `request.retry_budget_s`. A stalled stream is asked again without streaming, unless the server was working on
        the prompt, whose work would be lost. `ModelAtWork` pauses the turn's deadline.

        Raises:
            ModelFailure: of the last attempt; `retry_after_s` is set if the provider named a time. If all credentials
                are refused or missing, the failure of the first.
        """
        if not self._sources:
            return await self._ask_as(self.name, request, on_event)
        refused: list[ModelFailure] = []
        for source in self._sources:
            held = await source.find(request.who)
            if held is None:
                continue
            # a person's bad key cools down under a name of its own, and does not take the model from others
            name = self.name if source.name == ConfiguredKey.name else f"{self.name} {source.name} {_mark(held)}"
            try:
                return await self._ask_as(name, replace(request, credential=held), on_event)
            except ModelFailure as problem:
                if problem.kind not in FIRST_COOLDOWN_S:
                    raise
                log.warning("credential_refused", model=self.name, source=source.name, error=str(problem))
                refused.append(replace(problem, own_credential=source.name == OWN))
        if not refused:
            words = f"there is no key for {self.name}: people may /connect, or see [model] in the configuration"
            raise ModelFailure(FailureKind.AUTH, words, unasked=True)
        asked = [problem for problem in refused if not problem.unasked]
        raise replace(
            refused[0], unasked=not asked, own_credential=all(problem.own_credential for problem in asked or refused)
        )

    async def _ask_as(self, name: str, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Ask unless this name cools down; start a cooldown after a refusal."""
        cooldown = self._board.check(name, Gate.COOLDOWN)
        ask = self._retry if self._policy.retries else self._ask
        try:
            if self._limiter is None:
                response = await ask(request, on_event)
            else:
                use = await self._limiter.wait(request, on_event)
                response = await ask(request, on_event)
                self._limiter.settle(use, response)
        except ModelFailure as problem:
            if (first_s := FIRST_COOLDOWN_S.get(problem.kind)) is not None:
                doubled = 0 if cooldown is None else min(cooldown.strikes, MOST_DOUBLED)
                self._board.close(name, Gate.COOLDOWN, problem, min(first_s * 2**doubled, LONGEST_COOLDOWN_S))
            raise
        self._board.open(name, Gate.COOLDOWN)
        return response

    async def _retry(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        retry_budget_s, loop = request.retry_budget_s, asyncio.get_running_loop()
        begun_s = loop.time()
        for attempt in range(self._config.tries):
            watch = _Watch(self._config, self.name, on_event, streams=request.stream)
            try:
                return await self._attempt(request, watch)
            except ModelFailure as problem:
                pause_s = self._pause(problem, attempt, loop.time() - begun_s)
                if pause_s is None or pause_s > retry_budget_s:
                    raise
                log.warning("model_call_failed", model=self.name, attempt=attempt, error=str(problem), pause_s=pause_s)
                retry_budget_s -= pause_s
                unstreams = problem.kind is FailureKind.TIMEOUT and request.stream
                on_event(Recovering(Fallback.UNSTREAMED if unstreams else Fallback.RETRIED, problem.kind.value))
                watch.discard()
                if unstreams:
                    request = replace(request, stream=False)
            if pause_s:
                on_event(RetryPause(pause_s))
                await self._sleep(pause_s)
        raise AssertionError("unreachable: the last try raises or returns")

    async def _ask(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Ask once, unless the circuit is open or the answer is cached."""
        with self._circuit.call():
            if self._cache is not None and (kept := self._cache.find(request)) is not None:
                on_event(TextDelta(kept.text))
                return kept
            response = await self._model.respond(request, on_event)
        if self._cache is not None:
            self._cache.keep(request, response)
        return response

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()

    def _pause(self, problem: ModelFailure, attempt: int, took_s: float) -> float | None:
        """Return the seconds until the next attempt, or None for no further attempt."""
        if attempt + 1 >= self._config.tries:
            return None
        if problem.kind is FailureKind.AUTH:
            return REFUSED_PAUSE_S if attempt == 0 else None
        if not problem.retryable:
            return None
        if problem.kind in self._policy.passes_on:
            pause_s = self._quick_pause(problem, attempt)
            return pause_s if pause_s is not None and took_s + pause_s < self._policy.hurry_s else None
        if problem.retry_after_s is not None:
            return problem.retry_after_s + self._jitter() * JITTER_S
        if problem.kind is FailureKind.TIMEOUT:
            return 0.0  # the timeout was long enough
        return PAUSES_S[min(attempt, len(PAUSES_S) - 1)] + self._jitter() * JITTER_S

    def _quick_pause(self, problem: ModelFailure, attempt: int) -> float | None:
        waits_long = problem.kind in {FailureKind.TIMEOUT, FailureKind.RATE_LIMIT} or problem.retry_after_s
        if waits_long or attempt >= len(QUICK_PAUSES_S):
            return None
        return QUICK_PAUSES_S[attempt] + self._jitter() * QUICK_JITTER_S

    async def _attempt(self, request: ModelRequest, watch: "_Watch") -> ModelResponded:
        try:
            async with watch.scope:
                try:
                    return await self._ask(request, watch.hear)
                finally:
                    watch.close()
        except TimeoutError:
            again = watch.begun or not watch.patient  # interrupted work on the prompt is not started again
            words = f"silent for {watch.silent_s():.0f} s"
            raise ModelFailure(FailureKind.TIMEOUT, words, retryable=again) from None


class _Watch:
    """A watchdog that passes events on and ends a scope if none comes for too long.

    A local server may be slow for the whole response; one that reports progress, until its response begins.
    """

    def __init__(self, config: LinkConfig, name: str, tell: OnModelEvent, *, streams: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self.scope = asyncio.timeout(None)
        self._name = name
        self._tell = tell
        self._is_local = config.is_local
        self._prefill_s = config.prefill_s
        self._limit_s = config.begins_within_s(streams=streams)
        self._idle_abort_s = config.idle_abort_s
        self._warn_s = config.idle_warn_s
        self._heard_at = self._loop.time()
        self._warned = False
        self._binds = False  # events were passed on that must be retracted if the response is discarded
        self.begun = False  # the response has begun
        self.patient = False  # the server is working, and the turn's deadline is paused
        self._timer = self._loop.call_later(min(self._limit_s, self._warn_s), self._look)
        if self._is_local:
            self._be_patient(True)

    def hear(self, event: ModelEvent) -> None:
        """Record an event of the provider, reset the watchdog and pass the event on."""
        if not isinstance(event, Pinged):
            self._heard_at = self._loop.time()
            self.begun, self._limit_s = True, self._idle_abort_s
            if self.patient and not self._is_local:
                self._be_patient(False)
            self._binds = self._binds or isinstance(event, BINDING)
        elif not self.begun:
            self._limit_s = max(self._limit_s, self._prefill_s)
            if not self.patient:
                self._be_patient(True)
        self._tell(event)

    def discard(self) -> None:
        """Tell the listener to discard what was streamed, if anything was."""
        if self._binds:
            self._tell(TextDiscarded())

    def _be_patient(self, patient: bool) -> None:
        self.patient = patient
        self._tell(ModelAtWork(patient))

    def silent_s(self) -> float:
        """Return the seconds since the last event."""
        return self._loop.time() - self._heard_at

    def _look(self) -> None:
        silent_s = self.silent_s()
        if silent_s >= self._limit_s:
            self.scope.reschedule(self._loop.time())
            return
        due_s = self._limit_s
        if silent_s < self._warn_s:
            due_s, self._warned = min(due_s, self._warn_s), False
        elif not self._warned and (self.begun or not self.patient):
            self._warned = True
            log.warning("model_stream_stalled", model=self._name, silent_s=round(silent_s, 1))
        self._timer = self._loop.call_later(max(due_s - silent_s, 0.001), self._look)

    def close(self) -> None:
        """Stop watching."""
        self._timer.cancel()
        if self.patient:
            self._tell(ModelAtWork(False))


def _mark(credential: Credential) -> str:
    """Return a hash that differs for each secret and does not reveal it."""
    return blake2b(credential.secret.encode(errors="replace"), digest_size=8).hexdigest()
