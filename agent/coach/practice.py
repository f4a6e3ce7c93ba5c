"""Practice data as plain types, the ports that read and change it, the rules of one entry, and skill levels.

A level is computed from a skill's minutes and never stored.
"""

import re
from dataclasses import dataclass
from datetime import date, time
from enum import StrEnum
from typing import Any, Protocol

from agent.catalogue import DEFAULT, escape
from agent.coach.plan_conditions import PlanConditions
from agent.coach.reminders import Reminder
from agent.coach.texts import say
from agent.ports import Change, Principal
from agent.tools.base import ToolError
from agent.wellformed import clean, cut_text, normalize

GOAL_MINUTES = 600_000
"""10,000 hours: the goal of a skill unless the person chose another."""

DAY_MINUTES = 1440
MAX_GOAL_MINUTES = 100_000 * 60
WEEK_MINUTES = 7 * DAY_MINUTES
MAX_NAME_CHARS = 64
MAX_NOTES_CHARS = 1000


@dataclass(frozen=True, slots=True)
class Skill:
    """One thing a person practises, with all the minutes ever logged on it."""

    id: str
    name: str
    emoji: str
    colour: str  # "#rrggbb"
    goal_minutes: int
    archived: bool
    total_minutes: int
    session_count: int = 0  # entries that are not deleted
    weekly_minutes: int | None = None  # the goal for a week; None: none was set


@dataclass(frozen=True, slots=True)
class PracticeSession:
    """One logged stretch of practice."""

    id: str
    skill_id: str
    minutes: int  # 1 ... 1440
    day: date  # the person's own date when they practised
    notes: str = ""


@dataclass(frozen=True, slots=True)
class DayTotal:
    """All minutes of one skill on one local date."""

    skill_id: str
    day: date
    minutes: int


class InsightType(StrEnum):
    """The kinds of insight."""

    PROGRESS = "progress"
    PLATEAU = "plateau"
    STREAK = "streak"
    SUGGESTION = "suggestion"
    MILESTONE = "milestone"


@dataclass(frozen=True, slots=True)
class Insight:
    """One finding of a weekly plan."""

    type: InsightType
    title: str
    description: str
    skill_id: str | None = None  # None: about all practice


@dataclass(frozen=True, slots=True)
class PlannedSession:
    """One stretch of practice that a plan asks for."""

    day: date
    skill: str  # its name, as the plan has it
    minutes: int


@dataclass(frozen=True, slots=True)
class WeeklyPlan:
    """The plan of one week; a person has at most one a week."""

    week: date  # the first day of the person's own week
    content: str  # Markdown
    insights: tuple[Insight, ...] = ()
    skill_ids: tuple[str, ...] = ()  # the skills analysed
    sessions: tuple[PlannedSession, ...] = ()  # what it asks for, by day; none where it does not say
    conditions: PlanConditions | None = None  # to be kept for coming plans; None: those kept stay


@dataclass(frozen=True, slots=True)
class SkillEdit:
    """The changes of a skill; None leaves a field as it is."""

    name: str | None = None
    archived: bool | None = None
    colour: str | None = None  # "#rrggbb"
    emoji: str | None = None
    goal_minutes: int | None = None
    weekly_minutes: int | None = None  # 0: no goal for a week any more


MAX_TIMER_MINUTES = 12 * 60
"""A clock that ran longer was forgotten: the person says how long it really was."""


class Refusal(StrEnum):
    """Why a change of practice data is not made."""

    ZERO = "zero"  # no minutes
    TOO_LONG = "too_long"  # more than a day in one entry
    DAY_FULL = "day_full"  # more than 24 h on one date
    FUTURE = "future"  # practice that has not happened
    NO_NAME = "no_name"
    NAME_TOO_LONG = "name_too_long"
    BAD_GOAL = "bad_goal"
    UNKNOWN_SKILL = "unknown_skill"
    UNKNOWN_SESSION = "unknown_session"
    NAME_TAKEN = "name_taken"
    SAME_SKILL = "same_skill"  # merged into itself
    BAD_COLOUR = "bad_colour"
    TIMER_RUNS = "timer_runs"
    NO_TIMER = "no_timer"
    TIMER_LONG = "timer_long"  # too long to be real: it was forgotten
    NO_SUCH_TIME = "no_such_time"  # clocks go forward over it on that day
    REMINDER_PAST = "reminder_past"
    TOO_MANY_REMINDERS = "too_many_reminders"
    UNKNOWN_REMINDER = "unknown_reminder"
    ONLY_DIRECT = "only_direct"  # asked where others read along
    BAD_WEEK = "bad_week"  # a goal for a week that no week holds
    NOTHING_TO_UNDO = "nothing_to_undo"


class PracticeRefused(ToolError):
    """A change breaks a rule; it is raised before anything is written. `data` is its result, for `change_text`."""

    def __init__(self, refusal: Refusal, detail: str = "") -> None:
        result = {"change": "refused", "refused": refusal.value, "detail": detail}
        key = f"problem.{refusal.value}"
        super().__init__(say(DEFAULT, key, detail=escape(detail)), result)
        self.refusal = refusal
        self.detail = detail


