"""Reads which day: "yesterday", "last friday", "on the 19th", "Nov 16", "hace dos días", "ayer por la tarde". Pure.

The person's own date comes as data. A day that nobody can tell apart is read as unclear, never guessed.
"""

from collections.abc import Sequence
from datetime import date, timedelta

from agent.coach.understanding.amounts import read_number
from agent.coach.understanding.english import ENGLISH
from agent.coach.understanding.entries import Day
from agent.coach.understanding.spanish import SPANISH
from agent.coach.understanding.tables import WordRole
from agent.coach.understanding.words import Word, phrase_end, phrases_by_first_word, plain_of

_TABLES = (ENGLISH, SPANISH)


_DAYS = phrases_by_first_word({phrase: back for table in _TABLES for phrase, back in table.days.items()})
_OPEN_DAYS = phrases_by_first_word({phrase: back for table in _TABLES for phrase, back in table.open_days.items()})
_PARTS = phrases_by_first_word(dict.fromkeys((part for table in _TABLES for part in table.parts.split("; ")), 0))
_PERIODS = phrases_by_first_word(dict.fromkeys((said for table in _TABLES for said in table.periods.split("; ")), 0))
_WEEKDAYS = {plain_of(word): day for table in _TABLES for word, day in table.weekdays.items()}
MONTHS = {plain_of(word): month for table in _TABLES for word, month in table.months.items()}
_BEFORE_NUMBER = frozenset(["hace", "in", "en", "since", "desde", "dia", "sat", "sun", "mar", "dom"])
_SHORT = {"sat": 5, "sun": 6, "mar": 1, "dom": 6}
_ORDINALS = frozenset({"st", "nd", "rd", "th", "º", "ª"})
_THE_DAY_BEFORE = frozenset({("the", "day", "before"), ("el", "dia", "antes"), ("el", "dia", "anterior")})
_YESTERDAY = frozenset({"yesterday", "yday", "ayer"})
_LAST = frozenset({"last", "past"})
_PASSED = frozenset({"pasado", "pasada", "ultimo"})
_BEFORE_DAY = frozenset({"on", "el", "this", "este", "del", "the"})
_NEXT = frozenset({"next", "proximo", "coming"})
BEGINS_DAY = frozenset(_DAYS.keys() | _OPEN_DAYS.keys() | _PERIODS.keys() | _WEEKDAYS.keys() | MONTHS.keys())
BEGINS_DAY |= _BEFORE_DAY | _LAST | _BEFORE_NUMBER
"""Words, without accents, with which a day can begin; numbers aside."""

OLDEST_DAYS = 27
"""A day of the month further back was rather meant to come: nobody says "on the 19th" of a month ago."""


def read_day(words: Sequence[Word], at: int, today: date) -> Day | None:
    """The day that these words name from here on; None where they name none."""
    for read in (_relative, _day_before, _ago, _period, _iso, _slash_date, _month_day, _weekday, _day_of_month):
        found = read(words, at, today)
        if found is not None:
            return found
    return None


def read_coming_date(words: Sequence[Word], at: int, today: date) -> Day | None:
    """The date that these words name from here on, of the next year where it is over in this one and none is said."""
    for read in (_iso, _slash_date, _month_day):
        found = read(words, at, today)
        if found is None or found.day is None:
            continue
        if found.day >= today or any(word.text == str(found.day.year) for word in words[at : found.end]):
            return found
        years = (today.year, today.year + 1)
        coming = (_date_of(year, found.day.month, found.day.day, found.end) for year in years)
        return next((each for each in coming if each.day is not None and each.day >= today), None)
    return None


def _relative(words: Sequence[Word], at: int, today: date) -> Day | None:
    for phrases, role in ((_DAYS, WordRole.DAY), (_OPEN_DAYS, WordRole.DAY_EITHER)):
        found = phrase_end(phrases, words, at)
        if found is not None:
            return Day(today - timedelta(days=found[0]), _part_end(words, found[1]), role)
    return None


def _part_end(words: Sequence[Word], at: int) -> int:
    """Where a part of the day ends that begins here, else here."""
    found = phrase_end(_PARTS, words, at)
    return found[1] if found is not None else at


