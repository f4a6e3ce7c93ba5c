"""Retries of essential calls until they succeed; health shows every failure.

The adapter decides which answers are failures.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import structlog

from channels.base import ChannelState, Sink
from channels.clocks import Sleep
from channels.errors import ConfigRefused
from channels.foreign import LONGEST_WAIT_S

_log = structlog.get_logger()

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waiting times after consecutive failures."""

    steps_s: tuple[float, ...]  # the last one is repeated

    def wait_s(self, failures: int, asked_s: float | None = None) -> float:
        """Return the wait after failure number `failures`, counted from 1.

        It is at least what the platform asks for, up to an hour.
        """
        return max(self.steps_s[min(failures, len(self.steps_s)) - 1], min(asked_s or 0.0, LONGEST_WAIT_S))


@dataclass(frozen=True, slots=True)
class CallFailure:
    """The classification of a failed call."""

    detail: str  # for health
    asked_s: float | None = None  # requested by the platform
    fatal: ConfigRefused | None = None  # ends the channel if it is repeated


class PersistentCaller:
    """The essential calls of one account, each repeated until it succeeds."""

    def __init__(self, account: str, sink: Sink, sleep: Sleep, backoff: Backoff, event: str) -> None:
        """`event` is the log event of a failure."""
        self._account = account
        self._sink = sink
        self._sleep = sleep
        self._backoff = backoff
        self._event = event

    async def call_until_ok(
        self,
        call: Callable[[], Awaitable[T]],
        explain: Callable[[Exception], CallFailure],
        failures: tuple[type[Exception], ...],
        *,
        patience: int = 1,
    ) -> T:
        """Repeat `call` after `failures` and return its result; other errors propagate.

        `patience` is the number of consecutive fatal failures after which the channel ends.

        Raises:
            ConfigRefused: the failure is fatal; health was told.
        """
        failed = fatal = 0
        while True:
            try:
                return await call()
            except ConfigRefused as refusal:
                raise self._report_failed(refusal) from None
            except failures as error:
                failure = explain(error)
            failed += 1
            fatal = fatal + 1 if failure.fatal is not None else 0
            if failure.fatal is not None and fatal >= patience:
                raise self._report_failed(failure.fatal)
            await self.report_and_wait(failure, failed)

    def _report_failed(self, refusal: ConfigRefused) -> ConfigRefused:
        self._sink.report(ChannelState.FAILED, str(refusal))
        return refusal

    async def report_and_wait(self, failure: CallFailure, failures: int = 1) -> None:
        """Report a failure to health, and wait before the next attempt."""
        wait_s = self._backoff.wait_s(failures, failure.asked_s)
        self._sink.report(ChannelState.DEGRADED, failure.detail)
        _log.warning(self._event, account=self._account, detail=failure.detail, retry_in_s=wait_s)
        await self._sleep(wait_s)
