"""Bounds how much one person may ask for: a token bucket each, and a bound on what waits; in memory, the clock given.

A refusal is told at most once a minute; telling is the caller's work. Nothing here waits or knows a message.
That strangers come in numbers is noticed, too, for the operator to be told: nobody is refused for it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from channels.rate import TokenBucket
from gateway.access.config import LimitsConfig

SWEEP_EVERY = 1024
"""Takes between two sweeps of buckets that are full again: memory follows who is active, not who ever was."""


class Bound(StrEnum):
    """Which bound was reached."""

    RATE = "rate"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Over:
    """Not taken."""

    bound: Bound
    tell: bool  # False: they were told within the last minute
    retry_after_s: float  # when the rate takes one again; 0.0 for WAITING, where nobody knows


@dataclass(slots=True)
class _Bucket(TokenBucket):
    told_at_s: float | None = None


class PersonLimits:
    """The bounds of everybody, kept by user id."""

    def __init__(self, config: LimitsConfig, clock_s: Callable[[], float]) -> None:
        """`clock_s` is monotonic, in seconds."""
        self._config = config
        self._clock_s = clock_s
        self._buckets: dict[str, _Bucket] = {}
        self._takes = 0

    def take(self, user_id: str, waiting: int) -> Over | None:
        """Count one message of whoever is kept by this name; None when it may come in. `waiting` wait already.

        What is not taken costs nothing: whoever hammers gets in again as soon as whoever waits.
        """
        now_s = self._clock_s()
        bucket = self._refill(user_id, now_s)
        if waiting >= self._config.waiting_messages:
            return Over(Bound.WAITING, self._may_tell(bucket, now_s), 0.0)
        if retry_after_s := bucket.take(1.0, self._per_s):
            return Over(Bound.RATE, self._may_tell(bucket, now_s), retry_after_s)
        return None

    def give_back(self, user_id: str) -> None:
        """What was counted was not taken after all: it will be offered again."""
        bucket = self._buckets.get(user_id)
        if bucket is not None:
            bucket.give_back(1.0, self._most)

    def rename(self, old: str, new: str) -> None:
        """Whoever was counted under one name is from now on under another; the message that led to it is free."""
        used = self._buckets.pop(old, None)
        if used is not None and new not in self._buckets:
            self._buckets[new] = used
            self.give_back(new)

    @property
    def _most(self) -> float:
        return float(self._config.burst_messages)

    @property
    def _per_s(self) -> float:
        return self._config.messages_per_min / 60.0

    def _refill(self, user_id: str, now_s: float) -> _Bucket:
        self._takes += 1
        if self._takes % SWEEP_EVERY == 0:
            self._sweep(now_s)
        bucket = self._buckets.setdefault(user_id, _Bucket(self._most, now_s))
        bucket.fill(now_s, self._most, self._per_s)
        return bucket

    def _may_tell(self, bucket: _Bucket, now_s: float) -> bool:
        if bucket.told_at_s is not None and now_s - bucket.told_at_s < self._config.notice_every_s:
            return False
        bucket.told_at_s = now_s
        return True

    def _sweep(self, now_s: float) -> None:
        most, per_s, every_s = self._most, self._per_s, self._config.notice_every_s
        self._buckets = {
            user_id: bucket
            for user_id, bucket in self._buckets.items()
            if bucket.tokens_at(now_s, most, per_s) < most or now_s - (bucket.told_at_s or -every_s) < every_s
        }


ASKS_PER_MIN = 120
"""Messages of strangers in a minute that make a flood: a team's first morning stays below."""

NEW_ONE_BY_ONE = 40
"""New requests of ten minutes that owners are told of one by one; with the next one it is a crowd."""

_SLICES = 12
_SLICE_S = 5.0
CALM_AFTER_S = 600.0  # a flood is over so long after its last sign


@dataclass(slots=True)
class _Account:
    slices: list[int] = field(default_factory=lambda: [0] * _SLICES)
    slice: int = 0  # which slice of time the last one counts
    crowded_at_s: float | None = None  # when strangers came in numbers last

    def count(self, now_slice: int, more: int) -> int:
        """Add to the present slice; how many the last minute has."""
        for passed in range(self.slice + 1, min(now_slice, self.slice + _SLICES) + 1):
            self.slices[passed % _SLICES] = 0
        self.slice = max(self.slice, now_slice)
        self.slices[self.slice % _SLICES] += more
        return sum(self.slices)


class FloodWatch:
    """The strangers of every account. As many accounts are kept as are configured."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        """`clock_s` is monotonic, in seconds."""
        self._clock_s = clock_s
        self._accounts: dict[str, _Account] = {}

    def count_request(self, account: str) -> bool:
        """Count a stranger's message; whether there are so many that it is a flood."""
        return self._count(account, 1) >= ASKS_PER_MIN

    def is_crowded(self, account: str) -> bool:
        """Strangers come in numbers; whether that is news."""
        held, now_s = self._accounts.setdefault(account, _Account()), self._clock_s()
        before_s, held.crowded_at_s = held.crowded_at_s, now_s
        return before_s is None or now_s - before_s >= CALM_AFTER_S

    def floods(self) -> Mapping[str, int]:
        """Accounts where strangers come in numbers, with their messages in the last minute."""
        now_s = self._clock_s()
        return {
            account: self._count(account, 0)
            for account, held in self._accounts.items()
            if held.crowded_at_s is not None and now_s - held.crowded_at_s < CALM_AFTER_S
        }

    def _count(self, account: str, more: int) -> int:
        return self._accounts.setdefault(account, _Account()).count(int(self._clock_s() / _SLICE_S), more)
