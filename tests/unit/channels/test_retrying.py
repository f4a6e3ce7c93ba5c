"""Calls that are made until they are answered, and what health hears meanwhile."""

import pytest

from channels.base import ChannelState
from channels.chat.retrying import Backoff, CallFailure, PersistentCaller
from channels.errors import ConfigRefused, Unknown
from channels.foreign import LONGEST_WAIT_S
from tests.fakes.sink import RecordingSink

BACKOFF = Backoff((1.0, 2.0))


class Answers:
    """Gives the next of its answers at each call; errors are raised."""

    def __init__(self, *answers: object) -> None:
        self._answers = list(answers)

    async def __call__(self) -> object:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Waits(list[float]):
    """Notes how long it would have slept."""

    async def __call__(self, wait_s: float) -> None:
        self.append(wait_s)


def explain(error: Exception) -> CallFailure:
    """A refused token is fatal; a server that is late asks for ten seconds."""
    if isinstance(error, PermissionError):
        return CallFailure("refused", fatal=ConfigRefused("mend the token"))
    return CallFailure(str(error), 10.0 if isinstance(error, TimeoutError) else None)


async def ask(sink: RecordingSink, waits: Waits, *answers: object, patience: int = 1) -> object:
    """What is answered at last."""
    caller = PersistentCaller("main", sink, waits, BACKOFF, "call_failed")
    return await caller.call_until_ok(Answers(*answers), explain, (Unknown, OSError), patience=patience)


async def test_a_call_is_made_until_it_is_answered() -> None:
    """Waits grow up to the last step, are at least what was asked for, and health is told of every failure."""
    sink, waits = RecordingSink(), Waits()
    assert "yes" == await ask(sink, waits, Unknown("a"), TimeoutError("b"), Unknown("c"), "yes")
    assert [1.0, 10.0, 2.0] == waits
    assert [(ChannelState.DEGRADED, detail) for detail in "abc"] == sink.states


async def test_what_is_fatal_ends_it_when_it_comes_often_enough_in_a_row() -> None:
    """One in between that is not fatal begins the count anew; then health knows what to mend."""
    sink, waits = RecordingSink(), Waits()
    refused = PermissionError()
    with pytest.raises(ConfigRefused, match="mend the token"):
        await ask(sink, waits, refused, Unknown("a"), refused, refused, "never", patience=2)
    assert 3 == len(waits)
    assert (ChannelState.FAILED, "mend the token") == sink.states[-1]


async def test_a_configuration_that_the_call_itself_refuses_ends_it_at_once() -> None:
    """However patient it is with the platform."""
    sink, waits = RecordingSink(), Waits()
    with pytest.raises(ConfigRefused):
        await ask(sink, waits, ConfigRefused("no scope"), patience=3)
    assert ([(ChannelState.FAILED, "no scope")], []) == (sink.states, waits)


async def test_any_other_error_travels_up() -> None:
    """What nobody expected is not called again."""
    with pytest.raises(ZeroDivisionError):
        await ask(RecordingSink(), Waits(), ZeroDivisionError())


def test_nobody_is_waited_for_longer_than_an_hour() -> None:
    """Whatever a platform asks for."""
    assert LONGEST_WAIT_S == BACKOFF.wait_s(1, asked_s=1e9)
