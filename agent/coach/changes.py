"""Changes of practice data as typed commands, what each gives back, and what to say of it; the gateway applies them.

Each is applied in the commit that journals its result, once per key. Minutes are whole, dates are the person's own.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from agent.coach.chart import ChartPlotted, PlotChart, chart_text
from agent.coach.durations import spell_minutes
from agent.coach.practice import GOAL_MINUTES, Insight, PlannedSession, level_of
from agent.coach.reminder_changes import (
    CancelReminders,
    RemindersCancelled,
    ReminderSet,
    SetReminder,
    reminder_text,
)
from agent.coach.texts import COACH_TEXTS, say, say_colour, say_date, say_level
from agent.coach.timer_changes import (
    ForgetPractice,
    ImportPractice,
    PracticeForgotten,
    PracticeImported,
    StartTimer,
    StopTimer,
    TimerDiscarded,
    TimerStarted,
    timer_text,
)
from agent.language import DEFAULT, escape
from agent.tools.results import success_result


@dataclass(frozen=True, slots=True)
class LogPractice:
    """Add one session; an unknown skill is created with it, an archived one comes back."""

    skill: str  # name or id
    minutes: int
    day: date
    notes: str = ""


@dataclass(frozen=True, slots=True)
class CreateSkill:
    """Add a skill; one of that name stays as it is, an archived one comes back."""

    name: str
    emoji: str | None = None  # None: chosen by the name
    colour: str | None = None  # "#rrggbb"; None: chosen in turn
    goal_minutes: int = GOAL_MINUTES


@dataclass(frozen=True, slots=True)
class UndoLastLog:
    """Take back the session logged last; a skill that only it had created is archived."""


@dataclass(frozen=True, slots=True)
class EditSession:
    """Correct a session; what is None stays."""

    session_id: str | None = None  # None: the session logged last
    minutes: int | None = None
    day: date | None = None
    notes: str | None = None
    skill: str | None = None  # name or id; an unknown name becomes a new skill


@dataclass(frozen=True, slots=True)
class SaveWeeklyPlan:
    """Keep the plan of a week; one that was there is replaced."""

    week: date
    content: str
    insights: tuple[Insight, ...] = ()
    skill_ids: tuple[str, ...] = ()
    sessions: tuple[PlannedSession, ...] = ()


@dataclass(frozen=True, slots=True)
class ArchiveSkill:
    """Put a skill away, or bring it back."""

    skill: str  # name or id
    archived: bool = True


@dataclass(frozen=True, slots=True)
class DeleteSession:
    """Take back any session; a skill that only it had created is archived."""

    session_id: str


@dataclass(frozen=True, slots=True)
class EditSkill:
    """Change a skill; what is None stays."""

    skill: str  # name or id
    name: str | None = None
    archived: bool | None = None
    colour: str | None = None  # "#rrggbb"
    emoji: str | None = None
    goal_minutes: int | None = None
    weekly_minutes: int | None = None  # 0: no goal for a week any more


@dataclass(frozen=True, slots=True)
class MergeSkills:
    """Make one skill of two: all sessions go to the second, the first is no more."""

    skill: str  # name or id
    into: str  # name or id


@dataclass(frozen=True, slots=True)
class SetWeeklyGoal:
    """So many minutes a week over all skills; 0: no goal any more."""

    minutes: int


PracticeCommand = (
    LogPractice | CreateSkill | UndoLastLog | EditSession | DeleteSession | SaveWeeklyPlan
    | ArchiveSkill | EditSkill | MergeSkills | SetWeeklyGoal | SetReminder | CancelReminders
    | StartTimer | StopTimer | ForgetPractice | ImportPractice | PlotChart
)  # fmt: skip


class _Result(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)  # so that its fields tell which one it is


class ChangeRefused(_Result):
    """Nothing was changed."""

    refused: str  # a practice.Refusal
    detail: str  # what of
    message: str  # why, in English


class EntryChanged(_Result):
    """What is told of any session that was logged, edited or taken back."""

    session_id: str
    skill_id: str
    skill: str
    emoji: str
    minutes: int
    date: date
    notes: str
    total_minutes: int  # of the skill, after the change


class PracticeLogged(EntryChanged):
    """`LogPractice`."""

    created_skill: bool
    brought_back: bool


class SessionEdited(EntryChanged):
    """`EditSession`."""

    minutes_before: int


class LogUndone(EntryChanged):
    """`UndoLastLog` and `DeleteSession`; of the session that is no more."""

    archived_skill: bool


class SkillCreated(_Result):
    """`CreateSkill`."""

    skill_id: str
    skill: str
    emoji: str
    goal_minutes: int
    created_skill: bool  # False: it was there
    brought_back: bool


class PlanSaved(_Result):
    """`SaveWeeklyPlan`."""

    week: date
    replaced: bool
    content: str
    insights: tuple[Insight, ...] = ()  # none where an older version wrote the result


class SkillArchived(_Result):
    """`ArchiveSkill`."""

    skill_id: str
    skill: str
    emoji: str
    archived: bool


class SkillEdited(_Result):
    """`EditSkill`; the skill as it is now."""

    skill_id: str
    skill: str
    emoji: str
    colour: str
    archived: bool
    goal_minutes: int
    weekly_minutes: int | None
    name_before: str
    changed: tuple[str, ...]  # the fields of `EditSkill` that were said


class SkillsMerged(_Result):
    """`MergeSkills`."""

    skill_id: str  # of the one that stays
    skill: str
    emoji: str
    merged: str  # the name that is no more
    sessions_moved: int
    total_minutes: int


class WeeklyGoalSet(_Result):
    """`SetWeeklyGoal`."""

    weekly_goal_minutes: int  # 0: none any more


ChangeResult = (
    ChangeRefused | PracticeLogged | SessionEdited | LogUndone | SkillCreated | PlanSaved | SkillArchived
    | SkillEdited | SkillsMerged | WeeklyGoalSet | ReminderSet | RemindersCancelled
    | TimerStarted | TimerDiscarded | PracticeForgotten | PracticeImported | ChartPlotted
)  # fmt: skip
CHANGE_RESULT: TypeAdapter[ChangeResult] = TypeAdapter(ChangeResult, config=ConfigDict(defer_build=True))


def read_change(result: Mapping[str, object]) -> ChangeResult | None:
    """A result read back from a tool's; None where it is not one."""
    try:
        return CHANGE_RESULT.validate_python(result)
    except ValidationError:
        return None


