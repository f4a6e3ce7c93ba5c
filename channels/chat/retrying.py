"""A call that receiving cannot do without is made until it is answered; health is told of every failure.

What a platform's answer means, and which answers are failures at all, is decided by the adapter.
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
    """How long to wait after each of several failures in a row."""

    steps_s: tuple[float, ...]  # the last one is repeated

    def wait_s(self, failures: int, asked_s: float | None = None) -> float:
        """The wait after failure number `failures`, counted from 1.

        It is at least what the platform asks for, but of that an hour at most.
        """
        return max(self.steps_s[min(failures, len(self.steps_s)) - 1], min(asked_s or 0.0, LONGEST_WAIT_S))


@dataclass(frozen=True, slots=True)
class CallFailure:
    """What a call that did not go well means to whoever needs it."""

    detail: str  # for health
    asked_s: float | None = None  # the wait that the platform asks for
    fatal: ConfigRefused | None = None  # what ends the channel if it goes on like this


class PersistentCaller:
    """Makes calls for one account until they are answered well."""

    def __init__(self, account: str, sink: Sink, sleep: Sleep, backoff: Backoff, event: str) -> None:
        """`event` is how the log calls a failure."""
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
        """What `call` gives at last; it is repeated after `failures`, any other error travels up.

        `patience` is how many fatal failures in a row are taken before the last of them ends the channel.

        Raises:
            ConfigRefused: it is fatal; health was told.
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
        """Tell health, and wait before the next try."""
        wait_s = self._backoff.wait_s(failures, failure.asked_s)
        self._sink.report(ChannelState.DEGRADED, failure.detail)
        _log.warning(self._event, account=self._account, detail=failure.detail, retry_in_s=wait_s)
        await self._sleep(wait_s)
