"""Changes of practice data as typed commands, what each gives back, and what to say of it; the gateway applies them.

Each is applied in the commit that journals its result, once per key. Minutes are whole, dates are the person's own.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.coach.durations import spell_minutes
from agent.coach.mastery import level_of
from agent.coach.practice import GOAL_MINUTES, Insight
from agent.coach.texts import say, say_date, say_level
from agent.language import escape
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


@dataclass(frozen=True, slots=True)
class ArchiveSkill:
    """Put a skill away, or bring it back."""

    skill: str  # name or id
    archived: bool = True


PracticeCommand = LogPractice | CreateSkill | UndoLastLog | EditSession | SaveWeeklyPlan | ArchiveSkill


class ChangeResult(BaseModel):
    """The result of any change; which fields are set says which one it was."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    refused: str | None = None  # a practice.Refusal: nothing was changed
    detail: str = ""  # what of
    message: str = ""  # why, in English
    session_id: str | None = None
    skill_id: str | None = None
    skill: str = ""
    emoji: str = ""
    minutes: int = 0
    minutes_before: int | None = None  # edited
    day: date | None = Field(None, validation_alias="date")
    notes: str = ""
    total_minutes: int = 0  # of the skill, after the change
    goal_minutes: int = GOAL_MINUTES
    created_skill: bool = False
    brought_back: bool = False
    archived_skill: bool | None = None  # undone


def read_change(result: Mapping[str, object]) -> ChangeResult | None:
    """A result read back; None where it is not one."""
    try:
        return ChangeResult.model_validate(result)
    except ValidationError:
        return None


def change_content(result: Mapping[str, object]) -> str:
    """A change's result as a tool gives it: a refusal is no success, and keeps its reason for whoever can read it."""
    if "refused" not in result:
        return success_result(result)
    return json.dumps({"success": False, "data": dict(result), "error": result.get("message")}, ensure_ascii=False)


def change_text(language: str, change: ChangeResult, today: date) -> str:
    """One short paragraph: what was changed, and the total it led to."""
    if change.refused is not None:
        return refusal_text(language, change)
    if change.session_id is None:
        return _created_text(language, change)
    if change.archived_skill is not None:
        return _undone_text(language, change, today)
    if change.minutes_before is not None:
        return _edited_text(language, change, today)
    return _logged_text(language, change, today)


def refusal_text(language: str, change: ChangeResult) -> str:
    """Why nothing was changed, in the person's language; the English message where there is no other."""
    if language == "en" and change.message:
        return change.message
    key = f"problem.{change.refused}"
    words = say(language, key, detail=change.detail)
    return change.message if words == key else words


def _logged_text(language: str, change: ChangeResult, today: date) -> str:
    level = level_of(change.total_minutes)
    day = ""
    if change.day == today - timedelta(days=1):
        day = f" ({say(language, 'day.yesterday')})"
    elif change.day is not None and change.day != today:
        day = say(language, "day.on", date=change.day.isoformat())
    sentences = [
        say(
            language,
            "change.logged",
            minutes=spell_minutes(change.minutes),
            emoji=change.emoji,
            skill=escape(change.skill),
            day=day,
            notes=f" ({escape(change.notes)})" if change.notes else "",
            total=spell_minutes(change.total_minutes),
            level=say_level(language, level),
        )
    ]
    if level_of(change.total_minutes - change.minutes) != level:
        sentences.append(say(language, "change.level_up", level=say_level(language, level)))
    if change.created_skill:
        goal = spell_minutes(change.goal_minutes)
        sentences.append(say(language, "change.new_skill", skill=escape(change.skill), goal=goal))
    elif change.brought_back:
        sentences.append(say(language, "change.brought_back", skill=escape(change.skill)))
    return " ".join(sentences)


def _created_text(language: str, change: ChangeResult) -> str:
    values = {"emoji": change.emoji, "skill": escape(change.skill)}
    if change.created_skill:
        return say(language, "change.created", goal=spell_minutes(change.goal_minutes), **values)
    return say(language, "change.brought_back" if change.brought_back else "change.already_there", **values)


def _undone_text(language: str, change: ChangeResult, today: date) -> str:
    text = say(
        language,
        "change.undone",
        minutes=spell_minutes(change.minutes),
        emoji=change.emoji,
        skill=escape(change.skill),
        date=say_date(language, change.day or today, today),
        total=spell_minutes(change.total_minutes),
    )
    return f"{text} {say(language, 'change.undone_skill')}" if change.archived_skill else text


def _edited_text(language: str, change: ChangeResult, today: date) -> str:
    return say(
        language,
        "change.edited",
        minutes=spell_minutes(change.minutes),
        emoji=change.emoji,
        skill=escape(change.skill),
        date=say_date(language, change.day or today, today),
        before=spell_minutes(change.minutes_before or 0),
        total=spell_minutes(change.total_minutes),
    )
