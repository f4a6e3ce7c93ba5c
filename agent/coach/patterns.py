"""Weekday habits, trend and gaps of the last 500 sessions. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from agent.calendar import week_of
from agent.coach.practice import PracticeSession, Skill
from agent.coach.reports import Consistency, PatternsReport, Trend, WeekRow

MAX_SESSIONS = 500
"""The newest sessions, which are analysed."""

MAX_READ = 10_000
"""Sessions that are read: among them are those of archived skills, and the longest ever."""

WEEKS_LISTED = 8

TREND_DAYS = 28
ACTIVE_DAYS = 30
LONG_GAP_DAYS = 3


@dataclass(frozen=True, slots=True)
class Gaps:
    """Runs of days without practice between two practice days, the running one included, today not counted."""

    longest_days: int
    average_days: float  # of the gaps there are, one decimal; 0.0 without any
    over_3_days: int  # how many gaps were longer than three days
    current_days: int  # whole days without practice up to yesterday


def of_skills(sessions: Sequence[PracticeSession], skills: Sequence[Skill]) -> Sequence[PracticeSession]:
    """Return the sessions of these skills alone: what is archived is not looked at."""
    ids = {skill.id for skill in skills}
    return [session for session in sessions if session.skill_id in ids]


def patterns_report(
    logged: Sequence[PracticeSession], today: date, skill_id: str | None = None, week_start: int = 0
) -> PatternsReport:
    """Return the patterns of the newest 500 of these sessions; `skill_id` says of which skill they are, None of all."""
    sessions = logged[:MAX_SESSIONS]
    minutes: Counter[int] = Counter()
    counts: Counter[int] = Counter()
    for session in sessions:
        minutes[session.day.weekday()] += session.minutes
        counts[session.day.weekday()] += 1
    recent = _minutes_between(sessions, today - timedelta(days=TREND_DAYS - 1), today)
    before = _minutes_between(sessions, today - timedelta(days=2 * TREND_DAYS - 1), today - timedelta(days=TREND_DAYS))
    days = {session.day for session in sessions}
    recent_weeks = weeks_since(min(days, default=today), today)
    active = sum(today - timedelta(days=ACTIVE_DAYS - 1) <= day <= today for day in days)
    gaps = gaps_of(days, today)
    return PatternsReport(
        skill_id=skill_id,
        sessions_analysed=len(sessions),
        minutes_by_weekday=tuple(minutes[weekday] for weekday in range(7)),
        sessions_by_weekday=tuple(counts[weekday] for weekday in range(7)),
        trend=Trend.TOO_EARLY
        if today - min(days, default=today) < timedelta(days=TREND_DAYS)
        else trend_of(recent, before),
        last_4_weeks_minutes=recent,
        weeks_of_those_4=recent_weeks,
        the_4_before_minutes=before,
        recent_weekly_average_minutes=round(recent / recent_weeks),
        older_weekly_average_minutes=round(before / (TREND_DAYS // 7)),
        longest_gap_days=gaps.longest_days,
        average_gap_days=gaps.average_days,
        gaps_over_3_days=gaps.over_3_days,
        current_gap_days=gaps.current_days,
        active_days_of_30=active,
        consistency=consistency_of(active),
        weeks=_weeks(sessions, today, week_start),
        longest_session_minutes=max((session.minutes for session in logged), default=0),
        longest_by_skill=longest_by_skill(logged),
    )


def longest_by_skill(sessions: Sequence[PracticeSession]) -> dict[str, int]:
    """Minutes of the longest session of each skill, by its id."""
    longest: dict[str, int] = {}
    for session in sessions:
        longest[session.skill_id] = max(session.minutes, longest.get(session.skill_id, 0))
    return longest


def _weeks(sessions: Sequence[PracticeSession], today: date, week_start: int) -> tuple[WeekRow, ...]:
    """Return the last eight weeks up to the running one, those before the first session left out."""
    minutes: Counter[date] = Counter()
    for session in sessions:
        minutes[week_of(session.day, week_start)] += session.minutes
    last = week_of(today, week_start)
    weeks = (last - timedelta(weeks=ago) for ago in reversed(range(WEEKS_LISTED)))
    return tuple(WeekRow(week=week, minutes=minutes[week]) for week in weeks if week >= min(minutes, default=week))


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
    """Return the breaks between these practice days and up to yesterday."""
    ordered = sorted(days)
    gaps = [(after - before).days - 1 for before, after in pairwise(ordered)]
    current = max((today - ordered[-1]).days - 1, 0) if ordered else 0
    gaps = [gap for gap in (*gaps, current) if gap > 0]
    average = round(sum(gaps) / len(gaps), 1) if gaps else 0.0
    return Gaps(max(gaps, default=0), average, sum(gap > LONG_GAP_DAYS for gap in gaps), current)


def _minutes_between(sessions: Sequence[PracticeSession], first: date, last: date) -> int:
    return sum(session.minutes for session in sessions if first <= session.day <= last)
