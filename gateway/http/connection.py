"""One connection to the HTTP server: the server's own protocol, with deadlines that it does not have itself.

The head of a request has so long to arrive from its first byte (the first one from the connection's beginning), and who
reads an answer has to take some of it now and then. Who may connect at all is decided in `door`.
"""

import asyncio
from collections.abc import Callable
from enum import StrEnum
from typing import cast

IDLE_S = 80.0
"""A pause between two requests; a little more than the server's own keep-alive, which ends it politely."""

STALL_S = 30.0
"""So often it is looked whether what waits to be read has become less."""

LEAST_READ_BYTES = 32 * 1024
"""By so much: about 1 KB a second, which the slowest line does."""


GRACE_S = 0.05
"""After each deadline: where we were held up ourselves, what has come meanwhile is looked at first."""


class Phase(StrEnum):
    """Who has to do the next thing."""

    HEAD = "head"  # the client: a request has begun, or the first one has yet to
    IDLE = "idle"  # the client, who may ask again
    WORK = "work"  # we: a request is being answered, or a stream is open


class HttpConnection(asyncio.Protocol):
    """Passes everything on to `inner`, and cuts who keeps us waiting."""

    def __init__(
        self,
        inner: asyncio.Protocol,
        moved: "Callable[[HttpConnection, Phase], None]",
        *,
        head_s: float,
        idle_s: float = IDLE_S,
        stall_s: float = STALL_S,
    ) -> None:
        """`moved` is called after each change of phase, with the one before, and once when the connection is over."""
        self.inner = inner
        self.phase = Phase.HEAD
        self.over = False
        self._patience_s = {Phase.HEAD: head_s, Phase.IDLE: idle_s}
        self._stall_s = stall_s
        self._moved = moved
        self._transport: asyncio.Transport | None = None
        self._due_at_s: float | None = None  # on the loop's clock; None while it is our turn
        self._is_last_look = False
        self._timer: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None  # while more waits to be read than is good
        self._is_incomplete: Callable[[], bool] | None = None
        self._stream: asyncio.Task[object] | None = None

    # ------------------------------------------------------------ what the server says of it

    def begin(self, is_incomplete: Callable[[], bool] | None) -> None:
        """A whole head has come; `is_incomplete` tells whether we wait for its body."""
        self._is_incomplete = is_incomplete
        self._enter(Phase.WORK)

    def end(self) -> None:
        """That request is answered."""
        self._is_incomplete = self._stream = None
        self._enter(Phase.IDLE)

    def ends(self, stream: "asyncio.Task[object]") -> None:
        """Cancel what answers the present request as soon as nobody is there to be answered."""
        self._stream = stream

    def end_stream(self) -> None:
        """Cancel it now, if there is one."""
        if self._stream is not None:
            self._stream.cancel()

    def abort(self) -> None:
        """End it now; what was not read of an answer is lost."""
        self._end()
        if self._transport is not None:
            self._transport.abort()

    @property
    def waits(self) -> bool:
        """Whether it is the client who has to do something; nobody else loses anything when it is cut."""
        if self.phase is Phase.WORK:
            return self._is_incomplete is not None and self._is_incomplete()
        return self._stalled is None

    # ------------------------------------------------------------ what the event loop says of it

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """As asyncio's."""
        transport = cast("asyncio.Transport", transport)  # uvloop's is one by what it does, not by its class
        if self.over:  # cut before it began
            transport.abort()
            return
        self._transport = transport
        self.inner.connection_made(transport)
        self._enter(Phase.HEAD)

    def data_received(self, data: bytes) -> None:
        """As asyncio's; in a pause between two requests it is the beginning of the next head."""
        if self.phase is Phase.IDLE and self._stalled is None:
            self._enter(Phase.HEAD)
        self.inner.data_received(data)

    def eof_received(self) -> bool | None:
        """As asyncio's."""
        return self.inner.eof_received()

    def pause_writing(self) -> None:
        """As asyncio's: more waits to be read than is good."""
        self.inner.pause_writing()
        self._watch(float("inf"))

    def resume_writing(self) -> None:
        """As asyncio's."""
        self._stop_watching()
        self.inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """As asyncio's."""
        self._end()
        if self._transport is not None:
            self.inner.connection_lost(exc)

    # ------------------------------------------------------------ inside

    def _enter(self, phase: Phase) -> None:
        if self.over:
            return
        before, self.phase = self.phase, phase
        self._be_patient()
        self._moved(self, before)

    def _be_patient(self) -> None:
        """Begin to count the time of this phase. A timer that rings too early for it just looks: most are never set."""
        loop = asyncio.get_running_loop()
        patience_s = None if self.over else self._patience_s.get(self.phase)
        self._due_at_s = None if patience_s is None else loop.time() + patience_s
        self._is_last_look = False
        if self._due_at_s is not None and (self._timer is None or self._timer.when() > self._due_at_s):
            self._stop_timer()
            self._timer = loop.call_at(self._due_at_s, self._look)

    def _look(self) -> None:
        """Cut it where its time is over; first what has come meanwhile is looked at."""
        loop = asyncio.get_running_loop()
        self._timer = None
        if self._due_at_s is None:
            return
        if self._stalled is not None:  # a long answer is still being read; whether it is, is watched
            self._be_patient()
        elif loop.time() < self._due_at_s:
            self._timer = loop.call_at(self._due_at_s, self._look)
        elif self._is_last_look:
            self.abort()
        else:
            self._is_last_look = True
            self._timer = loop.call_later(GRACE_S, self._look)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _watch(self, before_bytes: float) -> None:
        waiting_bytes = self._transport.get_write_buffer_size() if self._transport is not None else 0
        if waiting_bytes > before_bytes - LEAST_READ_BYTES:
            self.abort()
            return
        self._stalled = asyncio.get_running_loop().call_later(self._stall_s, self._watch, waiting_bytes)

    def _stop_watching(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _end(self) -> None:
        if self.over:
            return
        self.over = True
        self._due_at_s = None
        self._stop_timer()
        self._stop_watching()
        self.end_stream()
        self._moved(self, self.phase)
