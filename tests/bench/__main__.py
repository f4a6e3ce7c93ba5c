"""`make bench`: the gateway's figures beside a bare bot's, on the same simulated platform and model server.

The rows are printed with their goals; no figure fails the run.
"""

import argparse
import asyncio
import json
import logging
import platform
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import structlog

from tests.bench import (
    acks,
    boot,
    cluster,
    entered,
    growth,
    ingest,
    loads,
    memory,
    plan,
    profile,
    recall,
    search,
    stores,
    streams,
    tools,
)
from tests.bench.loads import Loads
from tests.bench.world import PLATFORMS


@dataclass(frozen=True, slots=True)
class Asked:
    """Settings of a run of benchmarks."""

    loads: Loads
    per_s: int
    seconds: float
    settled: int
    memory: memory.Asked


ROWS: dict[str, Callable[[Asked], Awaitable[dict[str, object]]]] = {
    "loads": lambda asked: loads.run(asked.loads),
    "entered": lambda _asked: entered.run(),
    "profile": lambda asked: profile.run(asked.loads),
    "ingest": lambda _asked: ingest.run(),
    "acks": lambda asked: acks.together(asked.per_s, asked.seconds),
    "acks-each": lambda asked: acks.each(asked.per_s, asked.seconds),
    "stores": lambda asked: stores.run(asked.loads),
    "plan": lambda _asked: plan.run(),
    "search": lambda _asked: search.run(),
    "tools": lambda _asked: tools.run(),
    "recall": lambda _asked: recall.run(),
    "streams": lambda _asked: streams.run(),
    "growth": lambda asked: growth.run(asked.settled),
    "memory": lambda asked: memory.waves(asked.memory),
    "memory-hours": lambda asked: memory.hours(asked.memory),
    "boot": lambda _asked: boot.run(),
    "cluster": lambda _asked: cluster.run(),
}
ASKED_FOR = ("acks-each", "cluster", "profile", "growth", "memory", "memory-hours")
USUAL = tuple(row for row in ROWS if row not in ASKED_FOR)


async def _run(rows: Sequence[str], asked: Asked) -> dict[str, object]:
    print(f"tenk-gateway bench, {datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {platform.machine()}")
    return {row: await ROWS[row](asked) for row in rows}


def _parser() -> argparse.ArgumentParser:
    usual = Loads()
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "rows", nargs="*", default=USUAL, help=f"of {', '.join(ROWS)}; without any, all but {', '.join(ASKED_FOR)}"
    )
    parser.add_argument(
        "--messages", type=int, default=usual.messages_each, help="messages each chat writes (loads, profile)"
    )
    parser.add_argument("--chats", type=int, default=usual.chats, help="chats at once (loads, profile)")
    parser.add_argument(
        "--platform", action="append", choices=list(PLATFORMS), help="only this one (loads, profile); may be repeated"
    )
    parser.add_argument("--per-second", type=int, default=500, help="events a second (acks)")
    parser.add_argument("--seconds", type=float, default=20.0, help="for how long (acks)")
    parser.add_argument("--settled", type=int, default=1_000_000, help="settled rows at most (growth)")
    parser.add_argument("--waves", type=int, default=3, help="waves of new people (memory)")
    parser.add_argument("--wave-chats", type=int, default=2_500, help="chats of a wave (memory)")
    parser.add_argument("--minutes", type=float, default=60.0, help="for how long (memory-hours)")
    parser.add_argument("--rate", type=float, default=5.0, help="messages a second (memory-hours)")
    parser.add_argument("--people", type=int, default=50, help="who write them in turns (memory-hours)")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Measure what is asked for, print it, and keep it as JSON where told to."""
    parser = _parser()
    given = parser.parse_args(arguments)
    unknown = [row for row in given.rows if row not in ROWS]
    if unknown:
        parser.error(f"no row is called {unknown[0]!r}; there are: {', '.join(ROWS)}")
    if min(given.messages, given.chats, given.per_second, given.seconds) <= 0:
        parser.error("messages, chats, events a second and seconds must be above 0")
    structlog.configure(  # of the parts that run in this process: a gateway logs from this level, too
        logger_factory=structlog.ReturnLoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )
    wanted = Loads(given.platform or tuple(PLATFORMS), chats=given.chats, messages_each=given.messages)
    kept = memory.Asked(given.waves, given.wave_chats, given.rate, given.minutes, given.people)
    results = asyncio.run(_run(given.rows, Asked(wanted, given.per_second, given.seconds, given.settled, kept)))
    if given.json is not None:
        given.json.write_text(json.dumps(results, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
