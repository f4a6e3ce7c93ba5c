"""Limits on what people may ask for and on rows written for strangers, in memory.

Each person has a token bucket and a maximum number of waiting messages. `Over.tell` is True at most once a minute a
person; the caller sends the notice. Floods of strangers are detected for the operator, not refused.

Events of strangers and of unlisted groups are counted before a row is written. Events over a limit are acknowledged and
leave no row. First messages of new strangers and changes of the bot's membership have their own limits, so that a few
heavy senders cannot use them up.
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
"""Charges between two sweeps of full buckets, so that memory follows the number of active people."""


class Bound(StrEnum):
    """Limit that was reached."""

    RATE = "rate"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Over:
    """Refusal of a message that is over a limit."""

    bound: Bound
    tell: bool  # False: they were told within `notice_every_s`
    retry_after_s: float  # when the rate allows one more; 0.0 for WAITING, where this is unknown


@dataclass(slots=True)
class _PersonBucket(TokenBucket):
    told_at_s: float | None = None


class PersonLimits:
    """Rate and queue limits, by user id."""

    def __init__(self, config: LimitsConfig, clock_s: Callable[[], float]) -> None:
        self._config = config
        self._most = float(config.burst_messages)
        self._per_s = config.messages_per_min / 60.0
        self._clock_s = clock_s
        self._buckets: dict[str, _PersonBucket] = {}
        self._takes = 0

    def charge(self, user_id: str, waiting: int) -> Over | None:
        """Count one message of this user; return the limit it exceeds, or None. `waiting` messages are queued already.

        A refused message costs no token.
        """
        now_s = self._clock_s()
        bucket = self._refill(user_id, now_s)
        if waiting >= self._config.waiting_messages:
            return Over(Bound.WAITING, self._may_tell(bucket, now_s), 0.0)
        if retry_after_s := bucket.acquire(1.0, self._per_s):
            return Over(Bound.RATE, self._may_tell(bucket, now_s), retry_after_s)
        return None

    def give_back(self, user_id: str) -> None:
        """Refund one message that was not stored; the channel offers it again."""
        bucket = self._buckets.get(user_id)
        if bucket is not None:
            bucket.give_back(1.0, self._most)

    def rename(self, old: str, new: str) -> None:
        """Move the bucket to the new user id and refund the message that caused the change."""
        used = self._buckets.pop(old, None)
        if used is not None and new not in self._buckets:
            self._buckets[new] = used
            self.give_back(new)

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
"""Messages of strangers in a minute that count as a flood; a team's first morning stays below."""

NEW_ONE_BY_ONE = 40
"""New requests in ten minutes that owners are told of one by one; after that they get one summary."""

_SLICES = 12
_SLICE_S = 5.0
CALM_AFTER_S = 600.0  # after the last flood


@dataclass(slots=True)
class _Account:
    slices: list[int] = field(default_factory=lambda: [0] * _SLICES)
    slice: int = 0  # index of the slice that was counted last
    crowded_at_s: float | None = None  # last flood

    def count(self, now_slice: int, more: int) -> int:
        """Add to the current slice; return the sum of the last minute."""
        for passed in range(self.slice + 1, min(now_slice, self.slice + _SLICES) + 1):
            self.slices[passed % _SLICES] = 0
        self.slice = max(self.slice, now_slice)
        self.slices[self.slice % _SLICES] += more
        return sum(self.slices)


class FloodWatch:
    """Counter of strangers' messages, by account."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self._clock_s = clock_s
        self._accounts: dict[str, _Account] = {}

    def count_request(self, account: str) -> bool:
        """Count a stranger's message; return True if there is a flood."""
        return self._count(account, 1) >= ASKS_PER_MIN

    def is_crowded(self, account: str) -> bool:
        """Record a flood; return True if it is a new one."""
        held, now_s = self._accounts.setdefault(account, _Account()), self._clock_s()
        before_s, held.crowded_at_s = held.crowded_at_s, now_s
        return before_s is None or now_s - before_s >= CALM_AFTER_S

    def floods(self) -> Mapping[str, int]:
        """Return the accounts with a flood, and their messages in the last minute."""
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
"""Strangers whose rate is remembered; beyond that the longest silent is forgotten."""


TELL_EVERY_S = 60.0

ACCOUNT_BURST_MIN = 5
"""Minutes of an account's rate that may come at once."""

Key = tuple[str, ...]


class StrangerBound:
    """Rate limits on strangers, by sender, chat and account."""

    def __init__(self, config: StrangersConfig, clock_s: Callable[[], float]) -> None:
        self._config = config
        self._clock_s = clock_s
        self._of_each: BoundedDict[Key, TokenBucket] = BoundedDict(REMEMBERED)
        self._of_accounts: dict[Key, TokenBucket] = {}  # four an account of the configuration
        self._untold: dict[
            str, tuple[int, float]
        ] = {}  # by account: events left out since the last log line, and its time

    def charge(self, event: InboundEvent, decision: Decision, person: Person | None) -> bool:
        """Count one event; return False if no row may be written for it. `person` is its sender, if known."""
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
        """Log the loss, at most once a minute an account."""
        events, told_at_s = self._untold.get(account, (0, -TELL_EVERY_S))
        if now_s - told_at_s >= TELL_EVERY_S:
            log.warning("strangers_left_out", account=account, events=events + 1)
            events, told_at_s = -1, now_s
        self._untold[account] = (events + 1, told_at_s)

    def give_back(self, event: InboundEvent, decision: Decision, person: Person | None) -> None:
        """Refund an event that was not stored; the channel offers it again."""
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
    """Return True for events of strangers and of unlisted groups, except chat migrations."""
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
