"""Which chats cannot be written to, and when one may be tried again. Nothing is sent or stored here."""

from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime, timedelta

RETRY_EVERY = timedelta(minutes=1)
"""Between two tries of a parked lane: each may be refused, and platforms count refusals (Discord bans for an hour at
10,000 in 10 minutes: discord.com/developers/docs/topics/rate-limits, read 2026-11)."""

REMEMBERED = 10_000  # lanes whose last try is known; the oldest is forgotten first


class Parked:
    """The parked lanes of a gateway."""

    def __init__(self) -> None:
        self._lanes: set[str] = set()
        self._tried_at: OrderedDict[str, datetime] = OrderedDict()

    def put(self, lanes: Iterable[str]) -> None:
        """These say nothing more."""
        self._lanes.update(lanes)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._lanes)

    def __contains__(self, lane: str) -> bool:
        """Whether a lane is parked."""
        return lane in self._lanes

    def may_try(self, lane: str, now: datetime) -> bool:
        """Whether a parked lane may be tried again; a clock that was set back does not hold it."""
        tried_at = self._tried_at.get(lane)
        return lane in self._lanes and (tried_at is None or not timedelta(0) <= now - tried_at < RETRY_EVERY)

    def tried(self, lane: str, now: datetime) -> None:
        """A lane goes on, to see whether it can be written to."""
        self._lanes.discard(lane)
        self._tried_at.pop(lane, None)
        self._tried_at[lane] = now
        if len(self._tried_at) > REMEMBERED:
            self._tried_at.popitem(last=False)

    def gone(self, lane: str) -> None:
        """The lane's chat goes on under another id."""
        self._lanes.discard(lane)
