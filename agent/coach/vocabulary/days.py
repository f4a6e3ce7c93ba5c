"""Days that a message names, on or before today: "yesterday", "el lunes pasado", "3 days ago", "Nov 16"."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from agent.coach.vocabulary.amounts import read_number
from agent.coach.vocabulary.words import Token, group_of, phrases

DAY = timedelta(days=1)
OLDEST_DAYS = 366


@dataclass(frozen=True, slots=True)
class NamedDay:
    """A day in a message."""

    day: date
    first: int  # tokens from here
    end: int  # up to here
    may_come: bool = False  # it can be said of what is still to come, too: "tonight"
    lacks_month: bool = False  # "the 20th"


def find_days(tokens: Sequence[Token], today: date) -> list[NamedDay]:
    """Return every day that is named, in order."""
    found, at = [], 0
    while at < len(tokens):
        day = _day(tokens, at, today)
        if day is not None:
            found.append(day)
        at = at + 1 if day is None else day.end
    return found


def _day(tokens: Sequence[Token], at: int, today: date) -> NamedDay | None:
    for name, back in (("today", 0), ("tonight", 0), ("yesterday", 1), ("day_before", 2)):
        if (end := phrases(name).end(tokens, at)) > at:
            return NamedDay(today - back * DAY, at, end, name == "tonight")
    return _iso(tokens, at, today) or _ago(tokens, at, today) or _date(tokens, at, today) or _weekday(tokens, at, today)


def _iso(tokens: Sequence[Token], at: int, today: date) -> NamedDay | None:
    text = "".join(token.text for token in tokens[at : at + 5])
    if len(text) != 10 or not all(token.glued for token in tokens[at + 1 : at + 5]):
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return NamedDay(day, at, at + 5) if day <= today else None


def _ago(tokens: Sequence[Token], at: int, today: date) -> NamedDay | None:
    """Read "3 days ago" and "hace 3 días"."""
    start = phrases("ago_before").end(tokens, at)
    number = read_number(tokens, start)
    if number is None or number[0].denominator > 1 or not 0 < number[0] <= OLDEST_DAYS:
        return None
    end = phrases("days" if start > at else "days_ago").end(tokens, number[1])
    return NamedDay(today - int(number[0]) * DAY, at, end) if end > number[1] else None


def _date(tokens: Sequence[Token], at: int, today: date) -> NamedDay | None:
    """Read "16 de noviembre" and "Nov 16": the last such day there was."""
    start = phrases("on").end(tokens, at)
    month = group_of("months").at(tokens, start)
    if month is not None:
        number = _of_month(tokens, month[0])
    else:
        number = _of_month(tokens, start)
        month = None if number is None else group_of("months").at(tokens, phrases("of").end(tokens, number[1]))
    if number is not None and month is None and start > at:
        return _of_this_month(tokens, number, at, start, today)
    if number is None or month is None:
        return None
    for year in (today.year, today.year - 1):
        try:
            day = date(year, month[1] + 1, number[0])
        except ValueError:
            return None
        if day <= today:
            return NamedDay(day, at, max(month[0], number[1]), may_come=year < today.year)
    return None


def _of_this_month(
    tokens: Sequence[Token], number: tuple[int, int], at: int, start: int, today: date
) -> NamedDay | None:
    """Read "on the 20th" and "el 19": the last such day there was."""
    behind = tokens[number[1]] if number[1] < len(tokens) else None
    if number[1] == start + 1 and behind is not None and (behind.is_word or behind.text in ":/-'"):
        return None  # "the 20 bars"
    days = (today - back * DAY for back in range(31))
    day = next((day for day in days if day.day == number[0]), None)
    return None if day is None else NamedDay(day, at, number[1], day.month != today.month, lacks_month=True)


def _of_month(tokens: Sequence[Token], at: int) -> tuple[int, int] | None:
    if at >= len(tokens) or not tokens[at].text.isdecimal() or not 1 <= int(tokens[at].text[:3]) <= 31:
        return None
    return int(tokens[at].text), phrases("ordinals").end(tokens, at + 1)


def _weekday(tokens: Sequence[Token], at: int, today: date) -> NamedDay | None:
    """Read a weekday: the last one there was, today included unless "last" is said."""
    start = phrases("last").end(tokens, phrases("on").end(tokens, at))
    named = group_of("weekdays").at(tokens, start)
    if named is None:
        return None
    end = phrases("last").end(tokens, named[0])
    said_last = end > named[0] or phrases("last").end(tokens, phrases("on").end(tokens, at)) > phrases("on").end(
        tokens, at
    )
    back = (today.weekday() - named[1]) % 7 or (7 if said_last else 0)
    return NamedDay(today - back * DAY, at, end, may_come=not said_last)
