"""The operators' look at schedules and reminders."""

from functools import partial

from agent.schedules.rules import describe_rule
from gateway.access.ranks import Rank
from gateway.operators.actions import ActionCall, OperationRefused, action
from gateway.operators.base import OperatorsBase
from gateway.operators.models import ScheduleList, ScheduleRow, SchedulesQuery
from gateway.store import people, schedules
from gateway.store.engine import Connection
from gateway.store.schedules import SCHEDULES, Pause, StoredSchedule


class ScheduleActions(OperatorsBase):
    """The actions about schedules of one tenant, or of all. An operator reads no prompts of other people."""

    @action(Rank.OPERATOR)
    async def list_schedules(self, _call: ActionCall, wanted: SchedulesQuery) -> ScheduleList:
        """Return the schedules and reminders that are due next."""
        order = schedules.SCHEDULES.c.next_at
        whose = {} if wanted.user is None else {"user_id": people.ids_of(wanted.user)}
        found = await self.store.read(partial(SCHEDULES.find, order=order, limit=wanted.limit, **whose))
        names = await self.store.read(partial(people.names_of, user_ids={row.user_id for row in found}))
        return ScheduleList(schedules=tuple(_to_row(row, names.get(row.user_id, row.user_id)) for row in found))

    @action(Rank.OPERATOR, audit="schedule_paused")
    async def pause_schedule(self, call: ActionCall, schedule: str) -> ScheduleRow:
        """Pause a schedule.

        Raises:
            OperationRefused: there is none with this id.
        """
        return await self._change_schedule(call, schedule, Pause.OPERATOR)

    @action(Rank.OPERATOR, audit="schedule_resumed")
    async def resume_schedule(self, call: ActionCall, schedule: str) -> ScheduleRow:
        """Resume a schedule.

        Raises:
            OperationRefused: there is none with this id, or its time has passed.
        """
        return await self._change_schedule(call, schedule, Pause.NO)

    @action(Rank.OPERATOR, audit="schedule_deleted")
    async def delete_schedule(self, call: ActionCall, schedule: str) -> ScheduleRow:
        """Delete a schedule.

        Raises:
            OperationRefused: there is none with this id.
        """
        return await self._change_schedule(call, schedule, None)

    async def _change_schedule(self, call: ActionCall, schedule: str, pause: Pause | None) -> ScheduleRow:
        def job(connection: Connection) -> StoredSchedule | OperationRefused:
            row = SCHEDULES.get(connection, id=schedule)
            if row is None:
                return OperationRefused(f"there is no schedule {schedule}; see `tenk schedules list`")
            if pause is None:
                SCHEDULES.delete(connection, id=row.id, tenant=row.tenant)
            elif not schedules.set_pause(connection, row, pause, call.now):
                return OperationRefused(f"the time of {schedule} has passed; delete it")
            call.record(connection, row.tenant, row.id, row.user_id)
            return SCHEDULES.get(connection, id=schedule) or row

        row = await call.commit(job)
        names = await self.store.read(partial(people.names_of, user_ids={row.user_id}))
        return _to_row(row, names.get(row.user_id, row.user_id))


def _to_row(row: StoredSchedule, person: str) -> ScheduleRow:
    return ScheduleRow(
        id=row.id,
        tenant=row.tenant,
        user=row.user_id,
        person=person,
        agent=row.agent,
        kind=row.command or "schedule",
        when=describe_rule(row.parsed),
        zone=row.zone,
        next_at=row.next_at,
        paused=row.paused.value,
        failures=row.failures,
    )
