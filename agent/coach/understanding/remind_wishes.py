"""Reads "remind me tomorrow at seven" and "recuérdame los lunes a las 19:30": when, and of what. Pure.

The day and the rest are read as `/remind` reads them; here the time is found among the words. An hour without
"am" or "pm" is one to practise at: 1 to 6 in the afternoon, others as they are said.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from agent.coach.reminders import read_reminder
from agent.coach.understanding.amounts import read_amount
from agent.coach.understanding.clocks import Clock, read_clock
from agent.coach.understanding.days import read_coming_date
from agent.coach.understanding.words import Word, words_of
from agent.wellformed import clean

MAX_CHARS = 300
EARLIEST_HOUR = 7
"""An hour before this one, with no word on which half of the day, is meant in the afternoon."""

_ASKED = (
    r"\b(?:remind me|(?:ping|nudge|poke|alert|notify) me|(?:send|give|set) me an? (?:reminder|nudge|ping|alert)"
    r"|set an? reminder"
    r"|recu[eé]rd[ae]me|rec[oó]rdame|recordarme|recordar|record[aá]me|av[ií]s[ae]me|avisarme"
    r"|m[aá]nd[ae]me un (?:aviso|recordatorio)"
    r"|pon(?:me)? un recordatorio|crea un recordatorio)\b"
)
_LEAD = re.compile(
    r"^(?:\W|please|hey|hi|ok|and|can you|could you|would you|will you"
    r"|por favor|porfa|oye|hola|y|puedes|podr[ií]as|me){0,20}"
    rf"{_ASKED}\s*",
    re.IGNORECASE,
)
_BEHIND_TIME = re.compile(
    r"^(?:[\W\d]|every|each|day|days|morning|mornings|evening|evenings|night|nights|at|on|in|the|am|pm|daily"
    r"|tomorrow|today|tonight|next|this"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays?|please|hey|can you|could you|todos|todas|los|las|el|la"
    r"|d[ií]as?|cada|a|de|por"
    r"|ma[nñ]anas?|tardes?|noches?|hoy|lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bados?|domingos?|me puedes"
    r"|puedes|porfa|por favor){1,30}?"
    rf"{_ASKED}",
    re.IGNORECASE,
)
"""As "every morning at 7 ping me": the time first."""

_LINKS = re.compile(r"^(?:to|that|about|of|que|de|para|con)\s+|\s+(?:to|that|about|of|que|de|para)$", re.IGNORECASE)
_ONE_DAY = re.compile(
    r"\b(?:(?:on|this|next)\s+(?:mon|tues?|wednes|thurs|fri|satur|sun)day"
    r"|(?:el|este|pr[oó]ximo)\s+(?:lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo))\b",
    re.IGNORECASE,
)
_AT = frozenset({"at", "a", "las"})
_IN = frozenset({"in", "en", "dentro"})


@dataclass(frozen=True, slots=True)
class RemindWish:
    """When somebody wants to be reminded, and of what."""

    at: time
    weekdays: tuple[int, ...]  # Monday is 0; () where it is once
    day: date | None  # once, on this day
    about: str


def read_remind_wish(text: str, now: datetime) -> RemindWish | None:
    """The wish; None where a message is none, or names no time."""
    lead, behind = _LEAD.match(text[:MAX_CHARS]), _BEHIND_TIME.match(text[:MAX_CHARS])
    if lead is None and behind is None:
        return None
    if lead is not None:
        said = clean(text[lead.end() : MAX_CHARS])
    else:
        said = clean(re.sub(_ASKED, " ", text[:MAX_CHARS], count=1, flags=re.IGNORECASE))
    words = words_of(said)
    for at in range(len(words)):
        found = _soon(words, at, now) or _time(words, at)
        if found is not None:
            when, end = found
            rest = f"{said[: words[at].start]} {said[words[end].start :] if end < len(words) else ''}"
            return _wish(when, rest, now)
    return None


def _soon(words: list[Word], at: int, now: datetime) -> tuple[datetime, int] | None:
    """As "in 30 minutes", "dentro de una hora"."""
    if words[at].plain not in _IN or at + 1 >= len(words):
        return None
    start = at + 1 + (words[at + 1].plain == "de")
    amount = read_amount(words, start) if start < len(words) else None
    if amount is None or amount.vague or not 0 < amount.whole <= 24 * 60:
        return None
    return now + timedelta(minutes=amount.whole), amount.end


def _time(words: list[Word], at: int) -> tuple[time, int] | None:
    """As "at seven", "a las 19:30", "7pm"."""
    led = words[at].plain in _AT and at + 1 < len(words)
    clock = read_clock(words, at + led)
    if clock is None or not (clock.is_time or (led and _is_hour(words, at, clock))):
        return None
    minute = clock.minute % 1440
    if not clock.is_certain and minute < EARLIEST_HOUR * 60 and words[at + led].text[:1] != "0":
        minute += 12 * 60
    return time(minute // 60, minute % 60), clock.end


def _is_hour(words: list[Word], at: int, clock: Clock) -> bool:
    """Whether a bare number behind "at" or "a las" is an hour; behind "a" alone it is none."""
    return words[at].plain != "a" or words[at + 1].plain in {"la", "las"} or clock.is_certain


def _wish(when: datetime | time, rest: str, now: datetime) -> RemindWish:
    rest, date_said = _without_date(rest, now.date())
    read = read_reminder(f"{_bare(rest)} 00:00", now.date())
    about = _bare(read.about)
    if isinstance(when, datetime):
        return RemindWish(when.time().replace(second=0, microsecond=0, tzinfo=None), (), when.date(), about)
    day = date_said or read.day or _once(rest, read.weekdays, when, now)
    return RemindWish(when, () if day is not None else read.weekdays, day, about)


def _without_date(rest: str, today: date) -> tuple[str, date | None]:
    """The rest without a date that is named in it, as "on 28 March" or "el 3 de mayo de 2027", and the date."""
    words = words_of(rest)
    for at in range(len(words)):
        found = read_coming_date(words, at, today)
        if found is not None:
            behind = rest[words[found.end].start :] if found.end < len(words) else ""
            return f"{rest[: words[at].start]} {behind}", found.day
    return rest, None


def _once(rest: str, weekdays: tuple[int, ...], when: time, now: datetime) -> date | None:
    """Once, where no day is named: today, or tomorrow where that hour is over; and on one Friday, not on Fridays."""
    if len(weekdays) == 1 and _ONE_DAY.search(rest):
        ahead = (weekdays[0] - now.weekday()) % 7
        return now.date() + timedelta(days=ahead or 7 * (when <= now.time().replace(tzinfo=None)))
    if len(weekdays) < 7 or re.search(r"\b(?:every|daily|each|cada|diario|todos)\b", rest, re.IGNORECASE):
        return None
    return now.date() + timedelta(days=when <= now.time().replace(tzinfo=None))


def _bare(text: str) -> str:
    """Without small words at its ends, which only join."""
    text = text.strip(" .,:;!?¿¡")
    for _ in range(4):
        text = _LINKS.sub("", text).strip(" .,:;!?¿¡")
    return text
