"""Rate limits of calls to a platform: active after its first 429, or always if configured.

Times come from an injected monotonic clock in seconds.
"""

from collections.abc import Callable

from channels.base import Limits
from channels.bounded_dict import BoundedDict
from channels.foreign import LONGEST_WAIT_S

CHATS_KEPT = 10_000
"""Chats whose last call is remembered; the longest unused one is forgotten first."""


UNLIMITED_PER_S = 1e6
"""Rate of a chat without a limit of its own that was told to wait."""


LIVE_SHARE = 0.6
"""Share of a limit per minute that live edits may use; the rest is for answers."""

LIVE_BURST = 3
"""Live edits in a row after a pause."""


class Bucket:
    """Rate limiter (GCRA): one call every `1 / per_s` seconds on average, `burst` at once."""

    def __init__(self, per_s: float, burst: int = 1) -> None:
        self._interval_s = 1.0 / per_s
        self._slack_s = self._interval_s * (burst - 1)
        self._due_s = float("-inf")  # when the next call is due at an even rate

    def reserve(self, now_s: float) -> float:
        """Take the next slot; return the seconds to wait for it."""
        start = max(self._due_s, now_s)
        wait_s = max(0.0, start - self._slack_s - now_s)
        self._due_s = start + self._interval_s
        return wait_s

    def free(self, now_s: float) -> bool:
        """Return True if a call could go at once."""
        return self._due_s - self._slack_s <= now_s

    def pause(self, until_s: float) -> None:
        """Block calls until an instant that the platform named."""
        self._due_s = max(self._due_s, until_s + self._slack_s)


def _live_bucket(per_min: float) -> Bucket:
    return Bucket(per_min * LIVE_SHARE / 60, LIVE_BURST)


class Pacer:
    """Rate limits of one channel account."""

    def __init__(self, limits: Limits, now_s: Callable[[], float], *, strict: bool = False) -> None:
        """Apply the limits from the start if `strict`, else from the first 429 on."""
        self._limits = limits
        self._now_s = now_s
        self._engaged = strict
        self._overall = Bucket(limits.overall_per_s, 30) if limits.overall_per_s else None
        self._edits = _live_bucket(limits.edits_per_min) if limits.edits_per_min else None
        self._groups: BoundedDict[str, Bucket] = BoundedDict(CHATS_KEPT)  # limits of live edits in limited groups
        self._chats: BoundedDict[str, Bucket] = BoundedDict(CHATS_KEPT)
        self._edited_s: BoundedDict[str, float] = BoundedDict(CHATS_KEPT)  # last live edit of each chat

    def reserve(self, chat: str) -> float:
        """Take the next slot for a call to a chat; return the seconds to wait for it."""
        self.note(chat)
        if not self._engaged:
            return 0.0
        now_s = self._now_s()
        return max([bucket.reserve(now_s) for bucket in self._buckets(chat)], default=0.0)

    def note(self, chat: str) -> None:
        """Count a call that does not wait, such as a reaction, so that live edits leave room for it."""
        if self.is_narrow(chat):
            self._group(chat).reserve(self._now_s())

    def is_narrow(self, chat: str) -> bool:
        """Return True if the platform allows only few calls a minute in this chat."""
        prefix = self._limits.group_prefix
        return prefix is not None and chat.startswith(prefix) and bool(self._limits.per_group_per_min)

    def could_edit(self, chat: str) -> bool:
        """Return True if a live edit may go now, by the interval and the limits of its chat."""
        now_s = self._now_s()
        if now_s - self._edited_s.get(chat, float("-inf")) < self._limits.edit_interval_s:
            return False
        return all(bucket.free(now_s) for bucket in self._live_buckets(chat))

    def may_edit(self, chat: str) -> bool:
        """Take a slot for a live edit if one may go now; return False if not."""
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
        """Obey a platform's 429: apply the limits from now on, and pause this chat."""
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
