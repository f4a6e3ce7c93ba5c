"""Growth of a call's work with its text: ratios of thread time, never seconds.

A call is measured at n, 2n and 4n characters. Twice the text takes a linear call twice as long, a quadratic one four
times. A call that seems to take more is measured again, best of several, with texts four times as long, in which a
quadratic part outweighs the rest: a slow moment of the machine is forgiven, a function is not.
"""

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from tests.attacks.shapes import Shape

SUSPICIOUS = 4.9
"""Ratio of four times the text from which a call is measured again: n to the 1.15."""

TOO_MUCH = 6.5
"""Largest allowed ratio of four times the text: n to the 1.35."""

TOO_MUCH_A_STEP = 2.25
"""Smallest ratio of twice the text that counts as growth; a call that begins to work only at some length jumps in one
step and is linear in the other."""

PASS_US = 30
"""About how long the shortest text of a measurement should take. n is chosen for it, so that a slow function is
measured on short texts, and a quick one on long texts, where its overhead is small."""

LEAST_CHARS, MOST_CHARS = 120, 2500
LARGER = 4
ENOUGH = 3
LONG_S = 0.03
"""A call that takes so long is measured once: nothing that happens beside it makes a difference."""

Call = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Entry:
    """A call that reads foreign text; the functions it calls on its way are measured with it."""

    call: Call  # swallows only the errors that the function says it raises
    most_chars: int | None = None  # how much of the text it looks at; None: all of it
    one_of: int = 1  # of so many shapes `make gate` tries one: the call is slow


Times = tuple[float, float, float]
"""Seconds at n, 2n and 4n characters; only their ratios count."""


@dataclass(frozen=True, slots=True)
class Grown:
    """A shape for which a call takes more than its share."""

    shape: Shape
    chars: int
    times: Times

    def __str__(self) -> str:
        first, second, third = self.times
        ratios = f"{second / first:.1f} and {third / second:.1f} times as long for twice the text"
        return f"{self.shape} from {self.chars} characters: {ratios}"


def growing(call: Call, shapes: Sequence[Shape], most_chars: int | None = None, scale: int = 1) -> list[Grown]:
    """Return the first few shapes for which this call grows faster than its text.

    `most_chars` bounds how much of a text the call reads: longer texts are not measured. `scale` makes every text so
    many times longer.
    """
    with _collector_at_rest():
        chars = _fitting(call, shapes) * scale
        largest = chars * LARGER if most_chars is None else min(most_chars // 4, chars * LARGER)
        grown = (_grown(call, shape, min(chars, largest), largest) for shape in shapes)
        return list(islice((found for found in grown if found is not None), ENOUGH))


def _fitting(call: Call, shapes: Sequence[Shape]) -> int:
    passes = sorted(_seconds(call, shape.text(LEAST_CHARS), times=2) for shape in shapes[:: max(1, len(shapes) // 15)])
    middle_us = passes[len(passes) // 2] * 1e6
    return max(LEAST_CHARS, min(MOST_CHARS, int(LEAST_CHARS * PASS_US / max(middle_us, 0.1))))


def _grown(call: Call, shape: Shape, chars: int, largest: int) -> Grown | None:
    if not _is_suspicious(_measured(call, shape, chars, times=1)):
        return None
    if not _is_suspicious(_measured(call, shape, chars, times=3)):
        return None
    for size in (largest, largest * 3 // 4) * 2:  # a function fails each time, a machine that others use does not
        times = _measured(call, shape, size, times=3)
        if not _is_too_much(times):
            return None
    return Grown(shape, size, times)


def _is_suspicious(times: Times) -> bool:
    return times[2] > SUSPICIOUS * times[0]


def _is_too_much(times: Times) -> bool:
    first, second, third = times
    return third > TOO_MUCH * first and second > TOO_MUCH_A_STEP * first and third > TOO_MUCH_A_STEP * second


def _measured(call: Call, shape: Shape, chars: int, times: int) -> Times:
    first, second, third = (_seconds(call, shape.text(chars * factor), times) for factor in (1, 2, 4))
    return first, second, third


def _seconds(call: Call, text: str, times: int) -> float:
    least = _once(call, text)
    for _ in range(times - 1):
        if least > LONG_S:
            break
        least = min(least, _once(call, text))
    return least


def _once(call: Call, text: str) -> float:
    begun = time.thread_time()
    call(text)
    return time.thread_time() - begun


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
