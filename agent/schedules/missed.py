"""Policies for slots that nothing could answer in time, because the gateway was down."""

from datetime import timedelta
from enum import StrEnum

MAX_CAUGHT_UP = 10


class Missed(StrEnum):
    """The policies."""

    SKIP = "skip"  # leave them out
    ONCE = "once"  # answer the last of them
    ALL = "all"  # answer each, the last MAX_CAUGHT_UP
    RECENT = "recent"  # of reminders: say the last one if it is some hours late at most

    @property
    def most(self) -> int:
        """Return the number of slots that are answered at most."""
        return MAX_CAUGHT_UP if self is Missed.ALL else 1

    @property
    def late_for(self) -> timedelta:
        """Return how late a slot may be answered."""
        return _LATE_FOR[self]


_LATE_FOR = {
    Missed.SKIP: timedelta(minutes=10),
    Missed.ONCE: timedelta(days=8),
    Missed.ALL: timedelta(days=8),
    Missed.RECENT: timedelta(hours=6),
}
