"""Bounds what is written down for whoever is not let in: a stranger, or a group that no list names.

Asked before a row is made, in memory, with the clock given. What is over a bound is acknowledged and leaves nothing;
people who are let in never are. The first message of somebody new has a bound of its own, so that a few who hammer
take nobody else's place; so has what happens to the bot in a chat, which whoever blocks and unblocks it makes up.
"""

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from channels.bounded_dict import BoundedDict
from channels.messages import ChatMigrated, InboundEvent, MembershipChanged
from gateway.access.config import StrangersConfig
from gateway.access.policy import GROUP_NOT_LISTED, Admit, Decision, Enrol, Silence
from gateway.access.roles import Role
from gateway.store.people import Person

log = structlog.get_logger()

REMEMBERED = 10_000
"""Strangers of a process whose rate is known; beyond that whoever was silent longest is new again."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at_s: float

    def take(self, now_s: float, per_s: float, most: float) -> bool:
        self.tokens = min(most, self.tokens + max(0.0, now_s - self.filled_at_s) * per_s)
        self.filled_at_s = now_s
        if self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True


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
        self._of_each: BoundedDict[Key, _Bucket] = BoundedDict(REMEMBERED)
        self._of_accounts: dict[Key, _Bucket] = {}  # four an account of the configuration
        self._untold: dict[str, tuple[int, float]] = {}  # an account's events since the log last said so, and when

    def take(self, event: InboundEvent, decision: Decision, person: Person | None) -> bool:
        """Count one event; False where nothing is to be written down of it. `person` is whose it is, if known."""
        if not _counts(event, decision, person):
            return True
        key, now_s = _key(event, decision), self._clock_s()
        held = self._of_each.get(key)
        bucket = held or _Bucket(self._config.burst_messages, now_s)
        self._of_each[key] = bucket
        taken = bucket.take(now_s, self._config.messages_per_hour / 3600.0, self._config.burst_messages)
        if taken and self._account_takes(event, newcomer=held is None, now_s=now_s):
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
            bucket.tokens = min(float(self._config.burst_messages), bucket.tokens + 1.0)

    def _account_takes(self, event: InboundEvent, *, newcomer: bool, now_s: float) -> bool:
        config = self._config
        a_min = config.newcomers_per_min if newcomer else config.account_messages_per_min
        most = float(a_min * ACCOUNT_BURST_MIN)
        what = "about" if isinstance(event, MembershipChanged) else "said"
        key = (event.address.channel, event.address.account, what, "new" if newcomer else "")
        bucket = self._of_accounts.setdefault(key, _Bucket(most, now_s))
        return bucket.take(now_s, a_min / 60.0, most)


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
