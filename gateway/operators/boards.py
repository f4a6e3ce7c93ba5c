"""The operators' look at the boards of teams."""

from functools import partial

from gateway.access.ranks import Rank
from gateway.operators.actions import ActionCall, action
from gateway.operators.base import OperatorsBase
from gateway.operators.models import BoardTask, BoardTasks, TasksQuery
from gateway.store import boards, people


class BoardActions(OperatorsBase):
    """The actions about boards of one tenant, or of all."""

    @action(Rank.OPERATOR)
    async def list_tasks(self, call: ActionCall, wanted: TasksQuery) -> BoardTasks:
        """Return the tasks that were changed last, without their descriptions and results."""
        found = await self.store.read(partial(boards.newest_tasks, limit=wanted.limit, now=call.now))
        names = await self.store.read(partial(people.names_of, user_ids={task.user_id for task in found}))
        return BoardTasks(
            tasks=tuple(
                BoardTask(
                    id=task.id,
                    user=task.user_id,
                    person=names.get(task.user_id, task.user_id),
                    agent=task.agent,
                    state=task.state.value,
                    title=task.title,
                    blocked_by=tuple(sorted(task.blocked_by)),
                    worker=task.worker,
                    claims=task.claims,
                    changed_at=task.changed_at,
                )
                for task in found
            )
        )
