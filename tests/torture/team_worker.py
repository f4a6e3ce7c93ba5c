"""Two workers of a board as a process that can be killed: `python -P team_worker.py URL NUMBER`.

Each finishes its task in one commit with a row of the audit log, which is the effect that may happen once. A worker
that was killed resumes its turn, as a gateway does, or its turn has ended and a new one begins.
"""

import asyncio
import random
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

import sqlalchemy as sa

from agent.delegation.board import OVER, TaskChange, TaskState
from agent.tools.base import ToolError
from gateway.store import boards
from gateway.store.boards import TASKS, Board, Task
from gateway.store.engine import Store
from gateway.store.people import AuditRow, record
from gateway.store.tables.base import new_id
from gateway.store.tables.turns import sessions, turns

TENANT, PERSON = "default", "019a0000-0000-7000-8000-00000000000a"
ROOT = "agent:coach:telegram:main:direct:42"
LEASE = timedelta(seconds=0.5)
LONGEST_WORK_S = 0.6
DONE = "done"


def now() -> datetime:
    return datetime.now(UTC)


def begin(connection: sa.Connection, label: str) -> Board:
    """Return the board in the open turn of this worker, or, as often, in a new one."""
    session = {"key": f"{ROOT}:subagent:{label}", "generation": 1, "mode": "steer", "created_at": now()}
    found = connection.execute(sa.select(sessions.c.id).where(sessions.c.key == session["key"])).scalar()
    session_id = found or new_id()
    if found is None:
        connection.execute(sessions.insert(), {"id": session_id, "tenant_id": TENANT, **session})
    open_ = sa.and_(turns.c.session_id == session_id, turns.c.end_reason.is_(None))
    turn_id = connection.execute(sa.select(turns.c.id).where(open_)).scalar()
    if turn_id is None or random.random() < 0.5:
        connection.execute(sa.update(turns).where(open_).values(end_reason="stopped"))
        turn_id = new_id()
        turn = {"id": turn_id, "session_id": session_id, "user_id": PERSON, "kind": "chat", "address": ""}
        connection.execute(turns.insert(), {"tenant_id": TENANT, "started_at": now(), **turn})
    board = boards.board_of(connection, PERSON, turn_id)
    assert board is not None, "its turn is there"
    return board


def finish(connection: sa.Connection, board: Board, task: Task) -> None:
    """Complete a task, with its effect."""
    boards.change(connection, board, TaskChange(task.id, TaskState.COMPLETED, board.label), now(), LEASE)
    record(connection, TENANT, AuditRow(now(), board.label, DONE, task.id, ""))


def mine(connection: sa.Connection, board: Board) -> Task | None:
    """Return the task that the turn had claimed before its process was killed."""
    return TASKS.get(connection, board.rows(), turn_id=board.turn_id, state=TaskState.IN_PROGRESS)


def count_open(connection: sa.Connection, board: Board) -> int:
    return TASKS.count(connection, board.rows(), ~TASKS.c.state.in_(OVER))


async def work(store: Store, label: str) -> None:
    """Claim and finish tasks until none is left."""
    board = await store.commit(begin, label)
    while await store.read(partial(count_open, board=board)):
        task = await store.read(partial(mine, board=board))
        task = task or await store.commit(boards.claim, board, None, now(), LEASE)
        await asyncio.sleep(random.random() * LONGEST_WORK_S)
        if task is not None:
            with suppress(ToolError):  # its process stood still for longer than the lease: another worker has it
                await store.commit(finish, board, task)


async def main(url: str, number: str) -> None:
    store = await Store.open(url)
    tenant = store.of(TENANT)
    async with asyncio.TaskGroup() as workers:
        for part in ("a", "b"):
            workers.create_task(work(tenant, f"w{number}{part}"))
    await store.aclose()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
