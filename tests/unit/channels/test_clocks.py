"""The steady clock: setting the machine's clock does not change it."""

from datetime import timedelta

import pytest

from channels.clocks import SteadyClock
from tests.fakes.set_clock import DAY, SetClock

HOUR_S = 3600.0


@pytest.mark.parametrize("jump", [DAY, -DAY, timedelta(hours=1), timedelta(hours=-1), timedelta(minutes=-2)])
def test_set_clock_changes_no_hour_by_more_than_a_tenth(jump: timedelta):
    machine = SetClock()
    clock = SteadyClock(machine.wall, machine.passed_s)
    machine.pass_s(60.0)
    before = clock()
    machine.set_by(jump)
    assert before == clock()
    machine.pass_s(HOUR_S)
    assert timedelta(minutes=54) <= clock() - before <= timedelta(minutes=66)


@pytest.mark.parametrize("off", [timedelta(seconds=50), timedelta(seconds=-50)])
def test_it_goes_by_anothers_clock_at_once_and_follows_that_slowly(off: timedelta):
    machine, second = SetClock(), timedelta(seconds=1)
    clock = SteadyClock(machine.wall, machine.passed_s)
    assert off == clock.follow(machine.wall() + off - second / 2, within=second)
    assert machine.wall() + off == clock()
    before = clock()
    assert 2 * off == clock.follow(machine.wall() + 2 * off - second / 2, within=second)
    assert before == clock()
    machine.pass_s(60.0)
    assert timedelta(seconds=54) <= clock() - before <= timedelta(seconds=66)
    machine.pass_s(HOUR_S)
    assert machine.wall() + 2 * off == clock()


def test_a_clock_that_is_far_off_is_not_gone_by():
    machine = SetClock()
    clock = SteadyClock(machine.wall, machine.passed_s)
    assert DAY == clock.follow(machine.wall() + DAY, within=timedelta(0))
    assert machine.wall() == clock()
