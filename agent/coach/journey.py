"""The numbers of a way to mastery: averages, best day and week, streaks, and when the goal is reached at this pace."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from agent.calendar import week_of
from agent.coach.practice import DayTotal
from agent.coach.streaks import Streaks, streaks_of

PACE_DAYS = 56
"""The pace that a projection goes on with is that of the last eight weeks."""

HORIZON_WEEKS = 5_200
"""A hundred years: what lies beyond gets no date."""


@dataclass(frozen=True, slots=True)
class Best:
    """The best day, or the week that began on this day."""

    day: date
    minutes: int


@dataclass(frozen=True, slots=True)
class Projection:
    """When the goal is reached if the person goes on as in the last eight weeks."""

    minutes_left: int
    pace_minutes: int  # a week
    weeks: int | None  # None: no practice in eight weeks, so never
    day: date | None  # None: never, or in more than a hundred years


@dataclass(frozen=True, slots=True)
class Journey:
    """Everything `get_journey_stats` knows of one skill, or of all together."""

    total_minutes: int
    practice_days: int
    first_day: date | None
    weekly_average_minutes: int
    this_week_minutes: int
    last_week_minutes: int
    best_day: Best | None
    best_week: Best | None
    streaks: Streaks


def minutes_by_day(totals: Iterable[DayTotal]) -> Counter[date]:
    """Minutes a date, over the skills in `totals`."""
    days: Counter[date] = Counter()
    for total in totals:
        days[total.day] += total.minutes
    return days


def journey_of(days: Mapping[date, int], today: date, week_start: int = 0) -> Journey:
    """The journey of these minutes a day."""
    weeks: Counter[date] = Counter()
    for day, minutes in days.items():
        weeks[week_of(day, week_start)] += minutes
    this_week = week_of(today, week_start)
    return Journey(
        total_minutes=sum(days.values()),
        practice_days=len(days),
        first_day=min(days, default=None),
        weekly_average_minutes=average_a_week(days, today),
        this_week_minutes=weeks[this_week],
        last_week_minutes=weeks[this_week - timedelta(days=7)],
        best_day=_best(days),
        best_week=_best(weeks),
        streaks=streaks_of(days, today),
    )


def average_a_week(days: Mapping[date, int], today: date) -> int:
    """Minutes a week from the first practice day to today; less than a week counts as one."""
    if not days:
        return 0
    span_days = max((today - min(days)).days + 1, 7)
    return round(sum(days.values()) * 7 / span_days)


def project(days: Mapping[date, int], goal_minutes: int, today: date) -> Projection:
    """When `goal_minutes` are reached at the pace of the last eight weeks."""
    left = max(goal_minutes - sum(days.values()), 0)
    since = today - timedelta(days=PACE_DAYS - 1)
    recent = sum(minutes for day, minutes in days.items() if day >= since)
    span_days = min(max((today - min(days, default=today)).days + 1, 7), PACE_DAYS)
    pace = round(recent * 7 / span_days)
    if left and not pace:
        return Projection(left, pace, None, None)
    weeks = -(-left // pace) if left else 0
    return Projection(left, pace, weeks, today + timedelta(weeks=weeks) if weeks <= HORIZON_WEEKS else None)


def _best(minutes: Mapping[date, int]) -> Best | None:
    """The day with the most minutes; the first of equals."""
    if not minutes:
        return None
    day = min(minutes, key=lambda at: (-minutes[at], at))
    return Best(day, minutes[day])
