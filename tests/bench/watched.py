"""The gateway with a sampler inside: its CPU by room, and its SQLite statements.

`python -m tests.bench.watched OUT run --config ...`. Sampling begins at the first SIGUSR1 and is written to OUT at the
second. A sample is taken every 2 ms of CPU and counts as much as its thread used since the last.
"""

import json
import re
import signal
import sqlite3
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType

import sqlalchemy as sa

from gateway.__main__ import main

EVERY_S = 0.002
ROOT = Path(__file__).resolve().parents[2]
STANDARD = Path(re.__file__).parents[1].name  # the folder of the standard library
OWN = ("gateway", "channels", "agent")
WAITS = frozenset(("_worker", "wait", "get"))
"""Functions in which a thread of a pool waits: what it has used was for what it did before."""
_TABLE = re.compile(r"\b(?:INTO|FROM|UPDATE)\s+(\w+)")


class Watch:
    """The samples between two signals."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._places: dict[object, tuple[str, str]] = {}  # by code: its room, empty where it is not ours, and package
        self._spent_s: Counter[tuple[str, str]] = Counter()  # by room, and the package that was at work for it
        self._statements: Counter[str] = Counter()  # of the writer
        self._before_s: dict[int, float] = {}  # CPU of each thread at the last sample
        self._on = False

    def turn(self, signum: int, frame: FrameType | None) -> None:
        """Begin; or end and write down what was seen."""
        self._on = not self._on
        signal.setitimer(signal.ITIMER_PROF, EVERY_S if self._on else 0, EVERY_S)
        if self._on:
            self.sample(signum, frame)  # from here on
            self._spent_s.clear()
            return
        seen = {"cpu_s": [[*key, spent_s] for key, spent_s in self._spent_s.items()], "statements": self._statements}
        part = self._out.with_suffix(".part")
        part.write_text(json.dumps(seen))
        part.rename(self._out)

    def sample(self, _signum: int, frame: FrameType | None) -> None:
        """Look where every thread is."""
        here = threading.get_ident()
        for thread, found in sys._current_frames().items():  # noqa: SLF001  there is no other way
            try:
                now_s = time.clock_gettime(time.pthread_getcpuclockid(thread))
            except OSError:
                continue  # it has just ended
            spent_s = now_s - self._before_s.setdefault(thread, now_s)
            if thread != here and found.f_code.co_name in WAITS:
                continue  # it is counted where the thread is found at work
            self._before_s[thread] = now_s
            self._spent_s[self._place(frame if thread == here else found)] += spent_s

    def _place(self, frame: FrameType | None) -> tuple[str, str]:
        package = ""
        while frame is not None:
            room, of = self._places.get(frame.f_code) or self._locate(frame)
            package = package or of
            if room:
                return room, package
            frame = frame.f_back
        return "", package

    def _locate(self, frame: FrameType) -> tuple[str, str]:
        file = Path(frame.f_code.co_filename)
        found = ("", file.stem if file.parts[-2:-1] == (STANDARD,) else (file.parts[-2:-1] or ("dataclasses",))[0])
        if "site-packages" in file.parts:
            found = ("", file.parts[file.parts.index("site-packages") + 1])
        elif file.is_relative_to(ROOT) and file.relative_to(ROOT).parts[0] in OWN:
            found = ("/".join(file.relative_to(ROOT).parts[:2]), "")
        self._places[frame.f_code] = found
        return found

    def note(self, statement: str) -> None:
        if self._on and threading.current_thread().name.startswith("store-writer"):
            table = _TABLE.search(statement)
            verb = statement.split(maxsplit=1)[0]
            self._statements[f"{verb} {table[1]}" if table else verb] += 1


def watch(out: Path) -> None:
    """Watch this process from the first signal on."""
    seen = Watch(out)
    signal.signal(signal.SIGUSR1, seen.turn)
    signal.signal(signal.SIGPROF, seen.sample)

    def trace(connection: sqlite3.Connection, _record: object) -> None:
        connection.set_trace_callback(seen.note)

    sa.event.listen(sa.pool.Pool, "connect", trace)


if __name__ == "__main__":
    watch(Path(sys.argv.pop(1)))
    main()
