"""Times at which the coach speaks first: a plan as the week begins, one sentence after a gap in practice. Pure."""

from collections.abc import Collection
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from statistics import median

from agent.calendar import week_of, zone_of
from agent.coach.durations import spell_minutes
from agent.coach.texts import say, say_on

GAP_DAYS = 5
"""Days without practice after which the coach says a sentence, once."""

GAP_AT = time(18)
PLAN_AT = time(8)

LATE_FOR = timedelta(hours=12)
"""A check-in that is later than this, because no gateway ran, is left out."""

RHYTHM = timedelta(days=42)
"""Practice of this time before a gap shows how often the person practises."""


def gap_at(last: date, zone: str) -> datetime:
    """Return when a gap that begins after this practice day is noticed: in the evening of its fifth day."""
    return datetime.combine(last + timedelta(days=GAP_DAYS), GAP_AT, zone_of(zone))


def is_unusual(days: Collection[date], last: date) -> bool:
    """Return True if a gap of five days is longer than this person's usual one."""
    lately = sorted(day for day in days if last - RHYTHM <= day <= last)
    steps = [(after - before).days for before, after in pairwise(lately)]
    return not steps or median(steps) < GAP_DAYS


def plan_at(today: date, week_start: int, zone: str, after: datetime) -> datetime:
    """Return the next beginning of a person's week, in the morning, after this instant."""
    first = week_of(today, week_start)
    mornings = (plan_on(first + timedelta(weeks=ahead), zone) for ahead in range(3))
    return next(morning for morning in mornings if morning > after)


def plan_on(day: date, zone: str) -> datetime:
    """Return when a week that begins on this day is opened."""
    return datetime.combine(day, PLAN_AT, zone_of(zone))


def gap_text(language: str, skill: str, minutes: int, last: date, today: date) -> str:
    """Return the one sentence after a gap."""
    values = {"when": say_on(language, last, today), "minutes": spell_minutes(minutes), "skill": skill}
    return say(language, "check_in.gap", **values)


def beginning_of_week(language: str, week_start: int) -> dict[str, str]:
    """Return the day and the time at which a week is opened, as the fields of a text."""
    return {"day": say(language, f"weekdays.{week_start}"), "time": f"{PLAN_AT:%H:%M}"}
