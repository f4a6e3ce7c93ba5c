"""The next call to a chat goes when its buckets let it: they engage after the first 429, or always when told to.

Times come from an injected monotonic clock in seconds; nothing here sleeps.
"""

from collections.abc import Callable

from channels.base import Limits
from channels.bounded_dict import BoundedDict
from channels.foreign import LONGEST_WAIT_S

CHATS_KEPT = 10_000
"""Chats whose last call is remembered; the longest unused one is forgotten first."""


UNLIMITED_PER_S = 1e6
"""The rate of a chat that has no limit of its own and was told to wait."""


LIVE_SHARE = 0.6
"""Of a limit a minute, what live edits may use up with everything else; the rest is for answers and for others."""

LIVE_BURST = 3
"""Live edits in a row where there were none for a while."""


class Bucket:
    """One call every `1 / per_s` seconds on average, `burst` at once (GCRA)."""

    def __init__(self, per_s: float, burst: int = 1) -> None:
        """An idle bucket lets `burst` calls through at once."""
        self._interval_s = 1.0 / per_s
        self._slack_s = self._interval_s * (burst - 1)
        self._due_s = float("-inf")  # when the next call is due in an even flow

    def reserve(self, now_s: float) -> float:
        """Take the next place; the seconds to wait for it."""
        start = max(self._due_s, now_s)
        wait_s = max(0.0, start - self._slack_s - now_s)
        self._due_s = start + self._interval_s
        return wait_s

    def free(self, now_s: float) -> bool:
        """Whether a call could go at once."""
        return self._due_s - self._slack_s <= now_s

    def pause(self, until_s: float) -> None:
        """Let nothing through before an instant the platform named."""
        self._due_s = max(self._due_s, until_s + self._slack_s)


def _live_bucket(per_min: float) -> Bucket:
    return Bucket(per_min * LIVE_SHARE / 60, LIVE_BURST)


class Pacer:
    """The buckets of one channel account."""

    def __init__(self, limits: Limits, now_s: Callable[[], float], *, strict: bool = False) -> None:
        """With `strict` the limits hold from the start, else from the first 429 on."""
        self._limits = limits
        self._now_s = now_s
        self._engaged = strict
        self._overall = Bucket(limits.overall_per_s, 30) if limits.overall_per_s else None
        self._edits = _live_bucket(limits.edits_per_min) if limits.edits_per_min else None
        self._groups: BoundedDict[str, Bucket] = BoundedDict(CHATS_KEPT)  # what live edits keep to in limited groups
        self._chats: BoundedDict[str, Bucket] = BoundedDict(CHATS_KEPT)
        self._edited_s: BoundedDict[str, float] = BoundedDict(CHATS_KEPT)  # the last live edit of each chat

    def reserve(self, chat: str) -> float:
        """Take the next place for a call to a chat; the seconds to wait for it."""
        self.note(chat)
        if not self._engaged:
            return 0.0
        now_s = self._now_s()
        return max([bucket.reserve(now_s) for bucket in self._buckets(chat)], default=0.0)

    def note(self, chat: str) -> None:
        """A call goes to a chat that waits for nothing, such as a sign: live edits leave room for it."""
        if self.is_narrow(chat):
            self._group(chat).reserve(self._now_s())

    def is_narrow(self, chat: str) -> bool:
        """Whether the platform takes so few calls a minute there that each has to be worth it."""
        prefix = self._limits.group_prefix
        return prefix is not None and chat.startswith(prefix) and bool(self._limits.per_group_per_min)

    def could_edit(self, chat: str) -> bool:
        """Whether a live edit may go now: one an interval in a chat, whoever writes there, and few enough a minute."""
        now_s = self._now_s()
        if now_s - self._edited_s.get(chat, float("-inf")) < self._limits.edit_interval_s:
            return False
        return all(bucket.free(now_s) for bucket in self._live_buckets(chat))

    def may_edit(self, chat: str) -> bool:
        """As `could_edit`; it takes the place if so."""
        if not self.could_edit(chat):
            return False
        now_s = self._now_s()
        self.reserve(chat)
        if self._edits is not None:
            self._edits.reserve(now_s)
        self._edited_s[chat] = now_s
        return True

    def _live_buckets(self, chat: str) -> list[Bucket]:
        buckets = self._buckets(chat) if self._engaged else []
        if self._edits is not None:
            buckets.append(self._edits)
        return [*buckets, self._group(chat)] if self.is_narrow(chat) else buckets

    def _group(self, chat: str) -> Bucket:
        if chat not in self._groups:
            self._groups[chat] = _live_bucket(self._limits.per_group_per_min or 1.0)
        self._groups.move_to_end(chat)
        return self._groups[chat]

    def slow_down(self, chat: str, retry_after_s: float) -> None:
        """The platform asked for less: from now on the limits hold, and this chat waits."""
        self._engaged = True
        bucket = self._bucket(chat, UNLIMITED_PER_S)
        if bucket:
            bucket.pause(self._now_s() + min(retry_after_s, LONGEST_WAIT_S))

    def _buckets(self, chat: str) -> list[Bucket]:
        return [bucket for bucket in (self._overall, self._bucket(chat)) if bucket is not None]

    def _bucket(self, chat: str, otherwise_per_s: float | None = None) -> Bucket | None:
        if chat in self._chats:
            self._chats.move_to_end(chat)
            return self._chats[chat]
        per_s = self._limits.per_chat_per_s or otherwise_per_s
        if self.is_narrow(chat) and self._limits.per_group_per_min:
            per_s = self._limits.per_group_per_min / 60
        if per_s is None:
            return None
        bucket = self._chats[chat] = Bucket(per_s)
        return bucket
