"""Tells the time twice: as the machine's clock shows it, for dates that people read, and steadily, for everything
that waits, expires or has an age.

Whoever sets the machine's clock by hours must not end drains and retries, let codes run out or make messages look
missed. So the steady clock goes by the time since boot, and follows a set clock slowly. Of machines that work together
each goes by the clock of one.
"""

import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

Clock = Callable[[], datetime]
"""Gives aware UTC."""

Sleep = Callable[[float], Awaitable[None]]
"""Waits so many seconds."""

FOLLOWS = 0.1
"""Part of the time that passes by which a set clock is followed: an hour is 54 to 66 minutes, a day is met in ten."""

FOLLOWED_AT_ONCE = timedelta(days=3)
"""A clock set by more had been wrong: machines without a battery begin in another year until they ask the network."""

GONE_BY = timedelta(minutes=2)
"""How far from the machine's a clock may be that is gone by: it is held against platforms' stamps, too, and what Slack
signs holds for five minutes.
"""


wall_now: Callable[[], datetime] = partial(datetime.now, UTC)
"""The machine's clock."""

since_boot_s: Callable[[], float] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
)
"""Seconds that nobody can set; they pass while the machine sleeps, where the system can tell."""


class SteadyClock:
    """Aware UTC instants that never go back, and pass like the time since boot. For any thread."""

    def __init__(self, wall: Callable[[], datetime] = wall_now, passed_s: Callable[[], float] = since_boot_s) -> None:
        """It begins with the machine's clock."""
        self._wall = wall
        self._passed_s = passed_s
        self._lock = threading.Lock()
        self._read_s = passed_s()
        self._now = wall()
        self._off = timedelta(0)  # of the clock that it goes by, from the machine's
        self._alone = True

    def go_by(self, shown: datetime, within: timedelta) -> timedelta:
        """Go by another clock that showed this at some time within the last so long; not by one too far off.

        At once the first time, from then on as a set clock is followed. How far that one is from the machine's, 0 where
        they may be alike.
        """
        with self._lock:
            wall = self._wall()
            off = shown + within / 2 - wall
            off = off if abs(off) > within / 2 else timedelta(0)
            follows = off if abs(off) <= GONE_BY else timedelta(0)
            if abs(follows - self._off) > within / 2:
                self._off = follows
                self._now = wall + follows if self._alone else self._now
            self._alone = False
            return off

    def __call__(self) -> datetime:
        """Now."""
        with self._lock:
            read_s, wall = self._passed_s(), self._wall()
            if self._off:
                wall += self._off
            passed_s = read_s - self._read_s
            self._read_s = read_s
            gap_s, may_s = (wall - self._now).total_seconds() - passed_s, FOLLOWS * passed_s
            if -may_s <= gap_s <= may_s:  # asked a dozen times a message: nobody has set anything
                self._now = wall
            else:
                self._now = self._follow(wall, timedelta(seconds=max(0.0, passed_s)))
            return self._now

    def _follow(self, wall: datetime, passed: timedelta) -> datetime:
        """What it is now, where the machine's clock was set."""
        now = self._now + passed
        gap = wall - now
        if abs(gap) > FOLLOWED_AT_ONCE:
            return now + gap
        return now + max(-FOLLOWS * passed, min(FOLLOWS * passed, gap))


steady_now = SteadyClock()
"""The steady clock of this process: instants are comparable only where all of them are of one clock. Of several
processes on a PostgreSQL each goes by that server's.
"""


def steady_s() -> float:
    """The same as Unix time."""
    return steady_now().timestamp()


@dataclass(frozen=True, slots=True)
class Clocks:
    """The two clocks of a process."""

    now: Clock = steady_now
    """For ages, waits and expiry."""
    dates: Clock = wall_now
    """For days that people read."""
