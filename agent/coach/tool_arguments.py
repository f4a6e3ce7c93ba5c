"""Types what the coach's tools take: the schema that a model is shown, and the bounds of each value.

None names a person: whose data it is comes from the call's context alone.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agent.coach.chart import MAX_WEEKS, USUAL_WEEKS
from agent.coach.practice import MAX_GOAL_MINUTES, WEEK_MINUTES, InsightType


class _Arguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")  # said in the schema, too: a made-up user_id is refused


class NoArguments(_Arguments):
    """Arguments of a tool that takes none."""


class WhichSkills(_Arguments):
    """Arguments of `get_user_skills`."""

    include_archived: bool = Field(False, description="With those put away.")


class WhichSessions(_Arguments):
    """Arguments of `get_practice_sessions`."""

    skill_id: str = Field(description="Id or name.", max_length=200)
    days: int = Field(30, ge=1, le=3660)


class MaybeSkill(_Arguments):
    """Arguments of `analyze_practice_patterns`."""

    skill_id: str | None = Field(None, description="Id or name; none: all.", max_length=200)


class WhichChart(_Arguments):
    """Arguments of `plot_progress`."""

    skill: str | None = Field(None, description="Name or id; none: all.", max_length=200)
    weeks: int | None = Field(None, ge=1, le=9_999, description=f"None: {USUAL_WEEKS}; at most {MAX_WEEKS} are drawn.")
    dark: bool = False


class NewSkill(_Arguments):
    """Arguments of `create_skill`."""

    name: str = Field(max_length=200)
    emoji: str | None = Field(None, max_length=16)
    colour: str | None = Field(None, description="#rrggbb", pattern="^#[0-9a-fA-F]{6}$")
    goal_hours: int = Field(10_000, ge=1, le=MAX_GOAL_MINUTES // 60)


class NewLog(_Arguments):
    """Arguments of `log_practice`."""

    skill: str = Field(description="Name or id; a new name makes a new skill.", max_length=200)
    minutes: int = Field(ge=1, le=1440)
    notes: str = Field("", description="Briefly.", max_length=4000)
    date: str | None = Field(None, description="YYYY-MM-DD, today (unless said), yesterday.", max_length=40)


class SessionChange(_Arguments):
    """Arguments of `edit_session`."""

    session_id: str | None = Field(None, description="None: the last.", max_length=64)
    minutes: int | None = Field(None, ge=1, le=1440)
    notes: str | None = Field(None, max_length=4000)
    date: str | None = Field(None, description="As in log_practice.", max_length=40)
    skill: str | None = Field(None, description="As in log_practice.", max_length=200)


class InsightArgument(_Arguments):
    """One finding of a plan."""

    type: InsightType
    title: str = Field(max_length=200)
    description: str = Field(max_length=2000)
    skill_id: str | None = Field(None, max_length=64)


class PlannedArgument(_Arguments):
    """One session of a plan."""

    date: str = Field(max_length=40)
    skill: str = Field(max_length=200)
    minutes: int = Field(ge=1, le=1440)


class NewPlan(_Arguments):
    """Arguments of `save_weekly_plan`."""

    content: str = Field(description="All of it, Markdown.", min_length=1, max_length=20_000)
    insights: tuple[InsightArgument, ...] = Field((), max_length=20)
    sessions: tuple[PlannedArgument, ...] = Field((), max_length=60)


class WhichEntries(_Arguments):
    """Arguments of `get_entries`."""

    since: str | None = Field(None, description="As date in log_practice.", max_length=40)
    until: str | None = Field(None, max_length=40)
    skill: str | None = Field(None, description="None: all.", max_length=200)
    text: str = Field("", description="In the notes.", max_length=200)
    weekday: int | None = Field(None, ge=0, le=6, description="Only this one; Monday 0.")
    totals_only: bool = Field(False, description="No list; for how much in a month, range, on a weekday.")


class WhichSession(_Arguments):
    """Arguments of `delete_session`."""

    session_id: str = Field(max_length=64)


class SkillChange(_Arguments):
    """Arguments of `edit_skill`."""

    skill: str = Field(max_length=200)
    name: str | None = Field(None, max_length=200)
    archived: bool | None = None
    colour: str | None = Field(None, description="#rrggbb", pattern="^#[0-9a-fA-F]{6}$")
    emoji: str | None = Field(None, max_length=16)
    goal_hours: int | None = Field(None, ge=1, le=MAX_GOAL_MINUTES // 60)
    weekly_minutes: int | None = Field(None, ge=0, le=WEEK_MINUTES, description="0: none.")


class TwoSkills(_Arguments):
    """Arguments of `merge_skills`."""

    skill: str = Field(max_length=200)
    into: str = Field(max_length=200)


class WeeklyGoal(_Arguments):
    """Arguments of `set_weekly_goal`."""

    minutes: int = Field(ge=0, le=WEEK_MINUTES, description="0: none.")


class Conditions(_Arguments):
    """Arguments of `set_plan_conditions`."""

    weekdays_off: tuple[int, ...] = Field((), description="Days they cannot practise; Monday 0.", max_length=7)
    most_day_minutes: int | None = Field(None, ge=1, le=1440, description="Most minutes a day; null: any.")


class NewReminder(_Arguments):
    """Arguments of `set_reminder`."""

    time: str = Field(description="HH:MM, theirs.", pattern="^([01]?[0-9]|2[0-3]):[0-5][0-9]$")
    weekdays: tuple[int, ...] = Field((), description="Monday 0; none: daily.", max_length=7)
    date: str | None = Field(None, description="YYYY-MM-DD: once, that day.", max_length=40)
    about: str = Field("", max_length=100)


class WhichReminder(_Arguments):
    """Arguments of `cancel_reminders`."""

    reminder_id: str | None = Field(None, description="None: all.", max_length=64)


class TimerSkill(_Arguments):
    """Arguments of `start_timer`."""

    skill: str = Field(max_length=200)


class TimerEnd(_Arguments):
    """Arguments of `stop_timer`."""

    minutes: int | None = Field(None, ge=1, le=1440, description="None: as counted.")
    notes: str = Field("", max_length=1000)


class WhichWeek(_Arguments):
    """Arguments of `show_plan`."""

    week: Literal["this", "next", "last"] = "this"
