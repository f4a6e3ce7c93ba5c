"""A page that is closed in the middle of an answer while the gateway dies: the answer waits for its person."""

import asyncio
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.fakes.fork_server import Forked, ForkServer
from tests.fakes.ports import free_port
from tests.fakes.views import FakePage

pytestmark = pytest.mark.timeout(90)

CONFIG = '[access]\ndirect = "open"\n[model]\nwords_per_s = 30.0\n[delivery]\nplaceholder_after_s = 0.2\n'


def started(home: Path, port: int) -> Forked:
    ours = {"TENK_HOME": str(home / "var"), "TENK_HTTP": f"127.0.0.1:{port}"}
    command, log = ["-m", "gateway", "run", "--config", str(home / "mine.toml")], home / "gateway.log"
    return ForkServer.of().start(command, os.environ | ours, home, log, log)


async def test_answer_waits_for_a_person_who_is_away(tmp_path: Path):
    (tmp_path / "mine.toml").write_text(CONFIG)
    port = free_port()
    process = started(tmp_path, port)
    page = FakePage(f"http://127.0.0.1:{port}/")
    async with page.http, asyncio.TaskGroup() as tasks:
        visiting = tasks.create_task(page.run())
        async with asyncio.timeout(30):
            while not page.told("history"):
                await asyncio.sleep(0.02)
        await page.say("/log 45m guitar")
        await page.until(lambda: any("45 min" in frame["html"] for frame in page.shown.values()))
        await page.say("plan my week")
        await page.until(lambda: any(frame["live"] for frame in page.told("message")))
        await page.leave()
        process.send_signal(signal.SIGKILL)
        await process.wait()
        (tmp_path / "mine.toml").write_text(CONFIG.replace("30.0", "300.0"))  # no test watches it grow
        process = started(tmp_path, port)
        async with asyncio.timeout(40):
            while not _is_stored(tmp_path / "var" / "tenk.db"):
                await asyncio.sleep(0.1)
        page.wanted.set()
        await page.until(lambda: any("Goal" in frame["html"] for frame in page.shown.values()))
        assert 1 == sum("Goal" in frame["html"] for frame in page.shown.values())
        visiting.cancel()
    process.send_signal(signal.SIGTERM)
    assert 0 == await process.wait()


def _is_stored(database: Path) -> bool:
    """Return True if the plan is in the outbox."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        query = "SELECT count(*) FROM outbox WHERE plain LIKE '%Goal%' AND state = 'sent'"
        return bool(connection.execute(query).fetchone()[0])
