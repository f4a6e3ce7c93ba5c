"""Calls that are retried until answered, and their reports to health."""

import pytest

from channels.chat.retrying import Backoff, CallFailure, PersistentCaller
from channels.errors import ConfigRefused, Unknown
from channels.foreign import LONGEST_WAIT_S
from tests.fakes.sink import RecordingSink

BACKOFF = Backoff((1.0, 2.0))


class Answers:
    def __init__(self, *answers: object) -> None:
        self._answers = list(answers)

    async def __call__(self) -> object:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Waits(list[float]):
    async def __call__(self, wait_s: float) -> None:
        self.append(wait_s)


def explain(error: Exception) -> CallFailure:
    if isinstance(error, PermissionError):
        return CallFailure("refused", fatal=ConfigRefused("mend the token"))
    return CallFailure(str(error), 10.0 if isinstance(error, TimeoutError) else None)


async def ask(sink: RecordingSink, waits: Waits, *answers: object, patience: int = 1) -> object:
    caller = PersistentCaller("main", sink, waits, BACKOFF, "call_failed")
    return await caller.call_until_ok(Answers(*answers), explain, (Unknown, OSError), patience=patience)


async def test_any_other_error_travels_up() -> None:
    with pytest.raises(ZeroDivisionError):
        await ask(RecordingSink(), Waits(), ZeroDivisionError())


def test_no_wait_is_longer_than_an_hour() -> None:
    assert LONGEST_WAIT_S == BACKOFF.wait_s(1, asked_s=1e9)
