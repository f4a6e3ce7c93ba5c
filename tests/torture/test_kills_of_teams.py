"""Kills of a gateway in which a coordinator and ten workers do the tasks of a board."""

import asyncio
import json
import os
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gateway.testing.model import Answer, Call, FakeModel, Reply
from tests.torture.gateway_process import API_KEY, GatewayProcess
from tests.torture.platforms import TelegramPlatform

CONFIG = """
[agent.accounts]
"telegram:main" = "coordinator"
[delegation]
max_tasks = 10
max_tasks_overall = 10
max_steps = 200
[teams]
"""
COORDINATOR = """---
description: Has workers do what you ask
tools: agent, send_message, task_stop
---
You are the coordinator.
"""
WORKERS, BATCH, CHAT = 10, 20, 1
STEPS_A_LIFE = 2 * WORKERS
"""Events between two kills: a turn that is killed three times without a step is given up."""
KILLS = int(os.environ.get("TORTURE_KILLS", "40"))
ANSWER = "The book is bound."


def calls(name: str, *given: object) -> tuple[Call, ...]:
    return tuple(Call(name, json.dumps(each)) for each in given)


def give(name: str) -> dict[str, object]:
    return {"description": name, "prompt": f"You are {name}."}


class TeamModel:
    """The model of all agents: what each does follows from its request alone, so that it may be repeated."""

    def __init__(self, tasks: int, chance: random.Random) -> None:
        self._tasks, self._chance = tasks, chance

    def __call__(self, body: dict[str, Any]) -> Answer:
        messages = body["messages"]
        found = [json.loads(message["content"])["data"] for message in messages if message["role"] == "tool"]
        if "You are the coordinator." in json.dumps(messages[0]):
            given = [calls("agent", give("the planner")), calls("agent", *(give(f"w{at}") for at in range(WORKERS)))]
            return Reply(calls=given[min(len(found), 1)]) if len(found) < 2 else Reply(ANSWER)
        if "the planner" in json.dumps(messages[1]):
            return self._plan(len(found))
        return self._work([each or {} for each in found])

    def _work(self, found: list[dict[str, Any]]) -> Answer:
        """Finish the claimed task, tell the others, claim the next; a message that comes in may have skipped a call."""
        last = found[-1] if found else {}
        held = [each["claimed"]["id"] for each in found if each.get("claimed")]
        finished = {task["id"] for each in found for task in each.get("tasks", ())}
        if held and held[-1] not in finished:
            done = {"id": held[-1], "state": "completed", "result": "written"}
            return Reply(calls=calls("board_update", done), delay_s=self._chance.uniform(0.05, 0.5))
        if "tasks" in last:
            return Reply(calls=calls("send_message", {"to": "*", "text": f"done {held[-1]}."}))
        return (
            Reply("Nothing is left for me.")
            if last.get("claimed", "") is None
            else Reply(calls=calls("board_claim", {}))
        )

    def _plan(self, added: int) -> Answer:
        first = added * BATCH
        if first >= self._tasks:
            return Reply("Planned.")
        new = [{"title": f"{at}"} for at in range(first, min(first + BATCH, self._tasks))]
        new[-1]["blocked_by"] = [each["title"] for each in new[:-1]]  # type: ignore[assignment]  # JSON
        return Reply(calls=calls("board_add", {"tasks": new}))


READ = """
SELECT i.session_key, i.payload,
  (SELECT count(*) FROM events e JOIN turns t ON t.id = e.turn_id JOIN sessions s ON s.id = t.session_id
   WHERE s.key = i.session_key AND e.kind = 'steered' AND instr(e.payload, json_extract(i.payload, '$.data')) > 0)
FROM inbox i WHERE i.event_id LIKE 'message:%' AND i.turn_id IS NOT NULL
"""
"""Each message that a turn has taken, with the number of times that it stands in the journal of its receiver."""


def rows(home: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(home / "tenk.db", timeout=10)) as connection:
        return connection.execute(query).fetchall()


def has_answer(platform: TelegramPlatform) -> bool:
    return any(ANSWER in shown.text for shown in platform.answers(CHAT))


def count_events(home: Path) -> int:
    known = (home / "tenk.db").exists() and rows(home, "SELECT 1 FROM sqlite_master WHERE name = 'events'")
    return int(rows(home, "SELECT count(*) FROM events")[0][0]) if known else 0


@pytest.mark.parametrize(
    ("tasks", "kills"),
    [
        pytest.param(40, 5, marks=[pytest.mark.gate, pytest.mark.timeout(200)]),
        pytest.param(100, KILLS, marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
    ],
)
async def test_each_task_is_claimed_and_done_once_and_the_person_gets_one_answer(
    tmp_path: Path, tasks: int, kills: int
) -> None:
    chance = random.Random(kills)
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "coordinator.md").write_text(COORDINATOR)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    platform = TelegramPlatform()
    platform.rooms = False
    async with FakeModel(TeamModel(tasks, chance)) as model:
        env = {
            "OPENAI_API_KEY": API_KEY,
            "OPENAI_BASE_URL": model.base_url,
            "TENK_MODEL": "openai:torture",
            "TORTURE_LEDGER": "http://127.0.0.1:1",
        }
        gateway = GatewayProcess(home, platform.config + CONFIG, {**await platform.start(), **env})
        try:
            await gateway.start()
            platform.say(CHAT, "Write me a book.")
            async with asyncio.timeout(120 + 10 * kills):
                for _ in range(kills):
                    steps = count_events(home) + STEPS_A_LIFE
                    while not has_answer(platform) and count_events(home) < steps:
                        await asyncio.sleep(0.05)
                    await asyncio.sleep(chance.uniform(0.0, 0.3))
                    if has_answer(platform):
                        break
                    await gateway.kill()
                    await gateway.start()
                while not has_answer(platform):
                    assert gateway.running, gateway.tail()
                    await asyncio.sleep(0.05)
            said = [shown.text for shown in platform.answers(CHAT)]
            assert [ANSWER] == [text for text in said if text != "…"], "a kill may leave a placeholder"
            assert [("completed", 1)] * tasks == rows(home, "SELECT state, claims FROM tasks")
            taken = rows(home, READ)
            assert taken and {1} == {times for *_, times in taken}, taken
            assert (WORKERS + 1, 0) == rows(home, "SELECT count(*), sum(state != 'done') FROM children")[0]
        finally:
            await gateway.kill()
            await platform.aclose()
