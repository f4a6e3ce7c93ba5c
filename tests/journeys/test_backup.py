"""A backup of a working gateway."""

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.fakes.fork_server import ForkServer
from tests.journeys.house import house


async def tenk(home: Path, *arguments: str) -> tuple[int, str]:
    environ = {"PATH": os.environ["PATH"], "TENK_HOME": str(home)}
    done = await asyncio.to_thread(ForkServer.of().run, ["-m", "gateway", *arguments], environ, home.parent, 30)
    return done.returncode, done.stdout + done.stderr


async def test_backup_while_people_write_holds_every_message_taken_before(tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    async with house(tmp_path, model=None) as here:
        for number in range(20):
            here.sim.say(1 + number % 5, f"/stats {number}")
        await here.settled()
        backing = asyncio.ensure_future(tenk(here.home, "db", "backup", str(copy)))  # noqa: TID251  awaited below
        here.sim.say(1, "/stats meanwhile")
        status, said = await backing
    assert (0, True, True) == (status, str(copy) in said, "pairing.key" in said), said
    with closing(sqlite3.connect(copy)) as connection:
        (rows,) = connection.execute("SELECT count(*) FROM inbox").fetchone()
    assert rows >= 20
