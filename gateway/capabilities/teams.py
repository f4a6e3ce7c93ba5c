"""The board that the agents of a person share."""

from collections.abc import Sequence
from datetime import timedelta

from agent.delegation.board import NewTask, TaskChange, TaskState
from agent.delegation.board_tools import board_tools
from agent.delegation.teams_config import TeamsConfig
from agent.ports import Change, LocalEffect, Principal
from agent.tools.base import Tool, ToolError
from channels.chat.probing import Finding
from channels.clocks import Clock
from gateway.capabilities.base import Capability
from gateway.sessions.user_items import frame, label
from gateway.store import boards
from gateway.store.boards import Board, BoardChange, Task
from gateway.store.engine import Connection, Store


class StoredBoard:
    """The boards as rows; what agents have written in them is framed as data."""

    def __init__(self, store: Store, lease: timedelta, clock: Clock) -> None:
        self._store = store
        self._lease = lease
        self._clock = clock

    async def show(self, principal: Principal, call_key: str, id_: str | None) -> object:
        now = self._clock()

        def look(connection: Connection) -> object:
            board = _board_of(connection, principal.user_id, call_key)
            if id_ is None:
                return {"tasks": [_brief(task) for task in boards.list_tasks(connection, board, now)]}
            return {"task": _whole(boards.task_of(connection, board, id_, now))}

        return await self._store.read(look)

    def add(self, new: Sequence[NewTask]) -> LocalEffect:
        return LocalEffect(self._add, new)

    def claim(self, id_: str | None) -> LocalEffect:
        return LocalEffect(self._claim, id_)

    def change(self, wanted: TaskChange) -> LocalEffect:
        return LocalEffect(self._change, wanted)

    def _add(self, change: Change, new: Sequence[NewTask]) -> object:
        board = _board_of(change.tx, change.principal.user_id, change.key)
        return _outcome(boards.add(change.tx, board, new, change.key, self._clock()))

    def _claim(self, change: Change, id_: str | None) -> object:
        board, now = _board_of(change.tx, change.principal.user_id, change.key), self._clock()
        task = boards.claim(change.tx, board, id_, now, self._lease)
        if task is not None:
            return {"claimed": _whole(task)}
        if id_ is not None:
            return {"claimed": None, "why": f"It is {boards.task_of(change.tx, board, id_, now).state.value}."}
        return {"claimed": None, "why": _why_none(boards.list_tasks(change.tx, board, now))}

    def _change(self, change: Change, wanted: TaskChange) -> object:
        board = _board_of(change.tx, change.principal.user_id, change.key)
        return _outcome(boards.change(change.tx, board, wanted, self._clock(), self._lease))


def _board_of(connection: Connection, user_id: str, call_key: str) -> Board:
    board = boards.board_of(connection, user_id, call_key.partition("/")[0])
    if board is None:
        raise ToolError("There is a board in conversations only.")
    return board


def _why_none(tasks: Sequence[Task]) -> str:
    """Return why no task can be claimed."""
    states = [task.state for task in tasks]
    counts = ((state, states.count(state)) for state in (TaskState.IN_PROGRESS, TaskState.IN_REVIEW, TaskState.BLOCKED))
    left = ", ".join(f"{count} {state.value}" for state, count in counts if count)
    return f"No task is free: {left}. Do not wait, end your work." if left else "No task is open."


def _outcome(changed: BoardChange) -> object:
    """Return a change as the model reads it."""
    told: dict[str, object] = {"tasks": [_brief(task) for task in changed.tasks]}
    if changed.released:
        told["free_now"] = [_brief(task) for task in changed.released]
    if changed.stuck:
        told["stuck"] = {id_: sorted(unmet) for id_, unmet in changed.stuck.items()}
        told["note"] = (
            "The tasks in `stuck` wait for failed or cancelled ones and will not become free by themselves: give them "
            "another blocked_by, set those to pending again, or cancel them."
        )
    return told


def _brief(task: Task) -> dict[str, object]:
    shown = {
        "id": task.id,
        "title": label(task.title)[1:-1],
        "state": task.state.value,
        "worker": task.worker,
        "blocked_by": sorted(task.blocked_by),
        "has_result": bool(task.result),
    }
    return {name: value for name, value in shown.items() if value}


def _whole(task: Task) -> dict[str, object]:
    shown = _brief(task) | {"created_by": task.created_by, "claims": task.claims}
    if task.about:
        shown["description"] = frame("description of a task, written by an agent", task.created_by, task.about)
    if task.result:
        shown["result"] = frame("result of a task, written by an agent", task.worker, task.result)
    return shown


class Teams(Capability):
    """The board's tools."""

    def __init__(self, config: TeamsConfig, store: Store, clock: Clock, *, has_workers: bool) -> None:
        self._tools = board_tools(StoredBoard(store, timedelta(seconds=config.lease_s), clock))
        self._has_workers = has_workers

    def tools(self) -> Sequence[Tool]:
        return self._tools

    async def check(self) -> Sequence[Finding]:
        if self._has_workers:
            return (Finding("teams", "agents share a board"),)
        return (Finding("teams", "only one agent uses the board: none can give tasks", "add the table [delegation]"),)
