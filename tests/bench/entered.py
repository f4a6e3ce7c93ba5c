"""Functions and modules of the product that one message and one command enter: `make bench ARGS=entered`.

Counted in the running gateway with the simulated Telegram and a model server over HTTP, both warm; functions that the
idle gateway enters in a few seconds are left out.
"""

import asyncio
import json
import os
import tempfile
from collections import Counter
from pathlib import Path
from signal import SIGUSR1

from channels.simulators.telegram.server import TelegramSimulator
from tests.bench.subject import Subject, gateway_by
from tests.bench.world import FIRST_PERSON, AnswerReader, ModelServer, unbraked_telegram, until

IDLE_S = 5.0
SETTLED_S = 1.0
ASKED = {"message": "how is my practice going?", "/mode": "/mode collect"}
DIRECTIONS = {"message": (420, 90), "/mode": (200, 55)}

Entered = set[tuple[str, str]]
"""Functions by the path of their module and their qualified name."""


async def run() -> dict[str, object]:
    """Print both counts with the rooms in which the functions stand."""
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        out = Path(directory) / "entered.json"
        telegram = unbraked_telegram()
        async with telegram, ModelServer() as model:
            environment = {**telegram.environment(), "OPENAI_API_KEY": "made-up", "OPENAI_BASE_URL": model.base_url}
            arguments = ["-m", "tests.bench.traced", str(out)]
            async with gateway_by(Subject, arguments, Path(directory) / "home", environment) as gateway:
                await until(telegram.is_connected, 60)
                for text in (*ASKED.values(), *ASKED.values()):
                    await _answered(telegram, text)
                await _entered(gateway, out)
                await asyncio.sleep(IDLE_S)
                idle = await _entered(gateway, out)
                for name, text in ASKED.items():
                    await _answered(telegram, text)
                    entered = await _entered(gateway, out) - idle
                    _print(name, entered)
                    results[name] = {"functions": len(entered), "modules": len({module for module, _ in entered})}
    return results


async def _answered(telegram: TelegramSimulator, text: str) -> None:
    reader = AnswerReader(telegram)
    reader.read()
    telegram.say(telegram.direct(FIRST_PERSON), text)
    await reader.news(60)
    await asyncio.sleep(SETTLED_S)


async def _entered(gateway: Subject, out: Path) -> Entered:
    out.unlink(missing_ok=True)
    os.kill(gateway.pid, SIGUSR1)
    await until(out.exists, 30)
    return {(module, name) for module, name in json.loads(out.read_text())}


def _print(name: str, entered: Entered) -> None:
    functions, modules = DIRECTIONS[name]
    rooms = Counter("/".join(Path(module).parts[:2]) for module, _ in entered)
    print(f"\nentered by one {name}: {len(entered)} functions in {len({module for module, _ in entered})} modules")
    print(f"  direction: {functions} in {modules}")
    print("  " + ", ".join(f"{room} {count}" for room, count in rooms.most_common()))
