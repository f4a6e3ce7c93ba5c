"""The board of a team: tasks that agents of one person share, and the moves from state to state; pure."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from agent.tools.base import ToolError


class TaskState(StrEnum):
    """The state of a task."""

    PENDING = "pending"  # may be claimed
    BLOCKED = "blocked"  # waits for other tasks
    IN_PROGRESS = "in_progress"  # claimed by a worker
    STALE = "stale"  # its worker's turn or lease has ended: may be claimed again. Never stored
    IN_REVIEW = "in_review"  # done, until another agent accepts it
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


OVER = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED})
"""The states of tasks on which no work is left."""

UNMET = frozenset({TaskState.FAILED, TaskState.CANCELLED})
"""The states of tasks that never release the tasks that wait for them."""

BY_WORKER = frozenset({TaskState.PENDING, TaskState.IN_REVIEW, TaskState.COMPLETED, TaskState.FAILED})
"""The states that a worker may give to the task that it has claimed."""

BY_OTHERS: Mapping[TaskState, frozenset[TaskState]] = {
    TaskState.PENDING: frozenset({TaskState.CANCELLED}),
    TaskState.BLOCKED: frozenset({TaskState.CANCELLED}),
    TaskState.IN_PROGRESS: frozenset({TaskState.CANCELLED}),
    TaskState.STALE: frozenset({TaskState.CANCELLED}),
    TaskState.IN_REVIEW: frozenset({TaskState.PENDING, TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED}),
    TaskState.FAILED: frozenset({TaskState.PENDING}),
    TaskState.CANCELLED: frozenset({TaskState.PENDING}),
    TaskState.COMPLETED: frozenset(),
}
"""The states that an agent may give to a task that it has not claimed."""


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task to add."""

    title: str
    about: str
    blocked_by: tuple[str, ...]  # ids of tasks of the board, or titles of tasks that are added with it


@dataclass(frozen=True, slots=True)
class TaskChange:
    """A change of one task; None: unchanged."""

    id: str
    state: TaskState | None = None
    result: str | None = None
    blocked_by: tuple[str, ...] | None = None


def check_move(state: TaskState, wanted: TaskState, *, holds: bool, did_it: bool) -> None:
    """Check that an agent may give a task this state.

    Args:
        state: its state now.
        wanted: its next state.
        holds: True if the agent has claimed it.
        did_it: True if the agent was the last to claim it, and no person talks to it.

    Raises:
        ToolError: it may not; says what to do.
    """
    allowed = BY_WORKER if holds else BY_OTHERS[state]
    if state is TaskState.IN_REVIEW and did_it and wanted is TaskState.COMPLETED:
        raise ToolError("You did this task yourself: another agent has to accept it.")
    if wanted in allowed:
        return
    if not holds and wanted in BY_WORKER and state in {TaskState.PENDING, TaskState.STALE, TaskState.IN_PROGRESS}:
        claimed = "claim it first" if state is not TaskState.IN_PROGRESS else "another worker has claimed it"
        raise ToolError(f"The task is {state.value} and not yours: {claimed}.")
    may = ", ".join(sorted(each.value for each in allowed))
    raise ToolError(f"A task that is {state.value} cannot become {wanted.value}" + (f", only {may}." if may else "."))


def find_circle(waits: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """Return tasks that wait for each other in a circle, in order; () if none do.

    `waits` has the tasks that each task waits for; those without an entry wait for nothing.
    """
    cleared: set[str] = set()
    for start in waits:
        if start in cleared:
            continue
        path, left = [start], [iter(sorted(waits[start]))]
        while left:
            following = _next_uncleared(left[-1], cleared)
            if following is None:
                cleared.add(path.pop())
                left.pop()
            elif following in path:
                return tuple(path[path.index(following) :])
            else:
                path.append(following)
                left.append(iter(sorted(waits.get(following, ()))))
    return ()


def _next_uncleared(tasks: Iterator[str], cleared: Collection[str]) -> str | None:
    return next((task for task in tasks if task not in cleared), None)
