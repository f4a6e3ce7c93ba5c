"""What one person's 429 costs the others: their p99 beside the quiet run's, in one gateway, by turns.

Everybody asks the same model at the same pace. In every second round one more person's requests are refused, now with
a wait that the turn sleeps through, now with one that it does not; each of theirs is asked again as the gateway does.
"""

import asyncio
import tempfile
from contextlib import suppress
from itertools import cycle
from pathlib import Path

from channels.simulators.shared.person_side import PersonSide
from tests.bench.figures import percentile
from tests.bench.subject import gateway
from tests.bench.world import SHORT_ANSWER, ModelServer, People, unbraked_telegram, until

CHATS = 20
MESSAGES_EACH = 15
ROUNDS = 6
"""Of each kind; the figures are of all of them together."""

BUSY_PERSON = 77
BUSY_WORD = "overbooked"
WAITS_S = (2, 3600)
PACE_S = 0.25
"""Between two messages of the person who is refused."""


async def run() -> dict[str, object]:
    """Rounds by turns, quiet and beside somebody who is refused."""
    platform = unbraked_telegram()
    quiet_ms: list[float] = []
    beside_ms: list[float] = []
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        async with platform, ModelServer() as server:
            server.refuse(BUSY_WORD, WAITS_S)
            environment = {**platform.environment(), "OPENAI_BASE_URL": server.base_url, "TENK_MODEL": "openai:bench"}
            async with gateway(Path(directory), environment) as subject:
                await until(lambda: subject.pid > 0 and platform.is_connected(), 60)
                people = People(platform, SHORT_ANSWER[-12:])
                await people.closed_loop(CHATS, 3)
                for _ in range(ROUNDS):
                    quiet_ms += (await people.closed_loop(CHATS, MESSAGES_EACH)).latencies_ms
                    async with asyncio.TaskGroup() as tasks:
                        busy = tasks.create_task(_be_refused(platform))
                        beside_ms += (await people.closed_loop(CHATS, MESSAGES_EACH)).latencies_ms
                        busy.cancel()
            refused = server.refused
    return _show(quiet_ms, beside_ms, refused)


async def _be_refused(platform: PersonSide) -> None:
    """Write on and on."""
    chat = platform.direct(BUSY_PERSON)
    with suppress(asyncio.CancelledError):
        for number in cycle(range(10**9)):
            platform.say(chat, f"{BUSY_WORD} ({number})")
            await asyncio.sleep(PACE_S)


def _show(quiet_ms: list[float], beside_ms: list[float], refused: int) -> dict[str, object]:
    print(f"\none person in 429 ({refused} refusals), {CHATS} others talk; {ROUNDS} rounds each, by turns")
    print(f"  {'':12}{'p50 ms':>9}{'p99 ms':>9}")
    results: dict[str, object] = {"refused": refused}
    for name, values in (("quiet", quiet_ms), ("beside", beside_ms)):
        p50_ms, p99_ms = percentile(values, 50), percentile(values, 99)
        print(f"  {name:12}{p50_ms:9.1f}{p99_ms:9.1f}")
        results[name] = {"p50_ms": round(p50_ms, 2), "p99_ms": round(p99_ms, 2)}
    ratio = percentile(beside_ms, 99) / percentile(quiet_ms, 99)
    print(f"  p99 beside against quiet: {ratio:.2f}; goal: within 10 % of the quiet run")
    return results | {"p99_ratio": round(ratio, 3)}
