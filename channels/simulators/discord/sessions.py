"""Gateway sessions of one bot: sequence numbers, what can be replayed, and how long a session outlives its socket.

No WebSocket here: a session writes into an outbox that `gateway` empties. Source: discord-api-docs, "Gateway".
"""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson

from channels.simulators.discord.checks import JsonObject

REPLAY_KEPT = 20_000  # events; a session that missed more cannot be resumed

CLOSE_UNKNOWN, CLOSE_BAD_TOKEN, CLOSE_BAD_SEQ, CLOSE_BAD_INTENTS, CLOSE_FORBIDDEN_INTENTS = 4000, 4004, 4007, 4013, 4014


@dataclass(frozen=True, slots=True)
class Close:
    """Ends a connection; `code` None cuts it without a goodbye."""

    code: int | None


Outbox = asyncio.Queue[bytes | Close]


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

    def emit(self, event: str, data: bytes) -> None:
        """Number an event, keep it for a replay, and send it where there is a socket."""
        self.seq += 1
        payload = b'{"t":"%s","s":%d,"op":0,"d":%s}' % (event.encode(), self.seq, data)
        self.events.append((self.seq, payload))
        if self.outbox is not None:
            self.outbox.put_nowait(payload)

    def replay_after(self, seq: int) -> list[bytes] | None:
        """Everything after `seq`; None where it is not kept any more or never was."""
        if seq > self.seq or (self.events and seq < self.events[0][0] - 1):
            return None
        return [payload for number, payload in self.events if number > seq]

    def detach(self, outbox: Outbox, code: int | None) -> None:
        """The socket went; a close with 1000 or 1001 ends the session."""
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

    def open(self, intents: int, outbox: Outbox) -> Session:
        """A new session on a socket."""
        session = Session(secrets.token_hex(16), intents, outbox=outbox)
        self._all[session.id] = session
        return session

    def resume(self, session_id: str, seq: int, outbox: Outbox, window_s: float) -> tuple[Session, list[bytes]] | None:
        """Take a session up again; None where it cannot be."""
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
            session.outbox.put_nowait(Close(CLOSE_UNKNOWN))
        session.outbox = outbox
        self.resumes += 1
        return session, missed

    def live(self) -> Iterator[Session]:
        """Sessions that are told events: those with a socket, and those that may come back."""
        for session in list(self._all.values()):
            if session.valid:
                yield session
            elif session.outbox is None:
                del self._all[session.id]

    def emit(self, event: str, data: JsonObject, *, intent: int = 0) -> None:
        """Tell every session that asked for this kind (`intent` 0: all)."""
        encoded = orjson.dumps(data)
        for session in self.live():
            if not intent or session.intents & intent:
                session.emit(event, encoded)

    def emit_raw(self, event: str, data: bytes) -> None:
        """Tell every session any bytes as an event's data."""
        for session in self.live():
            session.emit(event, data)

    def tell(self, what: bytes | Close) -> None:
        """Put something on every socket, outside the sequence."""
        for session in self._all.values():
            if session.outbox is not None:
                session.outbox.put_nowait(what)

    def invalidate(self) -> None:
        """Let no session be resumed."""
        for session in self._all.values():
            session.valid = False

    @property
    def connected(self) -> bool:
        """Whether some session has a socket."""
        return any(session.outbox is not None and session.valid for session in self._all.values())