def _day_before(words: Sequence[Word], at: int, today: date) -> Day | None:
    """As "yesterday and the day before": the second day back, where nothing says before what."""
    said = tuple(word.plain for word in words[at : at + 3])
    ends = at + 3 >= len(words) or not words[at + 3].is_name
    if said not in _THE_DAY_BEFORE or not ends or not any(word.plain in _YESTERDAY for word in words[:at]):
        return None
    return Day(_back(today, 2), at + 3, WordRole.DAY)


def _ago(words: Sequence[Word], at: int, today: date) -> Day | None:
    """As "two days ago", "a week ago today", "hace tres días"."""
    led = words[at].plain == "hace"
    start = at + led
    number = read_number(words, start)
    if number is None and start < len(words) and words[start].plain in {"a", "one", "un", "una"}:
        number = read_number([words[start]], 0) if words[start].is_number else None
        count, unit = 1, start + 1
    elif number is not None and number[0].denominator == 1 and number[0] <= 400:
        count, unit = int(number[0]), number[1]
    else:
        return None
    factor = {"day": 1, "days": 1, "dia": 1, "dias": 1, "week": 7, "weeks": 7, "semana": 7, "semanas": 7}.get(
        words[unit].plain if unit < len(words) else ""
    )
    end = unit + 1
    if factor is None or (not led and not (end < len(words) and words[end].plain in {"ago", "atras", "back"})):
        return None
    end += not led
    if end < len(words) and words[end].plain == "que":  # "hace 3 semanas que no ..."
        return None
    end += end < len(words) and words[end].plain in {"today", "hoy"}
    return Day(_back(today, count * factor), _part_end(words, end), WordRole.DAY)


def _back(today: date, days: int) -> date:
    return today - timedelta(days=min(days, (today - date.min).days))


def _period(words: Sequence[Word], at: int, _: date) -> Day | None:
    if words[at].plain in {"in", "en"} and at + 1 < len(words) and words[at + 1].plain in MONTHS:
        return Day(None, at + 2, WordRole.DAY_UNREAD)
    if words[at].plain in {"in", "en", "since", "desde"} and at + 1 < len(words) and _is_year(words[at + 1].text):
        return Day(None, at + 2, WordRole.DAY_UNREAD)
    found = phrase_end(_PERIODS, words, at)
    return None if found is None else Day(None, found[1], WordRole.DAY_UNREAD)


def _is_year(text: str) -> bool:
    return len(text) == 4 and text.isdecimal() and text[:2] in ("19", "20")


def _iso(words: Sequence[Word], at: int, _: date) -> Day | None:
    """As "2026-03-09"."""
    said = [word.text for word in words[at : at + 5]]
    if (
        len(said) < 5
        or said[1] != "-"
        or said[3] != "-"
        or len(said[0]) != 4
        or not (said[0] + said[2] + said[4]).isdecimal()
    ):
        return None
    return _date_of(int(said[0]), int(said[2][:3]), int(said[4][:3]), at + 5)


def _date_of(year: int, month: int, day: int, end: int) -> Day:
    try:
        return Day(date(year, month, day), end, WordRole.DAY)
    except ValueError:
        return Day(None, end, WordRole.DAY_UNREAD)


def _slash_date(words: Sequence[Word], at: int, today: date) -> Day | None:
    """As "15/11": only where the numbers tell the day from the month; "2/3" behind "on" or "el" cannot be told."""
    led = words[at].plain in {"on", "el", "dia"}
    said = [word.text for word in words[at + led : at + led + 5]]
    if len(said) < 3 or said[1] != "/" or not (said[0] + said[2]).isdecimal() or max(len(said[0]), len(said[2])) > 2:
        return None
    end, year = at + led + 3, None
    if len(said) == 5 and said[3] == "/" and said[4].isdecimal() and len(said[4]) in (2, 4):
        end, year = end + 2, int(said[4]) + (2000 if len(said[4]) == 2 else 0)
    first, second = int(said[0]), int(said[2])
    if first > 12 >= second or first == second <= 12:
        return _in_year(year, second, first, end, today)
    if second > 12 >= first:
        return _in_year(year, first, second, end, today)
    return Day(None, end, WordRole.DAY_UNREAD) if led or year is not None else None


