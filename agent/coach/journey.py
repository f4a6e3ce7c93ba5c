"""The numbers of a way to mastery: averages, best day and week, streaks, and when the goal is reached at this pace."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from agent.calendar import week_of
from agent.coach.practice import DayTotal, Skill
from agent.coach.reports import BestReport, GoalReport, JourneyNumbers, JourneyReport, SkillJourney, skill_report

DAY = timedelta(days=1)

PACE_DAYS = 56
"""The pace that a projection goes on with is that of the last eight weeks."""

LATELY = timedelta(days=28)

HORIZON_WEEKS = 2_600
"""Fifty years: what lies beyond gets no date."""


def journey_report(
    skills: Sequence[Skill],
    totals: Sequence[DayTotal],
    today: date,
    week_start: int,
    plan_week: date | None = None,
    weekly_goal: int | None = None,
) -> JourneyReport:
    """Return the journey of each skill given, and of them together: what is archived counts nowhere."""
    by_skill: dict[str, list[DayTotal]] = {skill.id: [] for skill in skills}
    totals = [total for total in totals if total.skill_id in by_skill]
    for total in totals:
        by_skill[total.skill_id].append(total)
    journeys = []
    for skill in skills:
        days = minutes_by_day(by_skill.get(skill.id, []))
        numbers, goal = journey_of(days, today, week_start), project(days, skill.goal_minutes, today)
        journeys.append(SkillJourney(skill=skill_report(skill), numbers=numbers, goal=goal))
    overall = journey_of(minutes_by_day(totals), today, week_start)
    return JourneyReport(
        today=today,
        overall=overall,
        skills=tuple(journeys),
        plan_week=plan_week,
        weekly_goal_minutes=weekly_goal,
    )


def minutes_by_day(totals: Iterable[DayTotal]) -> Counter[date]:
    """Minutes a date, over the skills in `totals`."""
    days: Counter[date] = Counter()
    for total in totals:
        days[total.day] += total.minutes
    return days


def journey_of(days: Mapping[date, int], today: date, week_start: int = 0) -> JourneyNumbers:
    """Return the journey of these minutes a day."""
    weeks: Counter[date] = Counter()
    for day, minutes in days.items():
        weeks[week_of(day, week_start)] += minutes
    this_week, streaks = week_of(today, week_start), streaks_of(days, today)
    return JourneyNumbers(
        total_minutes=sum(days.values()),
        practice_days=len(days),
        first_day=min(days, default=None),
        weekly_average_minutes=average_a_week(days, today),
        this_week_minutes=weeks[this_week],
        last_week_minutes=weeks[this_week - timedelta(days=7)],
        today_minutes=days.get(today, 0),
        last_4_weeks_minutes=sum(minutes for day, minutes in days.items() if today - day < LATELY),
        best_day=_best(days),
        best_week=_best(weeks),
        current_streak_days=streaks.current_days,
        longest_streak_days=streaks.longest_days,
        practised_today=streaks.practised_today,
    )


def average_a_week(days: Mapping[date, int], today: date) -> int:
    """Minutes a week from the first practice day to today; less than a week counts as one."""
    if not days:
        return 0
    span_days = max((today - min(days)).days + 1, 7)
    return round(sum(days.values()) * 7 / span_days)


def project(days: Mapping[date, int], goal_minutes: int, today: date) -> GoalReport:
    """When `goal_minutes` are reached at the pace of the last eight weeks."""
    left = max(goal_minutes - sum(days.values()), 0)
    since = today - timedelta(days=PACE_DAYS - 1)
    recent = sum(minutes for day, minutes in days.items() if day >= since)
    span_days = min(max((today - min(days, default=today)).days + 1, 7), PACE_DAYS)
    pace = round(recent * 7 / span_days)
    weeks = None if left and not pace else -(-left // max(pace, 1))
    day = None if weeks is None or weeks > HORIZON_WEEKS else today + timedelta(weeks=weeks)
    return GoalReport(goal_minutes=goal_minutes, minutes_left=left, pace_minutes_a_week=pace, weeks=weeks, date=day)


def _best(minutes: Mapping[date, int]) -> BestReport | None:
    """Return the day with the most minutes; the first of equals."""
    if not minutes:
        return None
    day = min(minutes, key=lambda at: (-minutes[at], at))
    return BestReport(date=day, minutes=minutes[day])


@dataclass(frozen=True, slots=True)
class Streaks:
    """Days in a row with practice."""

    current_days: int
    longest_days: int
    practised_today: bool


def streaks_of(days: Iterable[date], today: date) -> Streaks:
    """Return the streaks of these practice days; a today without practice yet does not break the current one.

    A day past `today` counts as well: who flies west has practised "tomorrow".
    """
    practised = sorted(set(days))
    longest = run = 0
    before: date | None = None
    for day in practised:
        run = run + 1 if before is not None and day - before == DAY else 1
        longest = max(longest, run)
        before = day
    alive = before is not None and before >= today - DAY
    return Streaks(run if alive else 0, longest, today in practised)
