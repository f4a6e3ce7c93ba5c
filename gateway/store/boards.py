"""Rows of a team's board, and the changes that agents make to them.

Plain functions over a connection. A change first locks the unfinished tasks of its board, so that processes on one
PostgreSQL change it one after the other; an SQLite file has one writer.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import sqlalchemy as sa

from agent.delegation.board import OVER, UNMET, NewTask, TaskChange, TaskState, check_move, find_circle
from agent.tools.base import ToolError
from gateway.store.journal import CHILD_MARK
from gateway.store.people import ids_of
from gateway.store.rows import Rows
from gateway.store.tables.boards import tasks
from gateway.store.tables.turns import sessions, turns

MOST_OPEN = 200
"""Open tasks of a board; no more can be added."""

MOST_OVER = 20
"""Newest finished tasks of a board that are shown."""

MAIN = "main"
"""Label of the agent that people talk to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task of a board."""

    id: str
    tenant: str
    user_id: str
    agent: str
    group_key: str  # session of the group in which it was added, where alone it is shown; "": a direct chat
    title: str
    about: str = ""
    state: TaskState = TaskState.PENDING
    blocked_by: frozenset[str] = frozenset()  # ids of tasks that are not completed
    created_by: str  # label of an agent
    created_at: datetime
    place: int = 0  # among the tasks that were added with it
    worker: str = ""  # label of the last agent to claim it; "": none has
    turn_id: str | None = None  # in which it was claimed last
    until: datetime | None = None  # end of the claim; None: no worker has it
    claims: int = 0  # number so far
    result: str = ""
    changed_at: datetime


TASKS = Rows(tasks, Task)


@dataclass(frozen=True, slots=True)
class Board:
    """The board that the agent of a turn shares with others."""

    tenant: str
    user_id: str
    agent: str
    group_key: str
    label: str  # of the turn's agent
    turn_id: str

    def rows(self) -> sa.ColumnElement[bool]:
        """Return the condition of its tasks."""
        of_person = tasks.c.user_id.in_(ids_of(self.user_id))
        return sa.and_(of_person, tasks.c.agent == self.agent, tasks.c.group_key == self.group_key)


@dataclass(frozen=True, slots=True)
class BoardChange:
    """The changed tasks, and what that means for others."""

    tasks: tuple[Task, ...]
    released: tuple[Task, ...] = ()  # waited for them, and may be claimed now
    stuck: Mapping[str, Collection[str]] = field(default_factory=dict)  # id -> failed or cancelled tasks it waits for


def board_of(connection: sa.Connection, user_id: str, turn_id: str) -> Board | None:
    """Return the board that a person's turn sees; None if there is no such turn."""
    of_turn = sa.select(sessions.c.key, sessions.c.tenant_id).join(turns, turns.c.session_id == sessions.c.id)
    found = connection.execute(of_turn.where(turns.c.id == turn_id)).first()
    if found is None:
        return None
    root, *labels = found.key.split(CHILD_MARK)
    group_key = "" if ":direct:" in root else root
    return Board(found.tenant_id, user_id, root.split(":")[1], group_key, "/".join(labels) or MAIN, turn_id)


def list_tasks(connection: sa.Connection, board: Board, now: datetime) -> list[Task]:
    """Return the open tasks of a board in the order in which they are claimed, then the newest finished ones."""
    over = TASKS.c.state.in_(OVER)
    open_ = TASKS.find(connection, board.rows(), ~over, order=_ORDER)
    done = TASKS.find(connection, board.rows(), over, order=TASKS.c.changed_at.desc(), limit=MOST_OVER)
    return _with_stale(connection, [*open_, *done], now)


def task_of(connection: sa.Connection, board: Board, id_: str, now: datetime) -> Task:
    """Return a task of a board.

    Raises:
        ToolError: there is none of this id.
    """
    task = TASKS.get(connection, board.rows(), id=id_)
    if task is None:
        raise ToolError(f"There is no task {id_!r}: board_show shows the ids.")
    return _with_stale(connection, [task], now)[0]


def newest_tasks(connection: sa.Connection, limit: int, now: datetime) -> list[Task]:
    """Return the tasks of all boards that were changed last."""
    return _with_stale(connection, TASKS.find(connection, order=(TASKS.c.changed_at.desc(), *_ORDER), limit=limit), now)


