"""A machine whose clock can be set while its time passes."""

from datetime import datetime, timedelta

from channels.clocks import SteadyClock
from tests.fakes.people import NOON

DAY = timedelta(days=1)


class SetClock:
    """The machine's clock, the time that has passed, and the steady clock over both."""

    def __init__(self) -> None:
        self.off = timedelta()
        self._passed_s = 1_000.0
        self._begun_s = self._passed_s
        self.steady = SteadyClock(self.wall, self.passed_s)

    def wall(self) -> datetime:
        return NOON + timedelta(seconds=self._passed_s - self._begun_s) + self.off

    def passed_s(self) -> float:
        """Return seconds since boot; setting the clock does not change them."""
        return self._passed_s

    def pass_s(self, seconds: float) -> None:
        """Let time pass."""
        self._passed_s += seconds

    def set_by(self, jump: timedelta) -> None:
        """Set the clock forward, or back."""
        self.off += jump

    async def sleep(self, seconds: float) -> None:
        self.pass_s(seconds)
