"""A clock for practice, importing and forgetting: what each change gives back, and what is said of it."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from agent.coach.durations import spell_minutes
from agent.coach.practice_file import FileRow, FileSkill
from agent.coach.texts import COACH_TEXTS, say
from agent.language import escape

MAX_TIMER_MINUTES = 12 * 60
"""A clock that ran longer was forgotten: the person says how long it really was."""


@dataclass(frozen=True, slots=True)
class StartTimer:
    """Begin to count for a skill."""

    skill: str  # the name


@dataclass(frozen=True, slots=True)
class StopTimer:
    """End it, and log what it counted."""

    minutes: int | None = None  # how long it really was; None: what it counted
    notes: str = ""
    discards: bool = False  # log nothing


@dataclass(frozen=True, slots=True)
class ForgetPractice:
    """Delete everything that the coach keeps of the person, for good."""


@dataclass(frozen=True, slots=True)
class ImportPractice:
    """Add these entries; what is there already, and what no day holds, is left out."""

    rows: tuple[FileRow, ...]
    skills: tuple[FileSkill, ...] = ()  # how those of them are kept that are new


class _TimerResult(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class TimerStarted(_TimerResult):
    """`StartTimer`."""

    timer_skill: str
    timer_emoji: str


class TimerDiscarded(_TimerResult):
    """`StopTimer` that logs nothing."""

    discarded_minutes: int
    timer_skill: str


class PracticeForgotten(_TimerResult):
    """`ForgetPractice`."""

    sessions_deleted: int
    skills_deleted: int


class PracticeImported(_TimerResult):
    """`ImportPractice`."""

    imported: int
    already_there: int
    over_a_day: int  # the day would have more than 24 hours
    new_skills: tuple[str, ...]


TimerResult = TimerStarted | TimerDiscarded | PracticeForgotten | PracticeImported


def timer_text(language: str, change: TimerResult) -> str:
    """What was changed."""
    match change:
        case TimerStarted(timer_skill=skill, timer_emoji=emoji):
            return say(language, "timer.started", emoji=emoji, skill=escape(skill))
        case TimerDiscarded(timer_skill=skill, discarded_minutes=minutes):
            return say(language, "timer.discarded", skill=escape(skill), minutes=spell_minutes(minutes))
        case PracticeImported():
            return _imported_text(language, change)
        case PracticeForgotten(sessions_deleted=count):
            return COACH_TEXTS.plural(language, "forget.done", count)


def _imported_text(language: str, change: PracticeImported) -> str:
    said = [COACH_TEXTS.plural(language, "import.done", change.imported)]
    if change.new_skills:
        said.append(say(language, "import.new_skills", skills=", ".join(map(escape, change.new_skills))))
    if change.already_there:
        said.append(COACH_TEXTS.plural(language, "import.already", change.already_there))
    if change.over_a_day:
        said.append(COACH_TEXTS.plural(language, "import.over_a_day", change.over_a_day))
    return " ".join(said)
