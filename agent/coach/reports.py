"""Types the answers of the coach's tools: the JSON a model reads, and what the templates are filled from. Pure.

Every number a model may say is here already worked out, so that it has none to invent. Times are whole minutes beside
the same as words ("12 h 15 min"). `journey` and `patterns` count what is more than a sum.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from agent.coach.durations import spell_minutes
from agent.coach.practice import Insight, PracticeSession, Skill, level_of, name_key, next_level

MAX_SESSIONS_SHOWN = 200


class Trend(StrEnum):
    """The last four weeks against the four before."""

    IMPROVING = "improving"
    STABLE = "stable"
    DECLINING = "declining"
    TOO_EARLY = "too_early"  # no practice before the last four weeks: nothing to compare with


class Consistency(StrEnum):
    """The number of the last 30 days that had practice."""

    EXCELLENT = "excellent"
    GOOD = "good"
    REGULAR = "regular"
    LOW = "low"


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


class SkillReport(_Report):
    """One skill with its mastery."""

    id: str
    name: str
    emoji: str
    colour: str = ""  # "#rrggbb"; "" where an older version wrote the report, as below
    archived: bool
    total_minutes: int
    total: str
    session_count: int = 0
    weekly_minutes: int | None = None  # the goal for a week; None: none was set
    level: str
    level_emoji: str = ""
    minutes_to_next_level: int | None  # None: master
    next_level: str | None
    goal_minutes: int
    percent_of_goal: float  # two decimals


class SkillsReport(_Report):
    """`get_user_skills`."""

    skills: tuple[SkillReport, ...]


class SessionRow(_Report):
    """One session as it is listed."""

    id: str
    date: date
    minutes: int
    notes: str


class SessionsReport(_Report):
    """`get_practice_sessions`."""

    skill_id: str
    skill: str
    emoji: str
    days: int
    total_minutes: int
    total: str
    shown: int  # how many sessions are listed
    found: int  # how many there are
    sessions: tuple[SessionRow, ...]  # newest first


class EntryRow(_Report):
    """One session of any skill as it is listed."""

    id: str
    date: date
    skill: str
    emoji: str
    minutes: int
    notes: str


class EntriesReport(_Report):
    """`get_entries`."""

    since: date | None  # None: from the first one on
    until: date | None  # None: up to now
    skill: str | None  # None: of all
    text: str  # what the notes were searched for; "": nothing
    weekday: int | None = None  # Monday 0; None: every day
    found: int
    days: int  # with entries
    total_minutes: int
    minutes_by_skill: dict[str, int] = {}  # by name, the most practised first
    entries: tuple[EntryRow, ...]  # the newest first, the newest 200; none if only the totals were asked for


class ReminderRow(_Report):
    """One reminder."""

    id: str
    time: str  # "19:00", on the person's wall
    weekdays: tuple[int, ...]  # Monday 0; () where it is for one day
    date: str | None  # ISO; the one day
    about: str


class RemindersReport(_Report):
    """`list_reminders`."""

    reminders: tuple[ReminderRow, ...]


class BestReport(_Report):
    """The best day, or the week that began on this day."""

    date: date
    minutes: int


class GoalReport(_Report):
    """The progress to a goal, and its date at the pace of the last eight weeks."""

    goal_minutes: int
    minutes_left: int
    pace_minutes_a_week: int
    weeks: int | None  # None: no practice in eight weeks, so never
    date: date | None  # None: never, or in more than a hundred years


class JourneyNumbers(_Report):
    """The numbers of one skill, or of all together."""

    total_minutes: int
    practice_days: int
    first_day: date | None
    weekly_average_minutes: int
    this_week_minutes: int
    last_week_minutes: int
    today_minutes: int = 0
    last_4_weeks_minutes: int = 0  # the last 28 days, today included
    best_day: BestReport | None
    best_week: BestReport | None
    current_streak_days: int
    longest_streak_days: int
    practised_today: bool


class SkillJourney(_Report):
    """One skill's own journey."""

    skill: SkillReport
    numbers: JourneyNumbers
    goal: GoalReport


class JourneyReport(_Report):
    """`get_journey_stats`."""

    today: date
    overall: JourneyNumbers
    skills: tuple[SkillJourney, ...]
    weekly_goal_minutes: int | None = None  # over all skills; None: none was set
    plan_week: date | None = None  # the first day of the week that a plan asked for now is about; None: not said


class WeekRow(_Report):
    """One week of practice."""

    week: date  # its first day
    minutes: int


