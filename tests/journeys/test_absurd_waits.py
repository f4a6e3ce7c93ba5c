"""Absurd wait times of a platform for one chat: that chat waits, others are answered, the next start works."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from channels.simulators.shared.faults import Fault
from tests.journeys.house import house

ABSURD = '{"ok": false, "description": "Too Many Requests", "parameters": {"retry_after": 1000000000000}}'


def change(home: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(home / "tenk.db")) as database, database:
        database.execute(statement, values)


async def test_a_wait_of_ages_parks_one_chat_for_an_hour_at_most(tmp_path: Path) -> None:
    """Cover F01."""
    async with house(tmp_path) as here:
        for chat in (1, 5):
            fault = Fault(kind="raw", status=429, body=ABSURD, method="sendMessage", chat=chat, times=None)
            here.sim.faults.script(fault)
            here.sim.say(chat, "one")
        await here.until(lambda: here.sim.faults.hits() > 1, "the refusals")
        here.sim.say(2, "two")
        await here.told(2, "A short answer.")
        (row,) = await here.rows("SELECT not_before FROM outbox WHERE chat = '1' AND action = 'send'")
        latest = datetime.now(UTC) + timedelta(hours=1)
        assert row["not_before"] is None or row["not_before"] <= latest.timestamp() * 1_000_000
    change(tmp_path / "home", "UPDATE outbox SET not_before = ? WHERE chat = '1'", 9 * 10**18)
    change(tmp_path / "home", "UPDATE outbox SET buttons = ? WHERE chat = '5'", "no JSON")
    async with house(tmp_path) as here:
        here.sim.world.bot().updates.renumber(2_000_000)
        here.sim.say(3, "are you there?")
        await here.told(3, "A short answer.")
        status = await here.operator("GET /v1/status")
        assert ["lane telegram:main:5"] == list(status["resting"])
        assert status["parts"]["faults"].startswith("degraded")
