"""A message's walk through the house is short: traced in the running gateway, counted, and printed when it grows.

The gateway answers one text message on the simulated Telegram. What is entered meanwhile is recorded with who called
it: a call, a task that was started, a job or a hook that was given to the store. The walk is every function between
`BEGIN` and `END` that leads to one of the `STATIONS`, however thin: a layer that only forwards is counted. What no
station lies behind is a leaf: it returns before the message goes on.

Not on the walk: how updates are asked for and what is shown of an answer while it grows (`BESIDE`), the inside of the
store (`TRANSPARENT`: a job goes in by `Store.write`, and runs as if called from there), the model behind its port, and
the supervisor that starts each task.
"""

import asyncio
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType

from tests.house.tree import PACKAGES, ROOT
from tests.journeys.house import house

MOST_FUNCTIONS = 42
MOST_MODULES = 28

BEGIN = "channels.telegram.adapter.TelegramChannel.run"
END = "channels.telegram.adapter.TelegramChannel.send"

STATIONS = (
    "channels.telegram.translate.translate",  # an update becomes an event
    "gateway.store.inbox.admit",  # the event becomes a row
    "gateway.inbound.bus.Bus.publish",
    "gateway.inbound.bus.Bus.consume",
    "agent.loop.run_turn",
    "agent.models.chain.Chain.respond",  # the port of the model, where the answer comes from
    "gateway.sessions.journaled_turn.JournaledTurn.finish",
    "gateway.delivery.message_parts.to_parts",  # the answer becomes parts
    "gateway.delivery.delivery.Delivery.publish",
    END,
)

ARRIVAL = "channels.telegram.polling.UpdatePoller._hand_in"
"""Where an update that was polled is taken up: what was done before was done for it by nobody."""

ROOTS = {BEGIN, "gateway.sessions.router.Router.run"}
"""What wiring keeps running; who starts it is not on the walk."""

BESIDE = {
    "channels.telegram.polling.UpdatePoller._poll",
    "gateway.delivery.live_answer.LiveAnswer._show",
}

TRANSPARENT = (
    *(f"gateway.store.{machinery}" for machinery in ("writer", "sqlite", "engine", "tenancy")), "gateway.supervision",
)  # fmt: skip
INTO_THE_STORE = "gateway.store.engine.Store.write"


class Trace:
    """Who was entered, in order, and from where."""

    def __init__(self) -> None:
        self.armed = self._recording = False  # armed: it records from the next arrival to the next send
        self.entered: dict[str, None] = {}
        self.callers: dict[str, set[str]] = defaultdict(set)

    def note(self, frame: FrameType, event: str, _argument: object) -> None:
        """As `sys.setprofile` calls it."""
        if not self.armed or event != "call":
            return
        name = name_of(frame.f_code)
        if name == ARRIVAL and not self._recording:
            self._recording = True
            way = [*reversed(list(names_above(frame))), ARRIVAL]
            for caller, called in pairwise(way[way.index(BEGIN) :]):
                self.entered |= {caller: None, called: None}
                self.callers[called].add(caller)
        if self._recording:
            self._record(frame, name)
        self.armed = name != END

    def _record(self, frame: FrameType, name: str | None) -> None:
        started = name_of(code_of(frame.f_locals.get("coro"))) if frame.f_code.co_name == "create_task" else None
        if (name is None and started is None) or BESIDE & set(above := list(names_above(frame))):
            return
        caller = next((each for each in above if not each.startswith(TRANSPARENT)), None)
        if started is not None and caller is not None:
            self.callers[started].add(caller)
        if name is None or (name.startswith(TRANSPARENT) and name != INTO_THE_STORE):
            return
        self.entered.setdefault(name)
        if name == INTO_THE_STORE:
            for key in ("job", "then"):
                if (given := name_of(code_of(frame.f_locals.get(key)))) is not None:
                    self.callers[given].add(name)
        if caller is not None:
            self.callers[name].add(caller)

    def walk(self) -> list[str]:
        """Every function that leads to a station, in the order in which they were entered."""
        leading: set[str] = set()
        behind = list(STATIONS)
        while behind:
            name = behind.pop()
            if name not in leading:
                leading.add(name)
                behind += () if name in ROOTS else self.callers[name]
        return [name for name in self.entered if name in leading]


@cache
def name_of(code: CodeType | None) -> str | None:
    """The dotted name of a function of the product; None for what is none, and for comprehensions and the like."""
    path = Path(code.co_filename) if code is not None else ROOT
    if code is None or ROOT not in path.parents or code.co_name.startswith("<"):
        return None
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] not in PACKAGES or "simulators" in parts:
        return None
    return ".".join((*parts, code.co_qualname.replace(".<locals>", "")))


def code_of(called: object) -> CodeType | None:
    """The code of a coroutine, a function, a method, or of what a partial calls."""
    while isinstance(called, partial):
        called = called.func
    found = getattr(called, "cr_code", None) or getattr(getattr(called, "__func__", called), "__code__", None)
    return found if isinstance(found, CodeType) else None


def names_above(frame: FrameType) -> Iterator[str]:
    """The functions of the product that a frame was called from, the nearest first."""
    above = frame.f_back
    while above is not None:
        if (name := name_of(above.f_code)) is not None:
            yield name
        above = above.f_back


@contextmanager
def profiled(note: Callable[[FrameType, str, object], None]) -> Iterator[None]:
    """In this thread, and in those that are started within."""
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]  # this is how it is taken away again


async def _answered_once(directory: Path, trace: Trace) -> None:
    """One message and its answer, of somebody whom the gateway knows."""
    async with house(directory) as here:
        here.sim.say(1, "hello")
        await here.told(1, "A short answer.")
        await here.settled()
        trace.armed = True
        here.sim.say(1, "how are you?")
        await here.until(lambda: len(here.texts(1)) == 2, "the second answer")


def test_the_walk_is_short(tmp_path: Path) -> None:
    """A message passes at most so many modules and functions from its channel back to its channel."""
    trace = Trace()
    with profiled(trace.note):
        asyncio.run(_answered_once(tmp_path, trace))
    walk = trace.walk()
    modules = {name_of_module(name) for name in walk}
    table = "\n".join(f"{number:3} {name}" for number, name in enumerate(walk, 1))
    assert (BEGIN, END) == (walk[0], walk[-1]), table
    assert MOST_FUNCTIONS >= len(walk), f"{len(walk)} functions in {len(modules)} modules:\n{table}"
    assert MOST_MODULES >= len(modules), f"{len(modules)} modules: {sorted(modules)}"


def name_of_module(function: str) -> str:
    """The module of a function's dotted name."""
    parts = function.split(".")
    while not (ROOT / "/".join(parts)).with_suffix(".py").exists():
        parts.pop()
    return ".".join(parts)
