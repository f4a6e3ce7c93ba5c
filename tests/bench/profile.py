"""The gateway's CPU by room, and the store's work for a message: `make bench ARGS=profile`.

Measured from inside (`watched`), which has a cost: read the shares here, and the sums in the row `loads`.
"""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from signal import SIGUSR1
from typing import Any

from tests.bench.loads import CASES, Case, Loads, measure
from tests.bench.subject import Subject, gateway_by
from tests.bench.world import PLATFORMS, until

LEAST_PERCENT = 0.5
"""Rooms that take less are summed up."""

LEAST_SHOWN = 0.05
"""Statements a message; rarer ones are in the sum alone."""

NO_ROOM = "(none)"
"""The event loop, and threads of libraries."""


class WatchedGateway(Subject):
    """A gateway that reports what it did during the load."""

    out = Path()
    seen: dict[str, Any]

    def begin(self) -> None:
        super().begin()
        os.kill(self.pid, SIGUSR1)

    async def spent_s(self) -> float:
        """End the watch and read its report."""
        spent_s = await super().spent_s()
        os.kill(self.pid, SIGUSR1)
        await until(self.out.exists, 30)
        self.seen = json.loads(self.out.read_text())
        return spent_s


async def run(loads: Loads) -> dict[str, object]:
    """Profile short answers, and long histories with streamed answers, on every platform."""
    results: dict[str, object] = {}
    for name in loads.platforms:
        for case in (CASES[0], *(case for case in CASES if case.chunks)):
            results[f"{name}, {case.name}"] = await _profile(name, case, loads)
    return results


async def _profile(name: str, case: Case, loads: Loads) -> object:
    watched: list[WatchedGateway] = []
    figures = await measure(partial(_start, watched), PLATFORMS[name](), case, loads)
    seen, messages = watched[0].seen, loads.chats * loads.messages_each
    print(f"\n{name}, {loads.chats} chats, {case.name.partition(';')[0]}:")
    print(f"  {figures.cpu_ms:.2f} ms of CPU a message while watched; % of it")
    print(*rooms_table(seen["cpu_s"]), *store_lines(seen["statements"], messages), sep="\n")
    return seen


def _start(watched: list[WatchedGateway], home: Path, environment: Mapping[str, str]) -> Subject:
    arguments = ["-m", "tests.bench.watched", str(home / "seen.json")]
    subject = gateway_by(WatchedGateway, arguments, home, environment)
    subject.out = home / "seen.json"
    watched.append(subject)
    return subject


def rooms_table(spent: Sequence[tuple[str, str, float]]) -> Iterator[str]:
    """Return a line a room, the dearest first: all of it, its own code, the packages that worked for it."""
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for room, package, spent_s in spent:
        rooms[room or NO_ROOM][package] += spent_s
    whole_s = sum(spent_s for *_, spent_s in spent) or 1.0
    rest = 0.0
    yield f"  {'room':28}{'all':>6}{'own':>6}  packages at work for it"
    for room, packages in sorted(rooms.items(), key=lambda item: -item[1].total()):
        share = 100 * packages.total() / whole_s
        if share < LEAST_PERCENT:
            rest += share
            continue
        named = [f"{of} {100 * spent_s / whole_s:.1f}" for of, spent_s in packages.most_common(5) if of]
        yield f"  {room:28}{share:6.1f}{100 * packages[''] / whole_s:6.1f}  {', '.join(named[:4])}"
    yield f"  {'all others':28}{rest:6.1f}"


def store_lines(statements: Mapping[str, int], messages: int) -> Iterator[str]:
    """Return what the writer did for a message: commits, statements, rows by table."""
    each = {name: count / messages for name, count in sorted(statements.items(), key=lambda item: -item[1])}
    commits = each.pop("COMMIT", 0.0)
    each.pop("BEGIN", 0.0)
    yield f"  the writer, a message: {commits:.2f} commits, {sum(each.values()):.1f} statements"
    yield "  " + ", ".join(f"{name} {count:.2f}" for name, count in each.items() if count >= LEAST_SHOWN)