def add(connection: sa.Connection, board: Board, new: Sequence[NewTask], key: str, now: datetime) -> BoardChange:
    """Add tasks to a board; those that wait for others are blocked.

    Raises:
        ToolError: the board is full, a task waits for an unknown one, or tasks wait for each other in a circle.
    """
    known = _lock(connection, board)
    open_ = sum(task.state not in OVER for task in known.values())
    if open_ + len(new) > MOST_OPEN:
        raise ToolError(f"The board has {open_} open tasks, {MOST_OPEN} at most: finish or cancel some first.")
    ids = {task.title: _new_id(key, place) for place, task in enumerate(new)}
    if len(ids) < len(new):
        raise ToolError("Two of these tasks have the same title: give each its own.")
    added = []
    for place, task in enumerate(new):
        waits = frozenset(
            found for wanted in task.blocked_by if (found := _find(connection, board, known, ids, wanted)) is not None
        )
        added.append(
            Task(
                id=ids[task.title],
                tenant=board.tenant,
                user_id=board.user_id,
                agent=board.agent,
                group_key=board.group_key,
                title=task.title,
                about=task.about,
                state=TaskState.BLOCKED if waits else TaskState.PENDING,
                blocked_by=waits,
                created_by=board.label,
                created_at=now,
                place=place,
                changed_at=now,
            )
        )
    _refuse_circle({**known, **{task.id: task for task in added}})
    for row in added:
        if not TASKS.add(connection, row):
            raise ToolError("The tasks could not be numbered: add them again.")
    return BoardChange(tuple(added), stuck=_find_stuck(known, added))


def claim(connection: sa.Connection, board: Board, id_: str | None, now: datetime, lease: timedelta) -> Task | None:
    """Give the next task, or this one, to the agent of the turn, by one update; return None if none may be claimed."""
    _lock(connection, board)
    live = sa.select(turns.c.id).where(turns.c.id == tasks.c.turn_id, turns.c.end_reason.is_(None)).exists()
    is_stale = sa.and_(tasks.c.state == TaskState.IN_PROGRESS, sa.or_(tasks.c.until <= now, ~live))
    free = sa.or_(tasks.c.state == TaskState.PENDING, is_stale)
    first = sa.select(tasks.c.id).where(board.rows(), free).order_by(*_ORDER, tasks.c.id).limit(1).correlate(None)
    if id_ is not None:
        first = first.where(tasks.c.id == id_)
    values = {"state": TaskState.IN_PROGRESS, "worker": board.label, "turn_id": board.turn_id, "until": now + lease}
    taken = sa.update(tasks).where(tasks.c.id == first.scalar_subquery(), free)
    claimed = connection.execute(
        taken.values(**values, claims=tasks.c.claims + 1, changed_at=now).returning(tasks.c.id)
    ).scalar()
    return None if claimed is None else TASKS.get(connection, id=claimed)


def change(connection: sa.Connection, board: Board, wanted: TaskChange, now: datetime, lease: timedelta) -> BoardChange:
    """Change a task; its completion releases the tasks that waited for nothing else.

    Raises:
        ToolError: there is no such task, it may not be changed so, or tasks would wait for each other in a circle.
    """
    known = _lock(connection, board)
    state = task_of(connection, board, wanted.id, now).state
    task = known.get(wanted.id) or task_of(connection, board, wanted.id, now)
    holds = task.state is TaskState.IN_PROGRESS and task.turn_id == board.turn_id
    if wanted.blocked_by is not None:
        task = _wait_for(connection, board, known, task, wanted.blocked_by)
    if wanted.state is not None:
        check_move(state, wanted.state, holds=holds, did_it=task.worker == board.label != MAIN)
        waits = wanted.state is TaskState.PENDING and task.blocked_by
        task = replace(task, state=TaskState.BLOCKED if waits else wanted.state, until=None)
    elif wanted.result is not None and not holds:
        raise ToolError(f"The task is {state.value} and not yours: claim it before you write its result.")
    if holds and task.state is TaskState.IN_PROGRESS:
        task = replace(task, until=now + lease)
    task = replace(task, result=task.result if wanted.result is None else wanted.result, changed_at=now)
    TASKS.save(connection, task)
    known[task.id] = task
    released = _release(connection, known, task, now) if task.state is TaskState.COMPLETED else ()
    return BoardChange((task,), released, _find_stuck(known, known.values()))