def check_entry(minutes: int, day: date, today: date) -> None:
    """One entry is between a minute and a day long and not in the future.

    Raises:
        PracticeRefused: it is not.
    """
    if minutes < 1:
        raise PracticeRefused(Refusal.ZERO)
    if minutes > DAY_MINUTES:
        raise PracticeRefused(Refusal.TOO_LONG)
    if day > today:
        raise PracticeRefused(Refusal.FUTURE, day.isoformat())


def clean_name(name: str) -> str:
    """Return a skill's name as it is shown.

    Raises:
        PracticeRefused: it has no letter, or more than 64 characters.
    """
    cleaned = clean(name)
    if not any(character.isalpha() for character in cleaned):
        raise PracticeRefused(Refusal.NO_NAME)
    if len(cleaned) > MAX_NAME_CHARS or len(name_key(cleaned)) > 4 * MAX_NAME_CHARS:  # folding may lengthen
        raise PracticeRefused(Refusal.NAME_TOO_LONG, str(MAX_NAME_CHARS))
    return cleaned


def clean_notes(notes: str) -> str:
    """Normalise notes and cut them at 1,000 characters with an ellipsis."""
    return cut_text(clean(notes), MAX_NOTES_CHARS)


def name_key(name: str) -> str:
    """Return the key by which a person's skills are unique: the name without case, width or extra spaces."""
    return " ".join(normalize("NFKC", name).casefold().split())


class PracticeReader(Protocol):
    """Reads only the principal's own data. Undone sessions are left out."""

    async def skills(self, principal: Principal, *, include_archived: bool = False) -> tuple[Skill, ...]:
        """Return the skills, the most practised first, then by name."""
        ...

    async def sessions(
        self, principal: Principal, *, skill_id: str | None = None, since: date | None = None, limit: int = 500
    ) -> tuple[PracticeSession, ...]:
        """Return the newest sessions first, at most `limit`, from `since` on."""
        ...

    async def days(self, principal: Principal) -> tuple[DayTotal, ...]:
        """All practice there is, summed by skill and date, the oldest date first."""
        ...

    async def plan(self, principal: Principal, week: date) -> WeeklyPlan | None:
        """Return the plan of the week that began on this day."""
        ...

    async def reminders(self, principal: Principal) -> tuple[Reminder, ...]:
        """Return those that are to come, the next first."""
        ...

    async def weekly_goal(self, principal: Principal) -> int | None:
        """Return the minutes a week that they set themselves, over all skills; None: they set none."""
        ...

    async def plan_conditions(self, principal: Principal) -> PlanConditions:
        """Return the person's conditions for plans."""
        ...


Result = dict[str, Any]
"""The result of a change, as a JSON object that `agent.coach.changes` puts into words."""


class PracticeWriter(Protocol):
    """Changes the data of the change's own person, in its transaction. A tool returns one of these with its arguments.

    Each raises PracticeRefused if it breaks a rule.
    """

    def log(self, change: Change, skill: str, minutes: int, day: date, notes: str = "") -> Result:
        """Add a session of a skill by name or id; an unknown one is created, an archived one comes back."""
        ...

    def edit_session(
        self,
        change: Change,
        session_id: str | None = None,
        minutes: int | None = None,
        day: date | None = None,
        notes: str | None = None,
        skill: str | None = None,
    ) -> Result:
        """Correct a session, or the one logged last; what is None stays."""
        ...

    def undo_last_log(self, change: Change) -> Result:
        """Take back the session logged last, or bring back one deleted since."""
        ...

    def delete_session(self, change: Change, session_id: str) -> Result:
        """Delete any session; a skill that only it had created is archived."""
        ...

    def create_skill(
        self,
        change: Change,
        name: str,
        emoji: str | None = None,
        colour: str | None = None,
        goal_minutes: int = GOAL_MINUTES,
    ) -> Result:
        """Add a skill; one of that name stays as it is, an archived one comes back."""
        ...

    def edit_skill(self, change: Change, skill: str, edit: "SkillEdit") -> Result:
        """Change a skill by name or id."""
        ...

    def merge_skills(self, change: Change, skill: str, into: str) -> Result:
        """Give all sessions of a skill to another, undone ones too; the first is no more."""
        ...

    def set_weekly_goal(self, change: Change, minutes: int) -> Result:
        """Keep a goal over all skills; 0: none any more."""
        ...

    def set_plan_conditions(self, change: Change, conditions: PlanConditions) -> Result:
        """Keep these conditions for coming plans, in place of earlier ones."""
        ...

    def save_plan(self, change: Change, plan: WeeklyPlan, *, asks: bool = False) -> Result:
        """Keep the plan of a week; one that was there is replaced.

        With `asks`, the result's `asks_weekly` is True if the person is to be asked whether each week may begin so.
        """
        ...

    def keep_chart(self, change: Change, chart: Result, png: bytes, name: str, description: str) -> Result:
        """Keep the picture of a chart, so that it goes out with the turn's answer; b"": there is none."""
        ...

    def set_reminder(
        self, change: Change, at: time, weekdays: tuple[int, ...], day: date | None = None, about: str = ""
    ) -> Result:
        """Remind the person on these weekdays, or on one day, in the direct chat where they asked."""
        ...

    def cancel_reminders(self, change: Change, reminder_id: str | None = None) -> Result:
        """Take one reminder away, or all."""
        ...

    def start_timer(self, change: Change, skill: str) -> Result:
        """Start a clock for a skill; one runs a person."""
        ...

    def stop_timer(
        self, change: Change, minutes: int | None = None, notes: str = "", *, discards: bool = False
    ) -> Result:
        """Stop the clock and log `minutes`, or what it counted; or log nothing."""
        ...


