"""Rules of schedules: when each is due in its person's zone. Pure.

A slot is one time at which a schedule is due; it comes once, whatever the clocks do. A time of day that a day does not
have (02:30 when clocks go forward) comes as much later as they jump; one that it has twice comes the first time. The
exception are cron expressions, which follow Debian's cron: what the clocks skip comes when they have jumped, and an
expression with any hour also runs in an hour that is repeated.
"""

import calendar
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice, pairwise
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from agent.calendar import zone_of

DAY = timedelta(days=1)
EVERY_DAY = tuple(range(7))
LOOK_BACK = 8 * DAY
"""Slots that were missed longer ago count only if the rule has no later one."""

SLOTS_COMPARED = 60
NEVER = "it never comes: no month that it names has that day"
_ALIASES = {
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}  # fmt: skip


_AT_A_TIME = re.compile(r"(?P<minute>\d{1,2}) (?P<hour>\d{1,2}) \* \* (?P<days>\*|[0-7](?:[-,][0-7])*)", re.ASCII)
"""A cron expression of one time a day."""


class BadTiming(ValueError):
    """A time or a rule that cannot be kept; the text says why."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One time at which a schedule is due."""

    wall: datetime  # naive, in the person's zone
    at: datetime  # aware UTC


class _Rule(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Daily(_Rule):
    """A time on some weekdays."""

    kind: Literal["daily"] = "daily"
    at: time
    weekdays: tuple[int, ...] = EVERY_DAY  # Monday 0


class Once(_Rule):
    """One time on one day."""

    kind: Literal["once"] = "once"
    day: date
    at: time


class Cron(_Rule):
    """A cron expression of five fields."""

    kind: Literal["cron"] = "cron"
    expression: str


class Every(_Rule):
    """Every so many minutes from one time of day to another; the hours of a night begin on the evening before."""

    kind: Literal["every"] = "every"
    minutes: int
    begin: time = time(0)
    end: time = time(0)  # exclusive; equal to `begin`: the whole day


Rule = Daily | Once | Cron | Every
RULES: TypeAdapter[Rule] = TypeAdapter(Annotated[Rule, Field(discriminator="kind")])


def dump_rule(rule: Rule) -> str:
    """Return a rule as JSON."""
    return RULES.dump_json(rule).decode()


def describe_rule(rule: Rule) -> str:
    """Return a rule as the person or their model gave it."""
    match rule:
        case Cron(expression=expression):
            return expression
        case Once(day=day, at=at):
            return f"{day:%Y-%m-%d} {at:%H:%M}"
        case Every(minutes=minutes, begin=begin, end=end):
            until = f"{end:%H:%M}" if end > time(0) else "24:00"
            return f"{minutes} min" + ("" if begin == end else f", {begin:%H:%M}-{until}")
        case Daily(at=at, weekdays=weekdays):
            days = "daily" if weekdays == EVERY_DAY else ",".join(calendar.day_abbr[day] for day in weekdays)
            return f"{at:%H:%M}, {days}"


def as_daily(rule: Rule) -> Daily | None:
    """Return a rule as a time on some weekdays; None if it is another one."""
    if isinstance(rule, Daily):
        return rule
    found = _AT_A_TIME.fullmatch(rule.expression) if isinstance(rule, Cron) else None
    if found is None or int(found["hour"]) > 23 or int(found["minute"]) > 59:
        return None
    days: set[int] = set()
    for part in found["days"].split(",") if found["days"] != "*" else ["1-7"]:
        first, _, last = part.partition("-")
        days.update((day - 1) % 7 for day in range(int(first), int(last or first) + 1))
    if not days:
        return None
    return Daily(at=time(int(found["hour"]), int(found["minute"])), weekdays=tuple(sorted(days)))


def to_instant(wall: datetime, zone: str) -> datetime:
    """Return the instant of a time on the wall, the first one if there are two."""
    return wall.replace(tzinfo=zone_of(zone)).astimezone(UTC)


def to_wall(at: datetime, zone: str) -> datetime:
    """Return the time on the wall at an instant."""
    return at.astimezone(zone_of(zone)).replace(tzinfo=None, fold=0)


def exists(day: date, at: time, zone: str) -> bool:
    """Return whether the day has this time: an hour is left out if clocks go forward."""
    wall = datetime.combine(day, at)
    return to_wall(to_instant(wall, zone), zone) == wall


def next_slot(rule: Rule, zone: str, after: datetime, after_wall: datetime | None = None) -> Slot | None:
    """Return the first slot later than `after`; None if none is left.

    If the person has moved, `after_wall` is the last slot on their wall: a time that was due in the zone before does
    not come again. It says nothing to rules that are due all day.
    """
    heeded = None if isinstance(rule, Every) or (isinstance(rule, Cron) and _has_any_hour(rule)) else after_wall
    for slot in _slots(rule, zone, after):
        if slot.at > after and (heeded is None or _is_later(rule, slot.wall, heeded)):
            return slot
    return None


def _is_later(rule: Rule, wall: datetime, last: datetime) -> bool:
    """Return True if a slot is later than the last one; a daily one comes once a date, also if its time changes."""
    return wall.date() > last.date() if isinstance(rule, Daily | Once) else wall > last


def due_slots(rule: Rule, zone: str, first: Slot, now: datetime, count: int) -> list[Slot]:
    """Return the last slots up to now, at most `count`, the oldest first; `first` is due."""
    start = first
    if now - first.at > LOOK_BACK:
        later = next_slot(rule, zone, now - LOOK_BACK)
        start = later if later is not None and later.at <= now else first
    found = deque([start], maxlen=count)
    for slot in _slots(rule, zone, start.at):
        if slot.at > now:
            break
        if slot.at > found[-1].at:
            found.append(slot)
    return list(found)


def _slots(rule: Rule, zone: str, after: datetime) -> Iterator[Slot]:
    """Yield slots about from `after` on: the first may be earlier."""
    match rule:
        case Once():
            wall = datetime.combine(rule.day, rule.at)
            return iter([Slot(wall, to_instant(wall, zone))])
        case Daily():
            return _daily(rule, zone, after)
        case Cron():
            return _cron(rule, zone, after)
        case Every():
            return _every(rule, zone, after)


def _days(zone: str, after: datetime) -> Iterator[date]:
    day = to_wall(after, zone).date() - DAY
    while True:
        yield day
        day += DAY


def _daily(rule: Daily, zone: str, after: datetime) -> Iterator[Slot]:
    for day in _days(zone, after):
        if day.weekday() in rule.weekdays:
            wall = datetime.combine(day, rule.at)
            yield Slot(wall, to_instant(wall, zone))


def _every(rule: Every, zone: str, after: datetime) -> Iterator[Slot]:
    step = timedelta(minutes=rule.minutes)
    for day in _days(zone, after):
        last = day if rule.begin < rule.end else day + DAY
        at = to_instant(datetime.combine(day, rule.begin), zone)
        end = to_instant(datetime.combine(last, rule.end), zone)
        while at < end:
            yield Slot(to_wall(at, zone), at)
            at += step


def _cron(rule: Cron, zone: str, after: datetime) -> Iterator[Slot]:
    from cronsim import CronSim  # noqa: PLC0415  reminders need no cron

    for at in CronSim(_spelled_out(rule.expression), after.astimezone(zone_of(zone))):
        yield Slot(at.replace(tzinfo=None, fold=0), at.astimezone(UTC))


def _spelled_out(expression: str) -> str:
    return _ALIASES.get(expression.strip().lower(), expression)


def _has_any_hour(rule: Cron) -> bool:
    return _spelled_out(rule.expression).split()[1].startswith("*")


# ---------------------------------------------------------------- what may be kept


def read_cron(expression: str) -> Cron:
    """Return a cron expression.

    Raises:
        BadTiming: it is none, has seconds, or never comes.
    """
    from cronsim import CronSim, CronSimError  # noqa: PLC0415  reminders need no cron

    fields = _spelled_out(expression).split()
    if len(fields) != 5:
        seconds = "; seconds are not supported" if len(fields) == 6 else ""
        raise BadTiming(
            f"a cron expression has five fields (minute, hour, day of the month, month, weekday), not {len(fields)}"
            f"{seconds}"
        )
    spelled_out = " ".join(fields)
    begin = datetime(2024, 1, 1)  # noqa: DTZ001  a time on a wall
    try:
        next(CronSim(spelled_out, begin))
    except CronSimError as error:
        raise BadTiming(NEVER if _has_day(fields) else f"{error}".lower()) from None
    except StopIteration:
        raise BadTiming(NEVER) from None
    return Cron(expression=expression.strip())


def _has_day(fields: Sequence[str]) -> bool:
    """Return True if the expression is one, but for its months."""
    from cronsim import CronSim, CronSimError  # noqa: PLC0415  reminders need no cron

    try:
        CronSim(" ".join([*fields[:3], "*", fields[4]]), datetime(2024, 1, 1))  # noqa: DTZ001  a time on a wall
        CronSim(" ".join([*fields[:2], "1", *fields[3:]]), datetime(2024, 1, 1))  # noqa: DTZ001  a time on a wall
    except CronSimError:
        return False
    return True


def check_interval(rule: Rule, zone: str, now: datetime, least: timedelta) -> None:
    """Check that a rule is not due too often.

    Raises:
        BadTiming: two of its slots are closer together than `least`.
    """
    slots = [slot.at for slot in islice(_slots(rule, zone, now), SLOTS_COMPARED)]
    if any(timedelta(0) < later - slot < least for slot, later in pairwise(slots)):
        minutes = least.total_seconds() / 60
        raise BadTiming(f"it is due more often than every {minutes:g} minutes, the least that is allowed here")