_ORDER = (tasks.c.created_at, tasks.c.place)


def _lock(connection: sa.Connection, board: Board) -> dict[str, Task]:
    """Lock the tasks of a board that are not completed, and return them by id."""
    unfinished = board.rows(), tasks.c.state != TaskState.COMPLETED
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(tasks.c.id).where(*unfinished).order_by(tasks.c.id).with_for_update()).all()
    return {task.id: task for task in TASKS.find(connection, *unfinished)}


def _with_stale(connection: sa.Connection, found: Sequence[Task], now: datetime) -> list[Task]:
    """Return the tasks with the state STALE if their worker's turn or lease has ended."""
    claimed = {task.turn_id for task in found if task.state is TaskState.IN_PROGRESS}
    open_turns = sa.select(turns.c.id).where(turns.c.id.in_(claimed), turns.c.end_reason.is_(None))
    live = set(connection.execute(open_turns).scalars()) if claimed else set()
    return [
        replace(task, state=TaskState.STALE)
        if task.state is TaskState.IN_PROGRESS and (task.until is None or task.until <= now or task.turn_id not in live)
        else task
        for task in found
    ]


def _new_id(key: str, place: int) -> str:
    return "t" + hashlib.sha256(f"{key}/{place}".encode()).hexdigest()[:12]


def _find(
    connection: sa.Connection, board: Board, known: Mapping[str, Task], ids: Mapping[str, str], wanted: str
) -> str | None:
    """Return the id of the task to wait for; None if it is completed."""
    if wanted in known:
        return wanted
    if wanted in ids:
        return ids[wanted]
    if TASKS.count(connection, board.rows(), id=wanted):
        return None
    raise ToolError(
        f"There is no task {wanted!r} to wait for: give the id of a task, or the title of one that you add with it."
    )


def _wait_for(
    connection: sa.Connection, board: Board, known: dict[str, Task], task: Task, wanted: Sequence[str]
) -> Task:
    """Return the task with others to wait for."""
    if task.state not in {TaskState.PENDING, TaskState.BLOCKED}:
        raise ToolError(f"The task is {task.state.value}: only one that is pending or blocked can wait for others.")
    waits = frozenset(found for each in wanted if (found := _find(connection, board, known, {}, each)) is not None)
    task = replace(task, blocked_by=waits, state=TaskState.BLOCKED if waits else TaskState.PENDING)
    _refuse_circle({**known, task.id: task})
    return task


def _refuse_circle(known: Mapping[str, Task]) -> None:
    circle = find_circle({id_: task.blocked_by for id_, task in known.items()})
    if circle:
        names = " waits for ".join(f"{known[id_].title!r}" for id_ in (*circle, circle[0]))
        raise ToolError(f"These tasks would wait for each other for ever: {names}. Take one of them out of blocked_by.")


def _release(connection: sa.Connection, known: dict[str, Task], done: Task, now: datetime) -> tuple[Task, ...]:
    """Take a completed task out of what others wait for; return those that may be claimed now."""
    del known[done.id]
    released = []
    for task in [each for each in known.values() if done.id in each.blocked_by]:
        left = task.blocked_by - {done.id}
        freed = not left and task.state is TaskState.BLOCKED
        known[task.id] = replace(
            task, blocked_by=left, state=TaskState.PENDING if freed else task.state, changed_at=now
        )
        TASKS.save(connection, known[task.id])
        released += [known[task.id]] if freed else []
    return tuple(sorted(released, key=lambda task: (task.created_at, task.place)))


def _find_stuck(known: Mapping[str, Task], waiting: Collection[Task]) -> Mapping[str, Collection[str]]:
    """Return the failed or cancelled tasks that open ones wait for."""
    unmet = {id_ for id_, task in known.items() if task.state in UNMET}
    return {task.id: task.blocked_by & unmet for task in waiting if task.state not in OVER and task.blocked_by & unmet}
