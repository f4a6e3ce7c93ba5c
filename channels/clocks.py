"""Two clocks: the machine's wall clock for dates that people read, and a steady one for waits, expiry and ages.

A wall clock that is set by hours must not end drains and retries, expire codes or make messages look missed. So the
steady clock follows the time since boot, and approaches a changed wall clock slowly. Several processes on one database
all follow that server's clock.
"""

import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

Clock = Callable[[], datetime]
"""Returns the time, aware UTC."""

Sleep = Callable[[float], Awaitable[None]]
"""Waits for some seconds."""

FOLLOWS = 0.1
"""Rate at which a changed wall clock is approached: an hour lasts 54 to 66 minutes, a day is made up in ten."""

FOLLOWED_AT_ONCE = timedelta(days=3)
"""A larger change is applied at once: machines without a battery start in another year until they ask the network."""

MAX_FOLLOWED = timedelta(minutes=2)
"""Maximum difference of a followed clock from the machine's: it is compared with platforms' timestamps, and Slack's
signatures are valid for five minutes.
"""


wall_now: Callable[[], datetime] = partial(datetime.now, UTC)
"""The machine's clock."""

since_boot_s: Callable[[], float] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
)
"""Seconds since boot, including suspend if the system supports it; they cannot be set."""


class SteadyClock:
    """A thread-safe clock of aware UTC instants that never go back and pass like the time since boot."""

    def __init__(self, wall: Callable[[], datetime] = wall_now, passed_s: Callable[[], float] = since_boot_s) -> None:
        """Start with the machine's time."""
        self._wall = wall
        self._passed_s = passed_s
        self._lock = threading.Lock()
        self._read_s = passed_s()
        self._now = wall()
        self._off = timedelta(0)  # of the followed clock from the machine's
        self._is_alone = True

    def follow(self, shown: datetime, within: timedelta) -> timedelta:
        """Follow another clock that showed `shown` within the last `within`, unless it is too far off.

        The first call sets the time at once, later ones approach it. Return the difference from the machine's clock, 0
        if they may be equal.
        """
        with self._lock:
            wall = self._wall()
            off = shown + within / 2 - wall
            off = off if abs(off) > within / 2 else timedelta(0)
            follows = off if abs(off) <= MAX_FOLLOWED else timedelta(0)
            if abs(follows - self._off) > within / 2:
                self._off = follows
                self._now = wall + follows if self._is_alone else self._now
            self._is_alone = False
            return off

    def __call__(self) -> datetime:
        """Return the current time."""
        with self._lock:
            read_s, wall = self._passed_s(), self._wall()
            if self._off:
                wall += self._off
            passed_s = read_s - self._read_s
            self._read_s = read_s
            gap_s, may_s = (wall - self._now).total_seconds() - passed_s, FOLLOWS * passed_s
            if -may_s <= gap_s <= may_s:  # the usual case: the wall clock was not set
                self._now = wall
            else:
                self._now = self._approach(wall, timedelta(seconds=max(0.0, passed_s)))
            return self._now

    def _approach(self, wall: datetime, passed: timedelta) -> datetime:
        """Return the current time after the wall clock was set."""
        now = self._now + passed
        gap = wall - now
        if abs(gap) > FOLLOWED_AT_ONCE:
            return now + gap
        return now + max(-FOLLOWS * passed, min(FOLLOWS * passed, gap))


steady_now = SteadyClock()
"""The steady clock of this process. Instants are comparable only within one clock; several processes on PostgreSQL all
follow that server's.
"""


def steady_s() -> float:
    """Return the steady clock's time as Unix time."""
    return steady_now().timestamp()


@dataclass(frozen=True, slots=True)
class Clocks:
    """The two clocks of a process."""

    now: Clock = steady_now
    """Clock for ages, waits and expiry."""
    dates: Clock = wall_now
    """Clock for dates that people read."""
