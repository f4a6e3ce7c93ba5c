"""Tool calls while they are processed; the pipeline has the steps, the executor the timing."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from agent.permissions.chain import SecurityRisk
from agent.tools.schema import Arguments
from agent.transcript import CallOutcome, EndReason, Nudged, ToolCall, ToolIntended, ToolReturned


@dataclass(slots=True, eq=False)
class PendingCall:
    """One call of one response while it is processed."""

    call: ToolCall
    step: int
    key: str  # turn/step/index
    intended: ToolIntended | None = None  # journaled by a process that crashed while it ran
    backfilled: str = ""  # its input after a backfill, JSON; unchanged once its person was asked about it
    was_asked: bool = False  # its person was asked about it
    safe: bool = False  # may run in parallel with other safe calls
    read: tuple[Arguments, SecurityRisk] | None = None  # its parsed input; None: not parsed yet
    ran_with: str | None = None  # its input, if hooks listen for its result
    notes: tuple[Nudged, ...] = ()  # texts of hooks, to be journaled with it
    on_end: Callable[[], None] | None = None  # called when it has run, before its result is journaled
    has_ended: bool = False
    began_s: float | None = None  # monotonic; None: it has not run
    took_s: float | None = None
    response_journaled: asyncio.Event = field(default_factory=asyncio.Event)  # set: its response is journaled
    cut: asyncio.Future[EndReason] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Completed when the call is cancelled."""

    def cancel(self) -> None:
        """Cancel the call; a tool that may be cut ends now."""
        if not self.cut.done():
            self.cut.set_result(EndReason.STOPPED)

    def adopt(self, wanted: "PendingCall") -> bool:
        """Adopt the journaled form of this call; return False if it is another call."""
        same = (self.key, self.call.name, self.call.arguments) == (wanted.key, wanted.call.name, wanted.call.arguments)
        if same:
            self.call = wanted.call  # it may have got an id of its own since
            self.response_journaled.set()
        return same

    def note_start(self) -> None:
        """Record the time at which the call starts to run."""
        self.began_s = asyncio.get_running_loop().time()

    async def announce_end(self) -> None:
        """Announce the end of the call, so that waiting ones may start; return when its result may be journaled."""
        self.has_ended = True
        self.took_s = None if self.began_s is None else asyncio.get_running_loop().time() - self.began_s
        if self.on_end is not None:
            self.on_end()
        await self.response_journaled.wait()

    def to_returned(self, content: str, outcome: CallOutcome = CallOutcome.DONE) -> ToolReturned:
        """Return the one result of this call."""
        took_s = None if self.took_s is None else round(self.took_s, 3)
        return ToolReturned(self.step, self.key, self.call.id, self.call.name, content, outcome, self.ran_with, took_s)


@dataclass(frozen=True, slots=True)
class AwaitedCall:
    """A call that has begun and whose result comes later."""

    call_key: str
    tool: str


@dataclass(frozen=True, slots=True)
class CallResult:
    """The outcome of a call, with flags for recovery."""

    returned: ToolReturned  # as the model sees it
    malformed: bool = False  # the arguments were not a JSON object
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class CallAdmission:
    """The properties of a call that decide when it may start; an unreadable call counts as unsafe."""

    reads: bool  # may start before its response ends
    safe: bool  # may run in parallel with other safe calls
