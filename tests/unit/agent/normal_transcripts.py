"""Random journals of turns that work as they should, which no detector of circles may stop."""

import json
import random
from collections.abc import Iterator

from agent.transcript import (
    CallOutcome,
    JournalEvent,
    ModelResponded,
    Steered,
    StopReason,
    ToolCall,
    ToolReturned,
    TurnStarted,
    UserItem,
)

Wanted = list[tuple[str, dict[str, object], object, bool]]
"""The calls of one response: tool, arguments, data, whether it worked."""


class Dice:
    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._step = 0

    def turn(self) -> Iterator[JournalEvent]:
        yield TurnStarted((UserItem("go"),))
        kinds = (self._pages, self._mends, self._flaky, self._polls, self._edits, self._reads, self._logs, self._looks)
        for _ in range(self._dice.randint(3, 7)):
            for wanted in self._dice.choice(kinds)():
                yield from self._respond(wanted)
            if self._dice.random() < 0.1:
                yield Steered(self._step, (UserItem("and that, too"),))
        if self._dice.random() < 0.1:
            for part in range(self._dice.randint(1, 3)):
                yield ModelResponded(self._step, f"Part {part} of a long answer. ", stop=StopReason.LENGTH)
        yield ModelResponded(self._step, "Done.")

    def _respond(self, wanted: Wanted) -> Iterator[JournalEvent]:
        calls = tuple(ToolCall(f"c{n}", name, json.dumps(arguments)) for n, (name, arguments, *_) in enumerate(wanted))
        yield ModelResponded(self._step, self._dice.choice(["", "Let me look.", "Next."]), calls)
        for call, (name, _, data, worked) in zip(calls, wanted, strict=True):
            content = json.dumps(
                {"success": worked, "data": data if worked else None, "error": None if worked else data}
            )
            outcome = CallOutcome.DONE if worked else CallOutcome.FAILED
            yield ToolReturned(self._step, f"t/{self._step}/{call.id}", call.id, name, content, outcome)
        self._step += 1

    def _number(self) -> int:
        return self._dice.randint(1, 10_000)

    def _pages(self) -> Iterator[Wanted]:
        pages = self._dice.randint(2, 6)
        for page in range(pages):
            yield [("list", {"page": page}, [] if page == pages - 1 else [self._number()], True)]

    def _mends(self) -> Iterator[Wanted]:
        for n, why in enumerate(["no such field", "wrong type"][: self._dice.randint(1, 2)]):
            yield [("save", {"n": n}, why, False)]
        yield [("save", {"n": 9}, self._number(), True)]

    def _flaky(self) -> Iterator[Wanted]:
        for _ in range(self._dice.randint(1, 2)):
            yield [("fetch", {"url": "u"}, "503", False)]
        yield [("fetch", {"url": "u"}, self._number(), True)]

    def _polls(self) -> Iterator[Wanted]:
        job = self._number()
        if self._dice.random() < 0.6:
            for percent in sorted(self._dice.sample(range(100), self._dice.randint(2, 6))):
                yield [("status", {"job": job}, {"percent": percent, "at": "2026-01-01T00:00:00Z"}, True)]
        else:
            times = 4 if self._dice.random() < 0.01 else self._dice.randint(1, 3)
            for second in range(times):
                yield [("status", {"job": job}, {"state": "pending", "at": f"2026-01-01T00:00:0{second}Z"}, True)]
        yield [("status", {"job": job}, {"state": "done"}, True)]

    def _edits(self) -> Iterator[Wanted]:
        failing = self._dice.randint(2, 6)
        while failing > 0:
            yield [("edit", {"line": self._number()}, "ok", True)]
            yield [("test", {}, f"{failing} failed", False)]
            failing -= self._dice.randint(0, 2) or self._dice.randint(0, 1)
        yield [("test", {}, "all passed", True)]

    def _reads(self) -> Iterator[Wanted]:
        for _ in range(self._dice.randint(1, 3)):
            yield [("read", {"name": self._number()}, "text", True) for _ in range(self._dice.randint(2, 5))]

    def _logs(self) -> Iterator[Wanted]:
        total = self._number()
        for n in range(self._dice.randint(1, 5)):
            yield [("log_practice", {"minutes": 30}, {"total": total + 30 * n}, True)]

    def _looks(self) -> Iterator[Wanted]:
        for _ in range(self._dice.randint(1, 4)):
            yield [("write", {"text": self._number()}, "ok", True)]
            yield [("show", {}, self._number(), True)]
