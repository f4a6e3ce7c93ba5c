"""What the coach's tools answer, as models: the JSON a model reads, and what the templates are filled from. Pure.

Every number a model may say is here already worked out, so that it has none to invent. Times are whole minutes beside
the same as words ("12 h 15 min").
"""

from collections.abc import Iterable, Sequence
from datetime import date

from pydantic import BaseModel, ConfigDict

from agent.coach.durations import spell_minutes
from agent.coach.journey import Best, Journey, journey_of, minutes_by_day, project
from agent.coach.mastery import level_of, next_level
from agent.coach.patterns import Consistency, Patterns, Trend, analyze_practice_patterns
from agent.coach.practice import DayTotal, PracticeSession, Skill

MAX_SESSIONS_SHOWN = 200


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class SkillReport(_Report):
    """One skill with its mastery."""

    id: str
    name: str
    emoji: str
    archived: bool
    total_minutes: int
    total: str
    level: str
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


class BestReport(_Report):
    """A best day or week."""

    date: date
    minutes: int


class GoalReport(_Report):
    """How far the goal is, and when it is reached at the pace of the last eight weeks."""

    goal_minutes: int
    minutes_left: int
    pace_minutes_a_week: int
    weeks: int | None  # None: no practice in eight weeks
    date: date | None


class JourneyNumbers(_Report):
    """The numbers of one skill, or of all together."""

    total_minutes: int
    practice_days: int
    first_day: date | None
    weekly_average_minutes: int
    this_week_minutes: int
    last_week_minutes: int
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


class PatternsReport(_Report):
    """`analyze_practice_patterns`."""

    skill_id: str | None  # None: all skills
    sessions_analysed: int
    minutes_by_weekday: tuple[int, ...]  # seven, Monday first
    sessions_by_weekday: tuple[int, ...]  # seven, Monday first
    trend: Trend
    last_4_weeks_minutes: int
    weeks_of_those_4: int = 4  # those since the first session; 4 where an older version wrote the report
    the_4_before_minutes: int
    longest_gap_days: int
    average_gap_days: float
    gaps_over_3_days: int
    current_gap_days: int
    active_days_of_30: int
    consistency: Consistency


def skill_report(skill: Skill) -> SkillReport:
    """One skill."""
    following = next_level(skill.total_minutes)
    return SkillReport(
        id=skill.id,
        name=skill.name,
        emoji=skill.emoji,
        archived=skill.archived,
        total_minutes=skill.total_minutes,
        total=spell_minutes(skill.total_minutes),
        level=level_of(skill.total_minutes).name,
        minutes_to_next_level=following.from_minutes - skill.total_minutes if following else None,
        next_level=following.name if following else None,
        goal_minutes=skill.goal_minutes,
        percent_of_goal=round(100 * skill.total_minutes / skill.goal_minutes, 2),
    )


def skills_report(skills: Iterable[Skill]) -> SkillsReport:
    """All skills, in the order given."""
    return SkillsReport(skills=tuple(skill_report(skill) for skill in skills))


def sessions_report(skill: Skill, sessions: Sequence[PracticeSession], days: int) -> SessionsReport:
    """The sessions of one skill; the newest 200 are listed."""
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


def journey_report(skills: Sequence[Skill], totals: Sequence[DayTotal], today: date, week_start: int) -> JourneyReport:
    """The journey overall (archived skills included) and of each skill given."""
    by_skill: dict[str, list[DayTotal]] = {}
    for total in totals:
        by_skill.setdefault(total.skill_id, []).append(total)
    return JourneyReport(
        today=today,
        overall=_numbers(journey_of(minutes_by_day(totals), today, week_start)),
        skills=tuple(_skill_journey(skill, by_skill.get(skill.id, []), today, week_start) for skill in skills),
    )


def patterns_report(sessions: Sequence[PracticeSession], today: date, skill_id: str | None = None) -> PatternsReport:
    """The patterns of the sessions given."""
    return _patterns(analyze_practice_patterns(sessions, today), skill_id)


def _patterns(found: Patterns, skill_id: str | None) -> PatternsReport:
    return PatternsReport(
        skill_id=skill_id,
        sessions_analysed=found.sessions,
        minutes_by_weekday=found.minutes_by_weekday,
        sessions_by_weekday=found.sessions_by_weekday,
        trend=found.trend,
        last_4_weeks_minutes=found.recent_minutes,
        weeks_of_those_4=found.recent_weeks,
        the_4_before_minutes=found.before_minutes,
        longest_gap_days=found.gaps.longest_days,
        average_gap_days=found.gaps.average_days,
        gaps_over_3_days=found.gaps.over_3_days,
        current_gap_days=found.gaps.current_days,
        active_days_of_30=found.active_days,
        consistency=found.consistency,
    )


def _skill_journey(skill: Skill, totals: Sequence[DayTotal], today: date, week_start: int) -> SkillJourney:
    days = minutes_by_day(totals)
    goal = project(days, skill.goal_minutes, today)
    return SkillJourney(
        skill=skill_report(skill),
        numbers=_numbers(journey_of(days, today, week_start)),
        goal=GoalReport(
            goal_minutes=skill.goal_minutes,
            minutes_left=goal.minutes_left,
            pace_minutes_a_week=goal.pace_minutes,
            weeks=goal.weeks,
            date=goal.day,
        ),
    )


def _numbers(journey: Journey) -> JourneyNumbers:
    return JourneyNumbers(
        total_minutes=journey.total_minutes,
        practice_days=journey.practice_days,
        first_day=journey.first_day,
        weekly_average_minutes=journey.weekly_average_minutes,
        this_week_minutes=journey.this_week_minutes,
        last_week_minutes=journey.last_week_minutes,
        best_day=_best(journey.best_day),
        best_week=_best(journey.best_week),
        current_streak_days=journey.streaks.current_days,
        longest_streak_days=journey.streaks.longest_days,
        practised_today=journey.streaks.practised_today,
    )


def _best(best: Best | None) -> BestReport | None:
    return None if best is None else BestReport(date=best.day, minutes=best.minutes)
