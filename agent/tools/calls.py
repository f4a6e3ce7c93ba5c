"""One call on its way, and what becomes of it; the pipeline decides what it goes through, the executor when."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from agent.permissions.chain import SecurityRisk
from agent.tools.schema import Arguments
from agent.transcript import CallOutcome, EndReason, Nudged, ToolCall, ToolIntended, ToolReturned


@dataclass(slots=True, eq=False)
class PendingCall:
    """One call of one response, on its way."""

    call: ToolCall
    step: int
    key: str  # turn/step/index
    intended: ToolIntended | None = None  # a process that died meant to run it so
    backfilled: str = ""  # its input as a backfill made it, JSON; what its person was asked about before is kept
    safe: bool = False  # it runs beside others that are
    read: tuple[Arguments, SecurityRisk] | None = None  # its input, as it was read to let it start; None: read it
    ran_with: str | None = None  # its input, where hooks have a word on its result
    notes: tuple[Nudged, ...] = ()  # what hooks before it have said, to be journaled with it
    on_over: Callable[[], None] | None = None  # told when it has run, before its result is journaled
    is_over: bool = False
    began_s: float | None = None  # monotonic; None: it has not run
    took_s: float | None = None
    response_stands: asyncio.Event = field(default_factory=asyncio.Event)  # set: its response is journaled
    cut: asyncio.Future[EndReason] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """There once it is broken off."""

    def break_off(self) -> None:
        """Its result is not wanted any more; a tool that may be cut ends now."""
        if not self.cut.done():
            self.cut.set_result(EndReason.STOPPED)

    def become(self, wanted: "PendingCall") -> bool:
        """Be this call of the response as it was journaled; False when it is another."""
        same = (self.key, self.call.name, self.call.arguments) == (wanted.key, wanted.call.name, wanted.call.arguments)
        if same:
            self.call = wanted.call  # it may have got an id of its own since
            self.response_stands.set()
        return same

    def note_start(self) -> None:
        """Record that the call runs."""
        self.began_s = asyncio.get_running_loop().time()

    async def tell_over(self) -> None:
        """Announce the end of the call, so that waiting ones may start. Returns when its result may be journaled."""
        self.is_over = True
        self.took_s = None if self.began_s is None else asyncio.get_running_loop().time() - self.began_s
        if self.on_over is not None:
            self.on_over()
        await self.response_stands.wait()

    def to_returned(self, content: str, outcome: CallOutcome = CallOutcome.DONE) -> ToolReturned:
        """Return the one result of this call."""
        took_s = None if self.took_s is None else round(self.took_s, 3)
        return ToolReturned(self.step, self.key, self.call.id, self.call.name, content, outcome, self.ran_with, took_s)


@dataclass(frozen=True, slots=True)
class CallResult:
    """The outcome of a call, with the figures that recovery counts."""

    returned: ToolReturned  # as the model sees it
    malformed: bool = False  # the model did not write a JSON object
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class CallAdmission:
    """The properties of a call that decide when it may start; an unreadable call counts as unsafe."""

    reads: bool  # it may start before its response is over
    safe: bool  # it may run beside others that are
