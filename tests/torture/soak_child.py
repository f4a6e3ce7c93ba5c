"""The gateway under a long load, as a process: `python soak_child.py CONFIG`. It writes the number of its tasks into
its home.
"""

import asyncio
import collections
import gc
import json
import os
import sys
from pathlib import Path

from gateway import telemetry
from gateway.app import serve
from gateway.config.settings import Settings, load
from gateway.safety.redaction import Redactor

EVERY_S = 10.0


async def _count(home: Path) -> None:
    """Write how many tasks there are; with SOAK_TYPES in the environment, also which objects there are most of."""
    while True:
        await asyncio.sleep(EVERY_S)
        counted: dict[str, object] = {"tasks": len(asyncio.all_tasks())}
        if os.environ.get("SOAK_TYPES"):
            types = collections.Counter(type(thing).__qualname__ for thing in gc.get_objects())
            counted["types"] = types.most_common(60)
        (home / "counted.tmp").write_text(json.dumps(counted))
        (home / "counted.tmp").replace(home / "counted.json")


async def _run(settings: Settings) -> None:
    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(_count(settings.home))
        await serve(settings)
        counting.cancel()


if __name__ == "__main__":
    loaded = load(Path(sys.argv[1]), os.environ)
    telemetry.configure(Redactor(loaded.secret_values()), level="warning", as_json=False)
    asyncio.run(_run(loaded))
