"""Which shard hears of what, how a bot's resume points follow a change of their number, and when it may IDENTIFY.

A shard is one connection to the gateway: Discord tells it of the servers whose id gives its number, and shard 0 of
direct messages. Source: docs.discord.com/developers/events/gateway, "Sharding" and "Session Start Limit" (2026-11).
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
    """One connection of so many."""

    number: int = 0
    count: int = 1

    def hears(self, guild: str | None) -> bool:
        """Whether it is told of a server; None: of direct messages."""
        return (int(guild) >> 22) % self.count == self.number if guild is not None else self.number == 0

    def name(self, words: str) -> str:
        """Words about it, for health: with its name, where there are several."""
        return words if self.count == 1 else f"shard {self.number} of {self.count}: {words}"


SOLE = Shard()


def lay_out(known: Mapping[int, str], count: int) -> Mapping[int, str | None]:
    """What changes of the resume points where so many shards read from now on; None: there is no such shard any more.

    Sessions of another count are dropped, for Discord resumes none of them. What was said since the least that any of
    them is sure to have heard is a gap of each: whichever told of a server before, nothing of it is missed.
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
    """What Discord says of its gateway to one bot."""

    url: str
    shards: int = 1  # recommended
    max_concurrency: int = 1  # shards that may IDENTIFY at once
    starts_left: int | None = None  # sessions that may be opened until the limit is reset; None: not said
    reset_after_s: float = 0.0

    @property
    def is_used_up(self) -> bool:
        """Whether no session may be opened; who else begins one just now is counted in."""
        return self.starts_left is not None and self.starts_left < self.max_concurrency


def to_gateway_info(url: str, found: JsonValue) -> GatewayInfo:
    """The answer of GET /gateway/bot, as far as it says anything."""
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
    """When each shard of one process may IDENTIFY. Instants are seconds of any steady clock."""

    max_concurrency: int = 1  # as Discord said last
    _begun: dict[int, deque[float]] = field(default_factory=dict)  # by shard, the last of an hour
    _last: dict[int, float] = field(default_factory=dict)  # by bucket

    def bucket(self, shard: Shard) -> int:
        """Those of one bucket may not IDENTIFY at once."""
        return shard.number % self.max_concurrency

    def wait_s(self, shard: Shard, now_s: float) -> float:
        """How long to wait for others of the bucket; 0.0 where it may at once."""
        last_s = self._last.get(self.bucket(shard))
        return 0.0 if last_s is None else max(0.0, last_s + IDENTIFY_EVERY_S - now_s)

    def rest_s(self, shard: Shard, now_s: float) -> float:
        """How long a shard is to rest that began again and again within the hour."""
        begun = self._begun.get(shard.number, deque())
        return max(0.0, HOUR_S - (now_s - begun[0])) if len(begun) == IDENTIFIES_PER_HOUR else 0.0

    def note(self, shard: Shard, now_s: float) -> None:
        """It does now."""
        self._last[self.bucket(shard)] = now_s
        self._begun.setdefault(shard.number, deque(maxlen=IDENTIFIES_PER_HOUR)).append(now_s)


@dataclass(slots=True)
class Starts:
    """How the shards of one account open sessions: one by one, paced."""

    pace: IdentifyPace = field(default_factory=IdentifyPace)
    locks: dict[int, asyncio.Lock] = field(default_factory=dict)

    def lock(self, shard: Shard) -> asyncio.Lock:
        """Return the lock of those shards that may not open a session at once; the one that opens one holds it."""
        return self.locks.setdefault(self.pace.bucket(shard), asyncio.Lock())

    def note(self, shard: Shard) -> None:
        """Note that IDENTIFY is sent now."""
        self.pace.note(shard, asyncio.get_running_loop().time())
