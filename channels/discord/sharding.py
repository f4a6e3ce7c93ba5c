"""Sharding: which shard receives which server, resume points after a change of their number, and IDENTIFY limits.

A shard is one connection to the gateway: a server's id determines its shard, and shard 0 receives direct messages.
Source: docs.discord.com/developers/events/gateway, "Sharding" and "Session Start Limit" (2026-11).
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from channels.discord.cursor import Cursor, read_cursor, write_cursor
from channels.foreign import whole_of

IDENTIFY_EVERY_S = 5.0  # of the shards that give the same number modulo max_concurrency
IDENTIFIES_PER_HOUR = 20  # of one shard: Discord resets the token of a bot that identifies over 1,000 times a day
HOUR_S = 3600.0
DAY_S = 86_400.0
MOST_CONCURRENT = 1_000


@dataclass(frozen=True, slots=True)
class Shard:
    """One connection of `count`."""

    number: int = 0
    count: int = 1

    def receives(self, guild: str | None) -> bool:
        """Return True if this shard receives a server's events; None: direct messages."""
        return (int(guild) >> 22) % self.count == self.number if guild is not None else self.number == 0

    def name(self, words: str) -> str:
        """Prefix a health message with the shard's name, if there are several."""
        return words if self.count == 1 else f"shard {self.number} of {self.count}: {words}"


SOLE = Shard()


def lay_out(known: Mapping[int, str], count: int) -> Mapping[int, str | None]:
    """Return the changed resume points for `count` shards; None: the shard no longer exists.

    Sessions of another count are dropped, since Discord resumes none of them. Each new shard starts with a gap from the
    least message that any shard is sure to have received, so that no server's messages are missed.
    """
    cursors = {number: read_cursor(text) for number, text in known.items()}
    heard = {number: cursor for number, cursor in cursors.items() if cursor.last}
    strange = [number for number in range(count) if number not in heard or heard[number].shards != count]
    changes: dict[int, str | None] = {number: None for number in cursors if number >= count}
    if heard:
        least = min(cursor.unread_from or cursor.last for cursor in heard.values())
        changes |= dict.fromkeys(strange, write_cursor(Cursor(last=least, shards=count)))
    return changes


@dataclass(frozen=True, slots=True)
class GatewayInfo:
    """Discord's answer about its gateway, for one bot."""

    url: str
    shards: int = 1  # recommended
    max_concurrency: int = 1  # shards that may IDENTIFY at once
    starts_left: int | None = None  # sessions that may be opened until the limit is reset; None: not said
    reset_after_s: float = 0.0

    @property
    def is_used_up(self) -> bool:
        """Return True if no session may be opened, counting sessions that another process is opening now."""
        return self.starts_left is not None and self.starts_left < self.max_concurrency


def to_gateway_info(url: str, found: JsonValue) -> GatewayInfo:
    """Return the answer of GET /gateway/bot, with defaults for missing fields."""
    answer = found if isinstance(found, dict) else {}
    limit = answer.get("session_start_limit")
    starts = limit if isinstance(limit, dict) else {}
    return GatewayInfo(
        url,
        max(whole_of(answer.get("shards")) or 1, 1),
        min(max(whole_of(starts.get("max_concurrency")) or 1, 1), MOST_CONCURRENT),
        whole_of(starts.get("remaining")),
        min((whole_of(starts.get("reset_after")) or 0) / 1000, DAY_S),
    )


@dataclass(slots=True)
class IdentifyPace:
    """Times at which the shards of one process may IDENTIFY, in seconds of any steady clock."""

    max_concurrency: int = 1  # as Discord said last
    _begun: dict[int, deque[float]] = field(default_factory=dict)  # by shard, the last of an hour
    _last: dict[int, float] = field(default_factory=dict)  # by bucket

    def bucket(self, shard: Shard) -> int:
        """Return the bucket; shards of one bucket may not IDENTIFY at once."""
        return shard.number % self.max_concurrency

    def wait_s(self, shard: Shard, now_s: float) -> float:
        """Return the seconds to wait for the bucket, or 0.0."""
        last_s = self._last.get(self.bucket(shard))
        return 0.0 if last_s is None else max(0.0, last_s + IDENTIFY_EVERY_S - now_s)

    def cooldown_s(self, shard: Shard, now_s: float) -> float:
        """Return the cooldown of a shard that identified too often within the hour, or 0.0."""
        begun = self._begun.get(shard.number, deque())
        return max(0.0, HOUR_S - (now_s - begun[0])) if len(begun) == IDENTIFIES_PER_HOUR else 0.0

    def note(self, shard: Shard, now_s: float) -> None:
        """Note an IDENTIFY."""
        self._last[self.bucket(shard)] = now_s
        self._begun.setdefault(shard.number, deque(maxlen=IDENTIFIES_PER_HOUR)).append(now_s)


@dataclass(slots=True)
class SessionStarts:
    """Paced session starts of one account's shards, one at a time."""

    pace: IdentifyPace = field(default_factory=IdentifyPace)
    locks: dict[int, asyncio.Lock] = field(default_factory=dict)

    def lock(self, shard: Shard) -> asyncio.Lock:
        """Return the lock shared by the shards of one bucket; the shard that opens a session holds it."""
        return self.locks.setdefault(self.pace.bucket(shard), asyncio.Lock())

    def note(self, shard: Shard) -> None:
        """Note that IDENTIFY is sent now."""
        self.pace.note(shard, asyncio.get_running_loop().time())
