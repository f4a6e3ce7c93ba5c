"""Gateway sessions of one bot: sequence numbers, what can be replayed, and how long a session outlives its socket.

No WebSocket here: a session writes into an outbox that `gateway` empties. Source: discord-api-docs, "Gateway".
"""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

import orjson

from channels.simulators.shared.world import JsonObject

REPLAY_KEPT = 20_000  # events; a session that missed more cannot be resumed


class CloseCode(IntEnum):
    """The codes that the gateway closes a connection with."""

    UNKNOWN = 4000
    DECODE = 4002
    NOT_IDENTIFIED = 4003
    BAD_TOKEN = 4004
    IDENTIFIED_TWICE = 4005
    BAD_SEQ = 4007
    BAD_SHARD = 4010
    FEW_SHARDS = 4011
    BAD_INTENTS = 4013
    FORBIDDEN_INTENTS = 4014


@dataclass(frozen=True, slots=True)
class Close:
    """Ends a connection; `code` None cuts it without a goodbye."""

    code: int | None


Outbox = asyncio.Queue[bytes | Close]


@dataclass(slots=True)
class StartLimit:
    """Limits on a bot's sessions and shards; tests change them."""

    shards: int = 1  # what GET /gateway/bot recommends
    max_concurrency: int = 1
    total: int = 1000  # sessions a day
    every_s: float = 0.0  # between two of the same number modulo `max_concurrency`; Discord's is 5
    guilds_a_shard: int = 2_500  # more than these are refused with 4011


@dataclass(slots=True, eq=False)
class Session:
    """One session."""

    id: str
    intents: int
    seq: int = 0
    events: deque[tuple[int, bytes]] = field(default_factory=lambda: deque(maxlen=REPLAY_KEPT))
    outbox: Outbox | None = None  # None: no socket
    lost_at_s: float = 0.0  # time.monotonic() when its socket went
    valid: bool = True
    shard: tuple[int, int] = (0, 1)  # which of how many

    def receives(self, guild: int | None) -> bool:
        """Return True if it is told of a server; None: of direct messages."""
        number, count = self.shard
        return number == (0 if guild is None else (guild >> 22) % count)

    def emit(self, event: str, data: bytes) -> None:
        """Give an event its number, keep it for a replay, and send it if there is a socket."""
        self.seq += 1
        payload = b'{"t":"%s","s":%d,"op":0,"d":%s}' % (event.encode(), self.seq, data)
        self.events.append((self.seq, payload))
        if self.outbox is not None:
            self.outbox.put_nowait(payload)

    def replay_after(self, seq: int) -> list[bytes] | None:
        """Return everything after `seq`; None if it is not kept any more or never was."""
        if seq > self.seq or (self.events and seq < self.events[0][0] - 1):
            return None
        return [payload for number, payload in self.events if number > seq]

    def detach(self, outbox: Outbox, code: int | None) -> None:
        """Let the socket go; a close with 1000 or 1001 ends the session."""
        if self.outbox is not outbox:
            return
        self.outbox = None
        self.lost_at_s = time.monotonic()
        if code in (1000, 1001):
            self.valid = False


class Sessions:
    """All sessions of one bot."""

    def __init__(self) -> None:
        self._all: dict[str, Session] = {}
        self.identifies = 0
        self.resumes = 0  # that succeeded
        self.refused = 0  # resumes answered with Invalid Session
        self.closes: list[int | None] = []  # codes that clients closed with; None: cut
        self.limit = StartLimit()
        self.too_quick = 0  # IDENTIFYs that came before their time
        self._identified: dict[int, float] = {}

    def is_too_quick(self, number: int) -> bool:
        """Return True if this shard's IDENTIFY comes too soon after another's."""
        bucket, now_s = number % self.limit.max_concurrency, time.monotonic()
        before_s = self._identified.get(bucket)
        if before_s is not None and now_s - before_s < self.limit.every_s:
            self.too_quick += 1
            return True
        self._identified[bucket] = now_s
        return False

    def open(self, intents: int, outbox: Outbox, shard: tuple[int, int] = (0, 1)) -> Session:
        """Return a new session on a socket."""
        session = Session(secrets.token_hex(16), intents, outbox=outbox, shard=shard)
        self._all[session.id] = session
        return session

    def resume(self, session_id: str, seq: int, outbox: Outbox, window_s: float) -> tuple[Session, list[bytes]] | None:
        """Take a session up again. Return it with what it missed, or None."""
        session = self._all.get(session_id)
        if session is None or not session.valid:
            return None
        if session.outbox is None and time.monotonic() - session.lost_at_s > window_s:
            session.valid = False
            return None
        missed = session.replay_after(seq)
        if missed is None:
            session.valid = False
            return None
        if session.outbox is not None:  # the old socket has not been noticed to be dead
            session.outbox.put_nowait(Close(CloseCode.UNKNOWN))
        session.outbox = outbox
        self.resumes += 1
        return session, missed

    def live(self) -> Iterator[Session]:
        """Yield sessions that are told events: those with a socket, and those that may come back."""
        for session in list(self._all.values()):
            if session.valid:
                yield session
            elif session.outbox is None:
                del self._all[session.id]

    def emit(self, event: str, data: JsonObject, *, intent: int = 0, guild: int | None = None) -> None:
        """Tell every session that asked for this kind (`intent` 0: all) and hears of the server (None: direct)."""
        encoded = orjson.dumps(data)
        for session in self.live():
            if (not intent or session.intents & intent) and session.receives(guild):
                session.emit(event, encoded)

    def emit_raw(self, event: str, data: bytes) -> None:
        """Tell every session any bytes as an event's data."""
        for session in self.live():
            session.emit(event, data)

    def tell(self, what: bytes | Close, shard: int | None = None) -> None:
        """Put something on every socket, or on those of one shard, outside the sequence."""
        for session in self._all.values():
            if session.outbox is not None and shard in (None, session.shard[0]):
                session.outbox.put_nowait(what)

    def invalidate(self, shard: int | None = None) -> None:
        """Let no session be resumed, or none of one shard."""
        for session in self._all.values():
            session.valid = session.valid and shard not in (None, session.shard[0])

    @property
    def open_shards(self) -> list[tuple[int, int]]:
        """Return the shards that have a socket, in their order."""
        return sorted(session.shard for session in self._all.values() if session.outbox is not None and session.valid)

    @property
    def connected(self) -> bool:
        """Return True if a session has a socket."""
        return bool(self.open_shards)
