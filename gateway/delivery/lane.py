"""State that outlives a lane, which exists only while it has rows, and the time when a row is due. Pure.

`lane_worker` sends; `retry_policy` decides about failures.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from channels.bounded_dict import BoundedDict
from gateway.store.outbox import OutboxRow

RETRY_EVERY = timedelta(minutes=1)
"""Interval between tries of a parked lane: each may be refused, and platforms count refusals (Discord bans for an hour
at 10,000 in 10 minutes: discord.com/developers/docs/topics/rate-limits, read 2026-11).
"""

REMEMBERED = 10_000  # lanes whose last try is remembered; the oldest is forgotten first


class ParkedLanes:
    """Lanes of unreachable people, with the time of their last try."""

    def __init__(self) -> None:
        self._lanes: set[str] = set()
        self._tried_at: BoundedDict[str, datetime] = BoundedDict(REMEMBERED)

    def replace(self, lanes: Iterable[str]) -> None:
        """Replace all parked lanes by those of the store."""
        self._lanes = set(lanes)

    def put(self, lanes: Iterable[str]) -> None:
        """Park these lanes."""
        self._lanes.update(lanes)

    def __len__(self) -> int:
        return len(self._lanes)

    def __contains__(self, lane: str) -> bool:
        return lane in self._lanes

    def may_try(self, lane: str, now: datetime) -> bool:
        """Return True if a parked lane may be tried again; a clock that was set back does not delay it."""
        tried_at = self._tried_at.get(lane)
        return lane in self._lanes and (tried_at is None or not timedelta(0) <= now - tried_at < RETRY_EVERY)

    def resume(self, lane: str, now: datetime) -> None:
        """Resume a lane, to see if its person can be reached."""
        self._lanes.discard(lane)
        self._tried_at[lane] = now

    def forget(self, lane: str) -> None:
        """Forget a lane whose chat has another id now."""
        self._lanes.discard(lane)


@dataclass(frozen=True, slots=True)
class SharedLaneState:
    """Parked lanes, and the attempts that were recorded with the rows."""

    parked: ParkedLanes = field(default_factory=ParkedLanes)
    claimed: BoundedDict[str, str] = field(default_factory=lambda: BoundedDict(REMEMBERED))
    """By part key: lanes of parts whose commit records the first attempt, before it is made."""


def due_in_s(row: OutboxRow, pace_s: float, now: datetime, longest_wait_s: float) -> float:
    """Return the seconds until the pacer and the platform allow the row's call, at most `longest_wait_s`."""
    named_s = 0.0 if row.not_before is None else (row.not_before - now).total_seconds()
    return min(max(named_s, pace_s, 0.0), longest_wait_s)  # also a wait stored by an earlier version
