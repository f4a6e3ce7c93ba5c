"""What one person's 429 costs the others: their p99 beside the quiet run's, in one gateway, by turns.

Everybody asks the same model at the same pace. In every second round one more person's requests are refused, now with
a wait that the turn sleeps through, now with one that it does not; each of theirs is asked again as the gateway does.
"""

import asyncio
import tempfile
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from statistics import median

from channels.simulators.shared.person_side import PersonSide
from tests.bench.figures import Load, percentile
from tests.bench.subject import gateway
from tests.bench.world import SHORT_ANSWER, ModelServer, People, unbraked_telegram, until

CHATS = 20
MESSAGES_EACH = 15
ROUNDS = 9
"""Of each kind, some 300 answers each; a figure is the median of theirs: one bad moment of the machine is none."""

BUSY_PERSON = 77
BUSY_WORD = "overbooked"
WAITS_S = (2, 3600)
PACE_S = 0.25
"""Between two messages of the person who is refused."""


async def run() -> dict[str, object]:
    """Rounds by turns, quiet and beside somebody who is refused."""
    platform = unbraked_telegram()
    quiet: list[Load] = []
    beside: list[Load] = []
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        async with platform, ModelServer() as server:
            server.refuse(BUSY_WORD, WAITS_S)
            environment = {**platform.environment(), "OPENAI_BASE_URL": server.base_url, "TENK_MODEL": "openai:bench"}
            async with gateway(Path(directory), environment) as subject:
                await until(lambda: subject.pid > 0 and platform.is_connected(), 60)
                people = People(platform, SHORT_ANSWER[-12:])
                await people.closed_loop(CHATS, 3)
                for _ in range(ROUNDS):
                    quiet.append(await people.closed_loop(CHATS, MESSAGES_EACH))
                    async with asyncio.TaskGroup() as tasks:
                        busy = tasks.create_task(_be_refused(platform))
                        beside.append(await people.closed_loop(CHATS, MESSAGES_EACH))
                        busy.cancel()
            refused = server.refused
    return _show(quiet, beside, refused)


async def _be_refused(platform: PersonSide) -> None:
    """Write on and on."""
    chat = platform.direct(BUSY_PERSON)
    with suppress(asyncio.CancelledError):
        for number in cycle(range(10**9)):
            platform.say(chat, f"{BUSY_WORD} ({number})")
            await asyncio.sleep(PACE_S)


def _show(quiet: list[Load], beside: list[Load], refused: int) -> dict[str, object]:
    print(f"\none person in 429 ({refused} refusals), {CHATS} others talk; {ROUNDS} rounds each, by turns")
    print(f"  {'':12}{'p50 ms':>9}{'p99 ms':>9}")
    results: dict[str, object] = {"refused": refused}
    p99_ms: list[float] = []
    for name, loads in (("quiet", quiet), ("beside", beside)):
        p50, p99 = (median(percentile(load.latencies_ms, percent) for load in loads) for percent in (50, 99))
        print(f"  {name:12}{p50:9.1f}{p99:9.1f}")
        results[name] = {"p50_ms": round(p50, 2), "p99_ms": round(p99, 2)}
        p99_ms.append(p99)
    ratio = p99_ms[1] / p99_ms[0]
    print(f"  p99 beside against quiet: {ratio:.2f}; goal: within 10 % of the quiet run")
    return results | {"p99_ratio": round(ratio, 3)}
