"""A closed loop of busy people, on each platform: the gateway beside a bare bot on that platform's own library.

Both are measured in turn in one run, because two runs on a shared machine say nothing about each other: quote the
ratios.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from channels.simulators.shared.simulator import AnySimulator
from tests.bench.figures import Figures, side_by_side
from tests.bench.subject import Subject, bare_bot, gateway
from tests.bench.world import LONG_ANSWER, PLATFORMS, SHORT_ANSWER, ModelServer, People, until

Start = Callable[[Path, Mapping[str, str]], Subject]

WARM_UP = 3
"""Messages of each person before the clock starts."""

LONG_HISTORY = 30
"""Messages of a person whose conversation is to be long."""


@dataclass(frozen=True, slots=True)
class Loads:
    """Size of the loads."""

    platforms: Sequence[str] = tuple(PLATFORMS)
    chats: int = 50
    messages_each: int = 25
    alone: int = 40  # messages where one person talks alone


@dataclass(frozen=True, slots=True)
class Case:
    """One load."""

    name: str
    answer: str = SHORT_ANSWER
    alone: bool = False  # one person
    echo: bool = False  # the bare bot says back what it heard, and asks no model
    only: str = ""  # one platform
    warm_up: int = WARM_UP
    chunks: int = 0  # in which the model streams its answer; the bare bot, too, sends the whole talk and reads a stream


CASES = (
    Case("short answer; the bare bot asks the same model"),
    Case("long Markdown answer; the bare bot asks the same model", LONG_ANSWER),
    Case("short answer; the bare bot only echoes", echo=True, only="telegram"),
    Case("long history, streamed in ten chunks; so does the bare bot", warm_up=LONG_HISTORY, chunks=10),
    Case("short answer; p50 less the bare bot's is what the gateway adds", alone=True),
)


async def run(loads: Loads) -> dict[str, object]:
    """Measure every case on every platform and print each as soon as it is known."""
    results: dict[str, object] = {}
    for name in loads.platforms:
        for case in CASES:
            if case.only in ("", name):
                results |= await _beside(PLATFORMS[name], case, loads)
    return results


async def _beside(make: Callable[[], AnySimulator], case: Case, loads: Loads) -> dict[str, object]:
    ours_on, bare_on = make(), make()
    chats = "one chat" if case.alone else f"{loads.chats} chats"
    name = f"{ours_on.title}, {chats}, {case.name}"
    ours = await measure(gateway, ours_on, case, loads)
    bare = await measure(partial(bare_bot, bare_on.name), bare_on, case, loads, model=not case.echo)
    print(f"\n{name}", *side_by_side(ours, bare), sep="\n")
    return {name: {"gateway": ours.rounded(), "bare": bare.rounded()}}


async def measure(start: Start, platform: AnySimulator, case: Case, loads: Loads, *, model: bool = True) -> Figures:
    """Run the closed loop against a fresh, warm bot; without `model` the bot asks no model."""
    chats = 1 if case.alone else loads.chats
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        async with platform, ModelServer() as server:
            server.answer, server.chunks = case.answer, case.chunks
            environment = dict(platform.environment())
            if model:
                environment |= {"OPENAI_BASE_URL": server.base_url, "TENK_MODEL": "openai:bench"}
            if case.chunks:
                environment["BENCH_STREAMED"] = "1"
            async with start(Path(directory), environment) as subject:
                await until(lambda: subject.pid > 0 and platform.is_connected(), 60)  # a dead process says why
                people = People(platform, case.answer[-12:] if model else ")")
                await people.closed_loop(chats, case.warm_up)
                subject.begin()
                load = await people.closed_loop(chats, loads.alone if case.alone else loads.messages_each)
                return Figures.of(load, await subject.spent_s(), subject.rss_mb())