# ---------------------------------------------------------------- how a new skill looks

DEFAULT_EMOJI = "🎯"
_EMOJIS = {
    "🎸": "guitar guitarra bass bajo ukulele ukelele",
    "🎹": "piano keyboard teclado organ",
    "🎻": "violin violín viola cello violonchelo",
    "🥁": "drums drum batería bateria percussion percusión",
    "🎷": "saxophone saxofón sax clarinet clarinete",
    "🎺": "trumpet trompeta trombone",
    "🎤": "singing voice canto voz",
    "💻": "programming coding python rust programación programar",
    "✍️": "writing escritura escribir",
    "🎨": "painting drawing pintura dibujo art arte",
    "📷": "photography fotografía",
    "🗣️": "english spanish french german japanese inglés español francés alemán japonés language idioma",
    "♟️": "chess ajedrez",
    "🏃": "running correr",
    "🏊": "swimming natación",
    "🧘": "yoga meditation meditación",
    "🍳": "cooking cocina cocinar",
    "💃": "dance dancing baile bailar",
    "📐": "mathematics math maths matemáticas",
}
_BY_WORD = {word: emoji for emoji, words in _EMOJIS.items() for word in words.split()}

_KINDS = {
    "instrument": "🎸🎹🎻🥁🎷🎺",
    "voice": "🎤",
    "language": "🗣️",
    "problems": "💻📐",
    "chess": "♟️",
    "movement": "🏃🏊🧘💃",
    "craft": "✍️🎨📷🍳",
}

COLOURS = ("#4f46e5", "#059669", "#d97706", "#dc2626", "#0891b2", "#7c3aed", "#65a30d", "#db2777")

COLOUR_NAMES = {
    "red": "#dc2626", "rojo": "#dc2626", "orange": "#ea580c", "naranja": "#ea580c", "yellow": "#ca8a04",
    "amarillo": "#ca8a04", "green": "#059669", "verde": "#059669", "blue": "#2563eb", "azul": "#2563eb",
    "purple": "#7c3aed", "morado": "#7c3aed", "violeta": "#7c3aed", "pink": "#db2777", "rosa": "#db2777",
    "brown": "#92400e", "marrón": "#92400e", "marron": "#92400e", "grey": "#6b7280", "gray": "#6b7280",
    "gris": "#6b7280", "teal": "#0d9488", "turquesa": "#0d9488", "cyan": "#0891b2", "cian": "#0891b2",
}  # fmt: skip
"""Names of colours that people may use instead of "#rrggbb"; the catalogue has their names as `colour.…`."""


def emoji_for(name: str) -> str:
    """Return the emoji of the first word that has one, else a target."""
    words = re.findall(r"\w+", name_key(name))
    return next((_BY_WORD[word] for word in words if word in _BY_WORD), DEFAULT_EMOJI)


def kind_of_practice(name: str) -> str:
    """Return the kind of exercise that suits a skill of this name: "instrument", "language", ...; else "general"."""
    emoji = emoji_for(name)
    return next((kind for kind, emojis in _KINDS.items() if emoji in emojis), "general")


KINDS_OF_PRACTICE = (*_KINDS, "general")


def colour_for(position: int) -> str:
    """Return the colour of a person's n-th skill."""
    return COLOURS[position % len(COLOURS)]


@dataclass(frozen=True, slots=True)
class Level:
    """One level of mastery."""

    key: str  # its name in the texts
    name: str  # in English
    emoji: str
    from_minutes: int  # inclusive


LEVELS = (
    Level("seed", "Seed", "🌱", 0),
    Level("apprentice", "Apprentice", "📘", 100 * 60),
    Level("intermediate", "Intermediate", "⚡", 500 * 60),
    Level("advanced", "Advanced", "🔥", 2_000 * 60),
    Level("master", "Master", "👑", 5_000 * 60),
)
"""Ascending; the last has no upper bound."""


def level_of(minutes: int) -> Level:
    """Return the level of this many minutes; its lower bound belongs to it."""
    return max((level for level in LEVELS if level.from_minutes <= max(minutes, 0)), key=lambda at: at.from_minutes)


def next_level(minutes: int) -> Level | None:
    """Return the level after the present one; None for a master."""
    return next((level for level in LEVELS if level.from_minutes > minutes), None)


def say_level(language: str, level: Level) -> str:
    """Return a level with its emoji: "🌱 Seed"."""
    return f"{level.emoji} {say(language, f'level.{level.key}')}"
