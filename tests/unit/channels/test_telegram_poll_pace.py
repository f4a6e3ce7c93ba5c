"""The pause between polls."""

from channels.telegram.polling import IDLE_BACKOFF, PollPace


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def pauses(clock: Clock, pace: PollPace, *polls: tuple[float, bool]) -> list[float]:
    found = []
    for took_s, confirmed in polls:
        pace.start_poll()
        clock.now_s += took_s
        found.append(pace.pause_s(confirmed=confirmed))
    return found


def test_empty_answers_at_once_are_paced_up_to_a_second() -> None:
    clock = Clock()
    assert [*IDLE_BACKOFF.steps_s, 1.0, 1.0] == pauses(clock, PollPace(50, clock), *[(0.001, False)] * 8)
    assert (0.0, 1.0) == (IDLE_BACKOFF.steps_s[0], IDLE_BACKOFF.steps_s[-1])


def test_a_poll_that_took_its_time_is_followed_at_once() -> None:
    clock = Clock()
    assert [0.0] * 9 == pauses(clock, PollPace(50, clock), *[(1.0, False)] * 9)
    assert [0.0] * 9 == pauses(clock, PollPace(1, clock), *[(0.5, False)] * 9)
