"""A person's rate limits, on a clock that the test sets."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.access.config import LimitsConfig
from gateway.access.limits import SWEEP_EVERY, Bound, Over, PersonLimits


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def limits(clock: Clock) -> PersonLimits:
    return PersonLimits(LimitsConfig(waiting_messages=3, messages_per_min=30, burst_messages=2), clock)


def test_a_burst_is_taken_then_the_rate_holds() -> None:
    """30 a minute are one every two seconds."""
    clock = Clock()
    bounds = limits(clock)
    assert [None, None, Over(Bound.RATE, tell=True, retry_after_s=2.0)] == [bounds.charge("ana", 0) for _ in range(3)]
    clock.now_s += 2.0
    assert None is bounds.charge("ana", 0)


def test_what_waits_is_bounded_too() -> None:
    bounds = limits(Clock())
    assert [Over(Bound.WAITING, tell=True, retry_after_s=0.0), None] == [
        bounds.charge("ana", 3),
        bounds.charge("ana", 2),
    ]


def test_a_person_over_their_bound_is_told_at_most_once_a_minute() -> None:
    clock = Clock()
    bounds = limits(clock)
    told = []
    for _ in range(130):
        over = bounds.charge("ana", 3)
        told.append(over is not None and over.tell)
        clock.now_s += 1.0
    assert [0, 60, 120] == [second for second, was_told in enumerate(told) if was_told]


def test_a60_one_persons_flood_costs_others_nothing() -> None:
    bounds = limits(Clock())
    for _ in range(1000):
        bounds.charge("mallory", 0)
    assert None is bounds.charge("ana", 0)


@given(st.lists(st.floats(0.0, 5.0), min_size=1, max_size=60))
def test_no_more_comes_in_than_burst_and_rate_allow(pauses_s: list[float]) -> None:
    clock = Clock()
    bounds = limits(clock)
    taken = 0
    for pause_s in pauses_s:
        clock.now_s += pause_s
        taken += bounds.charge("ana", 0) is None
    assert taken <= 2 + sum(pauses_s) / 2.0 + 1e-6


def test_memory_follows_who_is_active() -> None:
    clock = Clock()
    bounds = limits(clock)
    for number in range(SWEEP_EVERY - 1):
        bounds.charge(f"user-{number}", 0)
    clock.now_s += 3600.0
    bounds.charge("ana", 0)
    assert 1 == len(bounds._buckets)  # noqa: SLF001  memory is what the test is about
