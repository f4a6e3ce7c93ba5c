"""Habits in the last sessions: which days, which way it goes, how long the breaks are. Pure; at most 500 sessions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from itertools import pairwise

from agent.coach.practice import PracticeSession

MAX_SESSIONS = 500
"""How many of the newest sessions are analysed."""

TREND_DAYS = 28
ACTIVE_DAYS = 30
LONG_GAP_DAYS = 3


class Trend(StrEnum):
    """The last four weeks against the four before."""

    IMPROVING = "improving"
    STABLE = "stable"
    DECLINING = "declining"


class Consistency(StrEnum):
    """How many of the last 30 days had practice."""

    EXCELLENT = "excellent"
    GOOD = "good"
    REGULAR = "regular"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Gaps:
    """Runs of days without practice between two practice days, the running one included, today not counted."""

    longest_days: int
    average_days: float  # of the gaps there are, one decimal; 0.0 without any
    over_3_days: int  # how many gaps were longer than three days
    current_days: int  # whole days without practice up to yesterday


@dataclass(frozen=True, slots=True)
class Patterns:
    """What the last sessions show."""

    sessions: int
    minutes_by_weekday: tuple[int, ...]  # seven, Monday first
    sessions_by_weekday: tuple[int, ...]  # seven, Monday first
    trend: Trend
    recent_minutes: int  # the last 28 days, today included
    recent_weeks: int  # of the last four, those since the first of these sessions: 1 ... 4
    before_minutes: int  # the 28 days before those
    gaps: Gaps
    active_days: int  # of the last 30, today included
    consistency: Consistency


def analyze_practice_patterns(sessions: Sequence[PracticeSession], today: date) -> Patterns:
    """The patterns of these sessions, in any order."""
    minutes: Counter[int] = Counter()
    counts: Counter[int] = Counter()
    for session in sessions:
        minutes[session.day.weekday()] += session.minutes
        counts[session.day.weekday()] += 1
    recent = _minutes_between(sessions, today - timedelta(days=TREND_DAYS - 1), today)
    before = _minutes_between(sessions, today - timedelta(days=2 * TREND_DAYS - 1), today - timedelta(days=TREND_DAYS))
    days = {session.day for session in sessions}
    active = sum(today - timedelta(days=ACTIVE_DAYS - 1) <= day <= today for day in days)
    return Patterns(
        sessions=len(sessions),
        minutes_by_weekday=tuple(minutes[weekday] for weekday in range(7)),
        sessions_by_weekday=tuple(counts[weekday] for weekday in range(7)),
        trend=trend_of(recent, before),
        recent_minutes=recent,
        recent_weeks=weeks_since(min(days, default=today), today),
        before_minutes=before,
        gaps=gaps_of(days, today),
        active_days=active,
        consistency=consistency_of(active),
    )


def weeks_since(first: date, today: date) -> int:
    """Weeks that have begun since a day, that one included; four at most."""
    return min(max((today - first).days, 0) // 7 + 1, TREND_DAYS // 7)


def trend_of(recent_minutes: int, before_minutes: int) -> Trend:
    """Over 1.1 times the weeks before is improving, under 0.9 declining, in between stable."""
    if recent_minutes * 10 > before_minutes * 11:
        return Trend.IMPROVING
    if recent_minutes * 10 < before_minutes * 9:
        return Trend.DECLINING
    return Trend.STABLE


def consistency_of(active_days: int) -> Consistency:
    """25 active days of 30 are excellent, 18 good, 10 regular, fewer low."""
    for least, consistency in ((25, Consistency.EXCELLENT), (18, Consistency.GOOD), (10, Consistency.REGULAR)):
        if active_days >= least:
            return consistency
    return Consistency.LOW


def gaps_of(days: set[date], today: date) -> Gaps:
    """The breaks between these practice days and up to yesterday."""
    ordered = sorted(days)
    gaps = [(after - before).days - 1 for before, after in pairwise(ordered)]
    current = max((today - ordered[-1]).days - 1, 0) if ordered else 0
    gaps = [gap for gap in (*gaps, current) if gap > 0]
    average = round(sum(gaps) / len(gaps), 1) if gaps else 0.0
    return Gaps(max(gaps, default=0), average, sum(gap > LONG_GAP_DAYS for gap in gaps), current)


def _minutes_between(sessions: Sequence[PracticeSession], first: date, last: date) -> int:
    return sum(session.minutes for session in sessions if first <= session.day <= last)