def _in_year(year: int | None, month: int, day: int, end: int, today: date) -> Day:
    """That day of this year, or of the last where it is still to come."""
    if year is not None:
        return _date_of(year, month, day, end)
    found = _date_of(today.year, month, day, end)
    if found.day is not None and found.day > today:
        back = _date_of(today.year - 1, month, day, end) if today.year > 1 else found
        return back if (found.day - today).days > 45 else Day(found.day, end, WordRole.DAY_EITHER)
    return found


def _month_day(words: Sequence[Word], at: int, today: date) -> Day | None:
    """As "Nov 16", "16th of November", "el 16 de noviembre de 2026"."""
    if at >= len(words):
        return None
    start = at + (words[at].plain in _BEFORE_DAY)
    start += start > at and start < len(words) and words[start].plain in {"the", "dia"}
    if start >= len(words):
        return None
    if words[start].plain in MONTHS:
        behind = start + 1
        behind += behind < len(words) and words[behind].plain in {".", "the"}
        found = _ordinal(words, behind)
        if found is None:
            return None
        day, end = found
        month = MONTHS[words[start].plain]
    else:
        found = _ordinal(words, start)
        if found is None:
            return None
        behind = found[1] + (found[1] < len(words) and words[found[1]].plain in {"of", "de"})
        if behind >= len(words) or words[behind].plain not in MONTHS:
            return None
        day, end, month = found[0], behind + 1, MONTHS[words[behind].plain]
    year, end = _year(words, end)
    return _in_year(year, month, day, end, today)


def _year(words: Sequence[Word], at: int) -> tuple[int | None, int]:
    behind = at + (at < len(words) and words[at].plain in {",", "de", "del"})
    if (
        behind < len(words)
        and len(words[behind].text) == 4
        and words[behind].text.isdecimal()
        and words[behind].text[:2] in ("19", "20")
    ):
        return int(words[behind].text), behind + 1
    return None, at


def _ordinal(words: Sequence[Word], at: int) -> tuple[int, int] | None:
    """A day of the month in figures: "16", "16th"."""
    if (
        at >= len(words)
        or not words[at].text.isdecimal()
        or not words[at].is_number
        or not 1 <= int(words[at].text[:3]) <= 31
    ):
        return None
    behind = at + 1
    suffixed = behind < len(words) and words[behind].plain in _ORDINALS and words[behind].follows(words[at])
    return int(words[at].text), behind + suffixed


def _weekday(words: Sequence[Word], at: int, today: date) -> Day | None:
    """As "monday", "last friday", "el lunes pasado", "el lunes día 16"."""
    start = at
    while start < len(words) and start - at < 2 and words[start].plain in (_BEFORE_DAY | _LAST):
        start += 1
    before = {word.plain for word in words[at:start]}
    if start >= len(words) or words[start].plain not in _WEEKDAYS:
        return _short_weekday(words, start, before, today)
    end = start + 1
    behind = words[end].plain if end < len(words) else ""
    said_last = bool(before & _LAST) or behind in _PASSED
    end += behind in _PASSED
    if (end < len(words) and words[end].plain in _NEXT) or (at and words[at - 1].plain in _NEXT):
        return None
    named = _weekday_number(words, end, today)
    if named is not None and named.day is not None and named.end == end + 1 and _differs(named.day, words[start]):
        named = None  # "flute: mon 30, tue 45"
    back = (today.weekday() - _WEEKDAYS[words[start].plain]) % 7
    if said_last and back == 0:
        back = 7
    role = WordRole.DAY if said_last else WordRole.DAY_EITHER
    if named is not None:
        agrees = named.day is not None and named.day.weekday() == _WEEKDAYS[words[start].plain]
        past = WordRole.DAY if agrees and named.day is not None and named.day <= today else role
        return Day(named.day if agrees else None, named.end, past if agrees else WordRole.DAY_UNREAD)
    end = _part_end(words, end)
    return Day(_back(today, back), end, role)


