"""Ten workers in five processes race for the tasks of a board, while the processes are killed and paused."""

import asyncio
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from agent.delegation.board import NewTask, TaskState
from gateway.store import boards
from gateway.store.boards import MAIN, TASKS, Board
from gateway.store.engine import Connection, Store
from gateway.store.tables.people import audit
from tests.fakes.fork_server import Forked, ForkServer
from tests.torture import team_worker
from tests.torture.team_worker import DONE, LEASE, PERSON, TENANT

PROCESSES, TASK_COUNT, BATCH = 5, 100, 20
KILLS = int(os.environ.get("TORTURE_KILLS", "100"))
BOARD = Board(TENANT, PERSON, "coach", "", MAIN, "")
ROOT = Path(__file__).parents[2]


def add_tasks(connection: Connection) -> None:
    """Add the tasks; from the tenth on each waits for two earlier ones."""
    ids: list[str] = []
    for first in range(0, TASK_COUNT, BATCH):
        numbers = range(first, first + BATCH)
        new = [NewTask(f"{at}", "", waits_of(at, ids)) for at in numbers]
        ids += [task.id for task in boards.add(connection, BOARD, new, f"{first}", team_worker.now()).tasks]


def waits_of(at: int, ids: list[str]) -> tuple[str, ...]:
    return tuple(ids[each] if each < len(ids) else f"{each}" for each in (at - 10, at - 7) if each >= 0)


class Workers:
    """The processes; each that ends is started again until the board is done."""

    def __init__(self, url: str, log: Path) -> None:
        self._url = url
        self._log = log
        self._running: dict[int, Forked] = {}

    def start(self, number: int) -> None:
        command = [str(team_worker.__file__), self._url, str(number)]
        self._running[number] = ForkServer.of().start(command, os.environ, ROOT, self._log, self._log)

    async def disturb(self, chance: random.Random) -> None:
        """Kill a process and start it again, or let it stand still for longer than the lease of its tasks."""
        number = chance.randrange(PROCESSES)
        process = self._running[number]
        if process.poll() is not None:
            return
        if chance.random() < 0.25:
            process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(1.5 * LEASE.total_seconds())
            process.send_signal(signal.SIGCONT)
        else:
            process.kill()
            await process.wait()
            self.start(number)

    @property
    def have_ended(self) -> bool:
        return all(process.poll() is not None for process in self._running.values())

    async def end(self) -> list[int]:
        """Wait for the end of all; return their exit codes."""
        return [await process.wait() for process in self._running.values()]

    def kill(self) -> None:
        for process in self._running.values():
            if process.poll() is None:
                process.kill()


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(8, marks=[pytest.mark.gate, pytest.mark.timeout(120)]),
        pytest.param(KILLS, marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
    ],
)
async def test_each_task_is_done_once(
    url: str, kills: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    store, chance, workers = await Store.open(url), random.Random(kills), Workers(url, tmp_path / "log")
    await store.of(TENANT).commit(add_tasks)
    try:
        for number in range(PROCESSES):
            workers.start(number)
        for _ in range(kills):
            await asyncio.sleep(chance.random())
            if workers.have_ended:
                break
            await workers.disturb(chance)
        assert [0] * PROCESSES == await workers.end(), (tmp_path / "log").read_text()
        done = sa.select(audit.c.subject).where(audit.c.action == DONE)
        effects = await store.read(lambda connection: sorted(connection.execute(done).scalars()))
        tasks = await store.read(TASKS.find)
        record_property("claims", sum(task.claims for task in tasks))
        assert [TaskState.COMPLETED] * TASK_COUNT == [task.state for task in tasks]
        assert sorted(task.id for task in tasks) == effects
    finally:
        workers.kill()
        await store.aclose()