def change_content(result: object) -> str:
    """A change's result as a tool gives it: a refusal is no success, and keeps its reason for whoever can read it."""
    if not isinstance(result, ChangeRefused):
        return success_result(result)
    return json.dumps({"success": False, "data": result.model_dump(), "error": result.message}, ensure_ascii=False)


def change_text(language: str, change: ChangeResult, today: date) -> str:
    """One short paragraph: what was changed, and the total it led to. "" for what is said by whoever asked for it."""
    match change:
        case ChangeRefused():
            return _refusal_text(language, change)
        case EntryChanged():
            return _entry_text(language, change, today)
        case SkillCreated():
            return _created_text(language, change)
        case PlanSaved():
            return ""
        case ReminderSet() | RemindersCancelled():
            return reminder_text(language, change, today)
        case TimerStarted() | TimerDiscarded() | PracticeForgotten() | PracticeImported():
            return timer_text(language, change)
        case ChartPlotted(chart=chart):
            return chart_text(language, chart)
    return _of_skills_text(language, change)


def _entry_text(language: str, change: EntryChanged, today: date) -> str:
    values = _values(language, change, today)
    match change:
        case PracticeLogged():
            return _logged_text(language, change, today)
        case LogUndone():
            text = say(language, "change.undone", **values)
            return f"{text} {say(language, 'change.undone_skill')}" if change.archived_skill else text
        case SessionEdited():
            if change.minutes_before == change.minutes:
                return say(language, "change.edited_else", **values)
            return say(language, "change.edited", before=spell_minutes(change.minutes_before), **values)
    return ""


