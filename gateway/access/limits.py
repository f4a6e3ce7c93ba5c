"""Bounds how much people may ask for, and what is written down for strangers; in memory, the clock given.

One person has a token bucket, and a bound on what waits.
A refusal is told at most once a minute; telling is the caller's work. Nothing here waits or knows a message.
That strangers come in numbers is noticed, too, for the operator to be told: nobody is refused for it.

A stranger, or a group that no list names, is asked about before a row is made. What is over a bound is acknowledged and
leaves nothing; people who are let in never are. The first message of somebody new has a bound of its own, so that a few
who hammer take nobody else's place; so has what happens to the bot in a chat, which whoever blocks and unblocks it
makes up.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import structlog

from channels.bounded_dict import BoundedDict
from channels.messages import ChatMigrated, InboundEvent, MembershipChanged
from channels.rate import TokenBucket
from gateway.access.config import LimitsConfig, Role, StrangersConfig
from gateway.access.policy import GROUP_NOT_LISTED, Admit, Decision, Enrol, Silence
from gateway.store.people import Person

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
class _PersonBucket(TokenBucket):
    told_at_s: float | None = None


class PersonLimits:
    """The bounds of everybody, kept by user id."""

    def __init__(self, config: LimitsConfig, clock_s: Callable[[], float]) -> None:
        """`clock_s` is monotonic, in seconds."""
        self._config = config
        self._clock_s = clock_s
        self._buckets: dict[str, _PersonBucket] = {}
        self._takes = 0

    def charge(self, user_id: str, waiting: int) -> Over | None:
        """Count one message of whoever is kept by this name; None when it may come in. `waiting` wait already.

        What is not taken costs nothing: whoever hammers gets in again as soon as whoever waits.
        """
        now_s = self._clock_s()
        bucket = self._refill(user_id, now_s)
        if waiting >= self._config.waiting_messages:
            return Over(Bound.WAITING, self._may_tell(bucket, now_s), 0.0)
        if retry_after_s := bucket.acquire(1.0, self._per_s):
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

    def _refill(self, user_id: str, now_s: float) -> _PersonBucket:
        self._takes += 1
        if self._takes % SWEEP_EVERY == 0:
            self._sweep(now_s)
        bucket = self._buckets.get(user_id)
        if bucket is None:
            bucket = self._buckets[user_id] = _PersonBucket(self._most, now_s)
        bucket.fill(now_s, self._most, self._per_s)
        return bucket

    def _may_tell(self, bucket: _PersonBucket, now_s: float) -> bool:
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


log = structlog.get_logger()

REMEMBERED = 10_000
"""Strangers of a process whose rate is known; beyond that whoever was silent longest is new again."""


TELL_EVERY_S = 60.0

ACCOUNT_BURST_MIN = 5
"""Minutes of an account's rate that may come at once."""

Key = tuple[str, ...]


class StrangerBound:
    """The bounds of everybody who is not let in; bounded itself."""

    def __init__(self, config: StrangersConfig, clock_s: Callable[[], float]) -> None:
        """`clock_s` is monotonic, in seconds."""
        self._config = config
        self._clock_s = clock_s
        self._of_each: BoundedDict[Key, TokenBucket] = BoundedDict(REMEMBERED)
        self._of_accounts: dict[Key, TokenBucket] = {}  # four an account of the configuration
        self._untold: dict[str, tuple[int, float]] = {}  # an account's events since the log last said so, and when

    def charge(self, event: InboundEvent, decision: Decision, person: Person | None) -> bool:
        """Count one event; False where nothing is to be written down of it. `person` is whose it is, if known."""
        if not _counts(event, decision, person):
            return True
        key, now_s = _key(event, decision), self._clock_s()
        held = self._of_each.get(key)
        bucket = held or TokenBucket(self._config.burst_messages, now_s)
        self._of_each[key] = bucket
        bucket.fill(now_s, self._config.burst_messages, per_s := self._config.messages_per_hour / 3600.0)
        if not bucket.acquire(1.0, per_s) and self._account_takes(event, newcomer=held is None, now_s=now_s):
            return True
        self._left_out(f"{event.address.channel}:{event.address.account}", now_s)
        return False

    def _left_out(self, account: str, now_s: float) -> None:
        """Tell the operator of it, at most once a minute an account."""
        events, told_at_s = self._untold.get(account, (0, -TELL_EVERY_S))
        if now_s - told_at_s >= TELL_EVERY_S:
            log.warning("strangers_left_out", account=account, events=events + 1)
            events, told_at_s = -1, now_s
        self._untold[account] = (events + 1, told_at_s)

    def give_back(self, event: InboundEvent, decision: Decision, person: Person | None) -> None:
        """What was counted was not written down after all: it will be offered again."""
        bucket = self._of_each.get(_key(event, decision)) if _counts(event, decision, person) else None
        if bucket is not None:
            bucket.give_back(1.0, self._config.burst_messages)

    def _account_takes(self, event: InboundEvent, *, newcomer: bool, now_s: float) -> bool:
        config = self._config
        a_min = config.newcomers_per_min if newcomer else config.account_messages_per_min
        most = float(a_min * ACCOUNT_BURST_MIN)
        what = "about" if isinstance(event, MembershipChanged) else "said"
        key = (event.address.channel, event.address.account, what, "new" if newcomer else "")
        bucket = self._of_accounts.setdefault(key, TokenBucket(most, now_s))
        bucket.fill(now_s, most, a_min / 60.0)
        return not bucket.acquire(1.0, a_min / 60.0)


def _counts(event: InboundEvent, decision: Decision, person: Person | None) -> bool:
    """Whether it is a stranger's, or from a group that no list names; that a chat moved is nobody's."""
    if isinstance(decision, Admit | Enrol) or isinstance(event, ChatMigrated):
        return False
    let_in = person is not None and person.role != Role.BLOCKED
    return not let_in or decision == Silence(GROUP_NOT_LISTED)


def _key(event: InboundEvent, decision: Decision) -> Key:
    where = event.address
    if isinstance(event, MembershipChanged):
        return (where.channel, where.account, "about", where.chat)
    if decision == Silence(GROUP_NOT_LISTED):
        return (where.channel, where.account, "chat", where.chat)
    return (where.channel, where.account, "sender", event.sender_key)
