"""What the offline coach does about wishes: reminders, goals, skills that change, two entries that are swapped."""

import re
from datetime import date, time

from pydantic import JsonValue

from agent.coach.acts import Act, Task
from agent.coach.durations import spell_minutes
from agent.coach.offline_work import CannotTell, Work
from agent.coach.reminder_changes import reminders_text
from agent.coach.reminders import MAX_ABOUT_CHARS, Reminder
from agent.coach.reports import RemindersReport
from agent.coach.texts import say
from agent.coach.understanding.wishes import SkillVerb, WishedSkill
from agent.language import escape

_ALL = re.compile(
    r"\b(?:all|every|reminders|reminding|remind|tod[oa]s|recordatorios|record\w*me|recuerdes)\b", re.IGNORECASE
)
"""More than one reminder is meant."""


def set_reminder(work: Work, task: Task) -> str:
    """A reminder, as it was wished for."""
    wish = task.reminder
    assert wish is not None, "an act of reminding comes with what is wished"
    return work.change_and_tell(
        "set_reminder",
        time=f"{wish.at:%H:%M}",
        weekdays=list(wish.weekdays),
        date=None if wish.day is None else wish.day.isoformat(),
        about=wish.about[:MAX_ABOUT_CHARS],
    )


def move_reminder(work: Work, task: Task) -> str:
    """The reminder that was set before, at another time; where it is gone, a new one."""
    moved = task.moved
    assert moved is not None, "an act of moving comes with what is moved"
    rows = work.require(RemindersReport, old=True).reminders
    found = [row for row in rows if row.time == f"{moved.at:%H:%M}" and row.about == moved.about[:MAX_ABOUT_CHARS]]
    if found:
        work.change("cancel_reminders", reminder_id=found[-1].id)
    return set_reminder(work, task)


def cancel_reminders(work: Work, task: Task) -> str:
    """The only one, or all where all are meant; of several they are shown, and how to take one away."""
    rows = work.require(RemindersReport, old=True).reminders
    if not rows or not (len(rows) == 1 or _ALL.search(task.text)):
        return list_reminders(work, task)
    return work.change_and_tell("cancel_reminders", reminder_id=rows[0].id if len(rows) == 1 else None)


def list_reminders(work: Work, _: Task) -> str:
    """All of them, and how to take one away."""
    rows = work.require(RemindersReport, old=True).reminders
    kept = [
        Reminder(
            row.id,
            time.fromisoformat(row.time),
            row.weekdays,
            None if row.date is None else date.fromisoformat(row.date),
            row.about,
            None,
        )
        for row in rows
    ]
    return reminders_text(work.language, kept, work.today)


def ask_goal(work: Work, task: Task) -> str:
    """Asks before so much a week becomes the goal, of one skill where one is named."""
    wanted = spell_minutes(task.meant_minutes)
    return say(work.language, task.act, what=wanted, skill=escape(_skill_meant(task)))


def set_goal(work: Work, task: Task) -> str:
    """The goal of the week, of one skill where one is named."""
    if skill := _skill_meant(task):
        return work.change_and_tell("edit_skill", skill=skill, weekly_minutes=task.meant_minutes)
    return work.change_and_tell("set_weekly_goal", minutes=task.meant_minutes)


def _skill_meant(task: Task) -> str:
    return "" if task.meant is None else task.meant.skill


def _skill_wish(task: Task) -> WishedSkill:
    assert task.wished is not None, "acts about a skill come with what is wished of it"
    return task.wished


def edit_skill(work: Work, task: Task) -> str:
    """A skill put away, brought back, renamed or recoloured: all of that can be said again."""
    wished = _skill_wish(task)
    change: dict[SkillVerb, dict[str, JsonValue]] = {
        SkillVerb.RENAME: {"name": wished.value},
        SkillVerb.COLOUR: {"colour": wished.value},
    }
    values = change.get(wished.verb, {"archived": wished.verb is SkillVerb.ARCHIVE})
    return work.change_skill(wished, "edit_skill", **values)


def ask_merge(work: Work, task: Task) -> str:
    """Asks, for two that are one cannot be parted again."""
    wished = _skill_wish(task)
    return say(work.language, Act.ASK_MERGE, skill=escape(wished.skill), into=escape(wished.value))


def merge_skills(work: Work, task: Task) -> str:
    """Two made one."""
    wished = _skill_wish(task)
    return work.change_skill(wished, "merge_skills", into=wished.value)


def swap_entries(work: Work, task: Task) -> str:
    """Two entries, each with the other's time; where one of them is gone, neither is touched."""
    rows = work.entries_of(task, old=True).entries
    changes: list[dict[str, JsonValue]] = []
    for entry, other in zip(task.practised, reversed(task.practised), strict=True):
        found = [row for row in rows if (row.skill, row.minutes, row.date) == (entry.skill, other.minutes, entry.day)]
        if not found:
            raise CannotTell(say(work.language, "offline.failed"))
        changes.append({"session_id": found[0].id, "minutes": entry.minutes})
    return work.tell_each("edit_session", changes)