def _of_skills_text(language: str, change: SkillArchived | SkillEdited | SkillsMerged | WeeklyGoalSet) -> str:
    match change:
        case SkillArchived(skill=skill, emoji=emoji, archived=archived):
            return _archived_text(language, emoji, skill, archived=archived)
        case SkillEdited():
            return _skill_text(language, change)
        case SkillsMerged():
            return _merged_text(language, change)
        case WeeklyGoalSet(weekly_goal_minutes=goal):
            key = "change.week_goal" if goal else "change.week_goal_off"
            return say(language, key, goal=spell_minutes(goal))


def _archived_text(language: str, emoji: str, skill: str, *, archived: bool) -> str:
    key = "change.archived" if archived else "change.restored"
    return say(language, key, emoji=emoji, skill=escape(skill))


def _skill_text(language: str, change: SkillEdited) -> str:
    """A sentence for each thing that was changed."""
    values = {
        "emoji": change.emoji,
        "skill": escape(change.skill),
        "before": escape(change.name_before),
        "colour": say_colour(language, change.colour),
        "goal": spell_minutes(change.goal_minutes),
        "week": spell_minutes(change.weekly_minutes or 0),
    }
    said = []
    for field in change.changed:
        key = f"change.skill_{field}"
        if field == "archived":
            said.append(_archived_text(language, change.emoji, change.skill, archived=change.archived))
        elif field == "weekly_minutes" and not change.weekly_minutes:
            said.append(say(language, "change.skill_weekly_off", **values))
        else:
            said.append(say(language, key, **values))
    return " ".join(said)


def _merged_text(language: str, change: SkillsMerged) -> str:
    values = {"emoji": change.emoji, "skill": escape(change.skill), "merged": escape(change.merged)}
    total = spell_minutes(change.total_minutes)
    return COACH_TEXTS.plural(language, "change.merged", change.sessions_moved, total=total, **values)


def _refusal_text(language: str, change: ChangeRefused) -> str:
    """Why nothing was changed, in the person's language; the English message where there is no other."""
    if language == DEFAULT:
        return change.message
    key = f"problem.{change.refused}"
    words = say(language, key, detail=change.detail)
    return change.message if words == key else words


def _values(language: str, change: EntryChanged, today: date) -> dict[str, str]:
    """What is said of any entry."""
    return {
        "minutes": spell_minutes(change.minutes),
        "emoji": change.emoji,
        "skill": escape(change.skill),
        "date": say_date(language, change.date, today),
        "total": spell_minutes(change.total_minutes),
    }


def _logged_text(language: str, change: PracticeLogged, today: date) -> str:
    level, values = level_of(change.total_minutes), _values(language, change, today)
    spelled, day = say_level(language, level), ""
    if change.date == today - timedelta(days=1):
        day = f" ({values['date']})"
    elif change.date != today:
        day = say(language, "day.on", date=values["date"])
    notes = f" ({escape(change.notes)})" if change.notes else ""
    sentences = [say(language, "change.logged", day=day, notes=notes, level=spelled, **values)]
    if level_of(change.total_minutes - change.minutes) != level:
        sentences.append(say(language, "change.level_up", level=spelled))
    if change.created_skill:
        goal = spell_minutes(GOAL_MINUTES)
        sentences.append(say(language, "change.new_skill", skill=values["skill"], goal=goal))
    elif change.brought_back:
        sentences.append(say(language, "change.brought_back", skill=values["skill"]))
    return " ".join(sentences)


def _created_text(language: str, change: SkillCreated) -> str:
    values = {"emoji": change.emoji, "skill": escape(change.skill)}
    if change.created_skill:
        return say(language, "change.created", goal=spell_minutes(change.goal_minutes), **values)
    return say(language, "change.brought_back" if change.brought_back else "change.already_there", **values)
