"""A model is asked no more often, and for no more tokens a minute, than its account allows: waiting beats a refusal."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent.config import LinkConfig
from agent.context.sizes import RequestSizes
from agent.errors import FailureKind
from agent.ports import ModelFailure, ModelRequest, OnModelEvent, RetryPause
from agent.transcript import ModelResponded

WINDOW_S = 60.0


@dataclass(slots=True)
class Use:
    """One call within the window."""

    at_s: float
    tokens: int  # an estimate until the provider has counted


class RateLimiter:
    """Requests and tokens a minute of one model. State is this process's: a window is a minute long."""

    def __init__(self, config: LinkConfig, *, waits: bool, sleep: Callable[[float], Awaitable[object]]) -> None:
        """Without `waits` a call that finds no room fails at once: another model answers meanwhile."""
        self._waits = waits
        self._requests = config.requests_per_min
        self._tokens = config.tokens_per_min
        self._sleep = sleep
        self._sizes = RequestSizes()
        self._used: deque[Use] = deque()

    async def wait(self, request: ModelRequest, on_event: OnModelEvent) -> Use:
        """Take room for a call once there is some; a wait is told as `RetryPause`.

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
        """Count what the provider counted."""
        counted = (response.usage.input_tokens, response.usage.output_tokens)
        use.tokens = sum(count or 0 for count in counted) or use.tokens

    def _wait_s(self, tokens: int) -> float:
        """Seconds until this fits; a request larger than the whole limit fits an empty window."""
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
