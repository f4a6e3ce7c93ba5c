"""The steady clock: whoever sets the machine's clock, time passes as it passes."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.clocks import FOLLOWED_AT_ONCE, SteadyClock, steady_now, wall_now
from tests.fakes.set_clock import DAY, SetClock

HOUR_S = 3600.0


def test_it_is_the_machines_clock_while_nobody_sets_that():
    """Also after a year."""
    machine = SetClock()
    clock = SteadyClock(machine.wall, machine.passed_s)
    for _ in range(365):
        machine.pass_s(86_400.0)
        assert machine.wall() == clock()
    assert abs(steady_now() - wall_now()) < timedelta(seconds=5)


@pytest.mark.parametrize("jump", [DAY, -DAY, timedelta(hours=1), timedelta(hours=-1), timedelta(minutes=-2)])
def test_set_clock_changes_no_hour_by_more_than_a_tenth(jump: timedelta):
    """What waits an hour waits an hour, whichever way the clock was set."""
    machine = SetClock()
    clock = SteadyClock(machine.wall, machine.passed_s)
    machine.pass_s(60.0)
    before = clock()
    machine.set_by(jump)
    assert before == clock()
    machine.pass_s(HOUR_S)
    assert timedelta(minutes=54) <= clock() - before <= timedelta(minutes=66)


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_set_clock_is_met_in_the_end(jump: timedelta):
    """A day in ten days; from then on they go together."""
    machine = SetClock()
    clock = SteadyClock(machine.wall, machine.passed_s)
    machine.set_by(jump)
    for _ in range(10 * 24):
        machine.pass_s(HOUR_S)
        clock()
    assert machine.wall() == clock()


def test_clock_that_was_years_off_is_followed_at_once():
    """A machine without a battery asks the network for the time after it has started."""
    machine = SetClock()
    clock = SteadyClock(machine.wall, machine.passed_s)
    machine.set_by(FOLLOWED_AT_ONCE + DAY)
    assert machine.wall() == clock()


@given(st.lists(st.tuples(st.floats(0.0, 1e5), st.integers(-200_000, 200_000)), max_size=30))
def test_it_never_goes_back_for_a_day_set_either_way(happened: list[tuple[float, int]]):
    """Whatever is set, in steps up to two days around the truth."""
    machine = SetClock()
    clock = SteadyClock(machine.wall, machine.passed_s)
    last = clock()
    for passed_s, off_s in happened:
        machine.pass_s(passed_s)
        machine.off = timedelta(seconds=off_s / 4)
        now = clock()
        assert last + timedelta(seconds=0.89 * passed_s) <= now
        last = now


@pytest.mark.parametrize("off", [timedelta(seconds=50), timedelta(seconds=-50)])
def test_it_goes_by_anothers_clock_at_once_and_follows_that_slowly(off: timedelta):
    """A machine of several: from its first word on; what that clock is set by later is followed as its own is."""
    machine, second = SetClock(), timedelta(seconds=1)
    clock = SteadyClock(machine.wall, machine.passed_s)
    assert off == clock.go_by(machine.wall() + off - second / 2, within=second)
    assert machine.wall() + off == clock()
    before = clock()
    assert 2 * off == clock.go_by(machine.wall() + 2 * off - second / 2, within=second)
    assert before == clock()
    machine.pass_s(60.0)
    assert timedelta(seconds=54) <= clock() - before <= timedelta(seconds=66)
    machine.pass_s(HOUR_S)
    assert machine.wall() + 2 * off == clock()


def test_a_clock_that_is_far_off_is_not_gone_by():
    """Whoever asks is told how far: one of the two is wrong, and this one may be right."""
    machine = SetClock()
    clock = SteadyClock(machine.wall, machine.passed_s)
    assert DAY == clock.go_by(machine.wall() + DAY, within=timedelta(0))
    assert machine.wall() == clock()


def test_clocks_that_may_be_the_same_are_left_alone():
    """What was shown at some time within a second says no more than that."""
    machine, second = SetClock(), timedelta(seconds=1)
    clock = SteadyClock(machine.wall, machine.passed_s)
    for shown in (machine.wall(), machine.wall() - second):
        assert timedelta(0) == clock.go_by(shown, within=second)
        assert machine.wall() == clock()
