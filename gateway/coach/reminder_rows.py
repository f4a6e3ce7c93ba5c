"""Rows of reminders: schedules that the coach's own command answers."""

import sqlalchemy as sa

from agent.coach.reminders import Reminder
from agent.ports import Principal
from agent.schedules.rules import Daily, Once
from gateway.store.schedules import SCHEDULES, StoredSchedule, is_mine
from gateway.store.tables.schedules import schedules

MAX_REMINDERS = 50
NAME = "reminder"
"""The internal command of a due reminder."""


def all_reminders(connection: sa.Connection, principal: Principal) -> tuple[Reminder, ...]:
    """Return the reminders of a person, the next first."""
    found = SCHEDULES.find(connection, is_mine(principal), command=NAME, order=schedules.c.next_at)
    return tuple(_reminder(row) for row in found)


def _reminder(row: StoredSchedule) -> Reminder:
    match row.parsed:
        case Daily(at=at, weekdays=weekdays):
            return Reminder(row.id, at, weekdays, None, row.name, row.next_at)
        case Once(at=at, day=day):
            return Reminder(row.id, at, (), day, row.name, row.next_at)
        case rule:
            raise ValueError(f"a reminder has no rule of the kind {rule.kind}")