class PatternsReport(_Report):
    """`analyze_practice_patterns`."""

    skill_id: str | None  # None: all skills
    sessions_analysed: int
    minutes_by_weekday: tuple[int, ...]  # seven, Monday first
    sessions_by_weekday: tuple[int, ...]  # seven, Monday first
    trend: Trend
    last_4_weeks_minutes: int  # the last 28 days, today included
    weeks_of_those_4: int = 4  # those since the first session; 4 where an older version wrote the report
    the_4_before_minutes: int  # the 28 days before those
    recent_weekly_average_minutes: int = 0  # of the last 4 weeks; of those since the first session, if they are fewer
    older_weekly_average_minutes: int = 0  # of the 4 weeks before
    longest_gap_days: int  # without practice between two practice days, or up to yesterday
    average_gap_days: float  # of the gaps there are, one decimal; 0.0 without any
    gaps_over_3_days: int
    current_gap_days: int  # whole days without practice up to yesterday
    active_days_of_30: int  # today included
    consistency: Consistency
    weeks: tuple[WeekRow, ...] = ()  # the last eight, the oldest first, the running one included; none before the first
    longest_session_minutes: int = 0
    longest_by_skill: dict[str, int] = {}  # the same of each skill, by its id


class PlannedRow(_Report):
    """One session of a plan, and what was done of that skill on that day."""

    date: date
    skill: str
    planned_minutes: int
    done_minutes: int


class PlanReport(_Report):
    """`show_plan`."""

    week: date  # its first day
    is_this: bool  # the running week
    is_next: bool  # a week that has not begun
    today: date
    found: bool  # False: that week has no plan
    content: str  # Markdown
    insights: tuple[Insight, ...]
    planned: tuple[PlannedRow, ...]  # by day; none where the plan does not say
    planned_minutes: int
    done_minutes: int  # of all skills in that week


def skill_report(skill: Skill) -> SkillReport:
    """One skill."""
    following = next_level(skill.total_minutes)
    return SkillReport(
        id=skill.id,
        name=skill.name,
        emoji=skill.emoji,
        colour=skill.colour,
        archived=skill.archived,
        total_minutes=skill.total_minutes,
        total=spell_minutes(skill.total_minutes),
        session_count=skill.session_count,
        weekly_minutes=skill.weekly_minutes,
        level=level_of(skill.total_minutes).name,
        level_emoji=level_of(skill.total_minutes).emoji,
        minutes_to_next_level=following.from_minutes - skill.total_minutes if following else None,
        next_level=following.name if following else None,
        goal_minutes=skill.goal_minutes,
        percent_of_goal=round(100 * skill.total_minutes / skill.goal_minutes, 2),
    )


def skills_report(skills: Iterable[Skill]) -> SkillsReport:
    """All skills, in the order given."""
    return SkillsReport(skills=tuple(skill_report(skill) for skill in skills))


def sessions_report(skill: Skill, sessions: Sequence[PracticeSession], days: int) -> SessionsReport:
    """Return the sessions of one skill; the newest 200 are listed."""
    total = sum(session.minutes for session in sessions)
    shown = sessions[:MAX_SESSIONS_SHOWN]
    return SessionsReport(
        skill_id=skill.id,
        skill=skill.name,
        emoji=skill.emoji,
        days=days,
        total_minutes=total,
        total=spell_minutes(total),
        shown=len(shown),
        found=len(sessions),
        sessions=tuple(SessionRow(id=s.id, date=s.day, minutes=s.minutes, notes=s.notes) for s in shown),
    )


def entries_report(
    sessions: Iterable[PracticeSession],
    skills: Iterable[Skill],
    *,
    since: date | None = None,
    until: date | None = None,
    skill: Skill | None = None,
    text: str = "",
    weekday: int | None = None,
    shown: int = MAX_SESSIONS_SHOWN,
) -> EntriesReport:
    """Return the sessions of these days, or of one weekday of them, and of one skill where it is given, whose
    notes hold the text; the newest `shown` listed.
    """
    known, wanted = {each.id: each for each in skills}, name_key(text)
    found = [
        (session, known[session.skill_id])
        for session in sessions
        if session.skill_id in known
        and (since is None or session.day >= since)
        and (until is None or session.day <= until)
        and (skill is None or session.skill_id == skill.id)
        and (weekday is None or session.day.weekday() == weekday)
        and wanted in name_key(session.notes)
    ]
    by_skill: Counter[str] = Counter()
    for session, of in found:
        by_skill[of.name] += session.minutes
    rows = tuple(
        EntryRow(id=s.id, date=s.day, skill=of.name, emoji=of.emoji, minutes=s.minutes, notes=s.notes)
        for s, of in found[:shown]
    )
    return EntriesReport(
        since=since,
        until=until,
        skill=None if skill is None else skill.name,
        text=text,
        weekday=weekday,
        found=len(found),
        days=len({session.day for session, _ in found}),
        total_minutes=sum(session.minutes for session, _ in found),
        minutes_by_skill=dict(by_skill.most_common()),
        entries=rows,
    )