def _differs(day: date, weekday: Word) -> bool:
    return day.weekday() != _WEEKDAYS[weekday.plain]


def _short_weekday(words: Sequence[Word], start: int, before: set[str], today: date) -> Day | None:
    """As "sat" and "sun" are other words too: only behind "on" or "last"."""
    short = _SHORT.get(words[start].plain) if start < len(words) else None
    behind = words[start + 1] if start + 1 < len(words) else None
    unit = start > 0 and words[start - 1].plain in _COUNTED and words[start - 1].is_name  # "1 hr sat"
    begins = start == 0 or words[start - 1].text in ",:;" or words[start - 1].is_number
    spoken = behind is not None and (behind.plain == "i" or (begins and behind.is_number))
    spoken = spoken or (unit and (behind is None or not behind.is_name or behind.plain in {"and", "n"}))
    if short is None or not (spoken or before & {"on", "last"}) or "the" in before:
        return None
    return Day(
        _back(today, (today.weekday() - short) % 7 or 7),
        start + 1,
        WordRole.DAY if "last" in before else WordRole.DAY_EITHER,
    )


def _weekday_number(words: Sequence[Word], at: int, today: date) -> Day | None:
    """The date that says once more which weekday it was: "lunes día 16", "monday the 16th", "miércoles 11"."""
    start = at
    while start < len(words) and start - at < 2 and words[start].plain in {"the", "dia", ",", "el"}:
        start += 1
    found = _ordinal(words, start)
    if found is None or _is_counted(words, found[1]) or (start > at and words[start - 1].plain == ","):
        return _month_day(words, start, today) if start > at else None
    whole = _month_day(words, start, today)
    return whole if whole is not None else _of_month(found[0], found[1], today)


_COUNTED = frozenset([
    "m", "min", "mins", "minute", "minutes", "minuto", "minutos", "h", "hr", "hrs", "hs", "hour", "hours", "hora",
    "horas", "day", "days", "dia", "dias", "week", "weeks", "semana", "semanas", ":", "'", "′", "’", "-", "/", "%",
    "and", "y", "or", "o", "to"
])  # fmt: skip


def _is_counted(words: Sequence[Word], at: int) -> bool:
    """Whether a unit stands here: the number before it counts something."""
    return at < len(words) and words[at].plain in _COUNTED


def _day_of_month(words: Sequence[Word], at: int, today: date) -> Day | None:
    """As "on the 19th", "el 19", "el día 16"."""
    said = [word.plain for word in words[at : at + 3]]
    start = at
    if said[:2] == ["on", "the"] or said[:2] in (["el", "dia"], ["del", "dia"]):
        start = at + 2
    elif said[:1] in (["the"], ["el"], ["dia"]):
        start = at + 1
    if start == at:
        return None
    found = _ordinal(words, start)
    if found is None or _is_counted(words, found[1]):
        return None
    if said[0] in {"the", "on"} and found[1] == start + 1:
        return None  # "the 19 bars"
    if (
        said[0] == "el"
        and start == at + 1
        and found[1] < len(words)
        and words[found[1]].is_name
        and words[found[1]].plain not in _WEEKDAYS
    ):
        behind = words[found[1]].plain
        if behind not in {"practique", "toque", "estudie", "hice", "estuve", "hoy", "por", "de", "a", "he", "jugue"}:
            return None
    return _of_month(found[0], found[1], today)


def _of_month(day: int, end: int, today: date) -> Day:
    """The newest such day of a month that is not to come."""
    month = today.replace(day=1)
    for _ in range(2):
        try:
            found = month.replace(day=day)
        except ValueError:
            found = None
        if found is not None and found <= today:
            return Day(found, end, WordRole.DAY if (today - found).days <= OLDEST_DAYS else WordRole.DAY_UNREAD)
        if month == date.min:
            break
        month = (month - timedelta(days=1)).replace(day=1)
    return Day(None, end, WordRole.DAY_UNREAD)
