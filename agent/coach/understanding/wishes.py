"""Reads wishes that begin with a verb: "remind me tomorrow at seven", "rename guitar to acoustic guitar". Pure.

The day and the rest of a reminder are read as `/remind` reads them; here the time is found among the words. An hour
without "am" or "pm" is one to practise at: 1 to 6 in the afternoon, others as they are said. Of a wish about a skill
nothing may be left over; `/skill` takes the name first, see `agent.coach.entry_words`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum

from agent.coach.practice import COLOUR_NAMES
from agent.coach.reminders import read_reminder
from agent.coach.understanding.amounts import read_amount
from agent.coach.understanding.clocks import Clock, read_clock
from agent.coach.understanding.days import read_coming_date
from agent.coach.understanding.skills import know
from agent.coach.understanding.words import Word, words_of
from agent.wellformed import clean

MAX_CHARS = 300
EARLIEST_HOUR = 7
"""An hour before this one, with no word on which half of the day, is meant in the afternoon."""

_ASKED = (
    r"\b(?:remind me|(?:ping|nudge|poke|alert|notify) me|(?:send|give|set) me an? (?:reminder|nudge|ping|alert)"
    r"|set an? reminder|me (?:recuerdas|avisas|record[aá]s|avis[aá]s)"
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
_DAY = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays?|weekends?|days?|daily|tomorrow|today|tonight"
    r"|lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bados?|domingos?|d[ií]as?(?:\s+laborables)?|fin(?:es)?\s+de\s+semana"
    r"|findes?|diario|ma[nñ]ana|hoy)"
)
_LED = rf"(?:(?:on|every|each|this|next|los|las|cada|tod[oa]s\s+l[oa]s|el|este|pr[oó]ximo)\s+)?{_DAY}"
_BEHIND = re.compile(
    rf"(?:^|\s)(?P<days>{_LED}(?:(?:\s*,\s*|\s+)(?:and|y|e)\s+{_LED}|\s*,\s*{_LED}){{0,7}})\W*$", re.IGNORECASE
)
"""As "play guitar on Mondays and Fridays": the days last."""

_BARE_DAY = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo",
    re.IGNORECASE,
)
_WORDINGS = (
    (re.compile(r"\bweekday\b", re.IGNORECASE), "weekdays"),
    (re.compile(r"\bfines de semana\b|\bfindes\b", re.IGNORECASE), "finde"),
    (re.compile(r"\b(?:los )?d[ií]as laborables\b", re.IGNORECASE), "laborables"),
    (re.compile(r"\btonight\b", re.IGNORECASE), "today"),
)
"""As `/remind` has them."""

_AT = frozenset({"at", "a", "las"})
_IN = frozenset({"in", "en", "dentro"})


@dataclass(frozen=True, slots=True)
class RemindWish:
    """When somebody wants to be reminded, and of what."""

    at: time
    weekdays: tuple[int, ...]  # Monday is 0; () where it is once
    day: date | None  # once, on this day
    about: str


_LISTED = re.compile(
    r"[\W_]*(?:(?:please|can you|hey|and|oye|y|por favor|me) )*"
    r"(?:(?:which|what|list|show(?: me)?|see|view|do i have|tell me|are there)\b[^?]{0,30}\breminders?\b"
    r"|my reminders\W*$|reminders\W*$"
    r"|(?:qu[eé]|cu[aá]les|lista\w*|mu[eé]stra\w*|ens[eé][nñ]a\w*|ver|dime|tengo|hay)\b[^?]{0,30}\brecordatorios?\b"
    r"|mis recordatorios\W*$|recordatorios\W*$)",
    re.IGNORECASE,
)


def asks_for_reminders(text: str) -> bool:
    """Whether somebody wants to see their reminders."""
    return _LISTED.match(text[:MAX_CHARS]) is not None


_CANCELLED = re.compile(
    r"[\W_]*(?:(?:please|can you|could you|hey|ok|oye|por favor|puedes) )*"
    r"(?:(?:cancel|delete|remove|stop|turn off|clear|drop|kill|disable|get rid of)\b[^?]{0,24}"
    r"\b(?:reminders?|reminding)\b"
    r"|(?:don['’]?t|do not|stop) remind(?:ing)?\b|no more reminders"
    r"|(?:quita|borra|cancela|elimina|desactiva|para|apaga)\w*\b[^?]{0,24}\brecordatorios?\b"
    r"|(?:deja de|no me) (?:recordar|recuerdes)\w*|no m[aá]s recordatorios)",
    re.IGNORECASE,
)


def asks_to_cancel_reminders(text: str) -> bool:
    """Whether somebody wants their reminders, or the only one, taken away."""
    return _CANCELLED.match(text[:MAX_CHARS]) is not None


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
    rest, date_said = _without_date(_with_days_first(rest), now.date())
    read = read_reminder(f"{_bare(rest)} 00:00", now.date())
    about = _bare(read.about)
    if isinstance(when, datetime):
        return RemindWish(when.time().replace(second=0, microsecond=0, tzinfo=None), (), when.date(), about)
    day = date_said or read.day or _once(rest, read.weekdays, when, now)
    return RemindWish(when, () if day is not None else read.weekdays, day, about)


def _with_days_first(rest: str) -> str:
    """The rest with the days before what it is of, as `/remind` has them; one bare weekday is one day."""
    found = _BEHIND.search(rest)
    if found is not None:
        days = found["days"]
        if _BARE_DAY.fullmatch(days) is not None:
            days = f"{'on' if days.casefold().endswith('day') else 'el'} {days}"
        rest = f"{days} {_bare(rest[: found.start()])}"
    for wording, word in _WORDINGS:
        rest = wording.sub(word, rest)
    return rest


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


# ---------------------------------------------------------------- of a skill

MAX_SKILL_WISH_CHARS = 200


class SkillVerb(StrEnum):
    """What is wanted of a skill."""

    ARCHIVE = "archive"
    RESTORE = "restore"
    RENAME = "rename"
    MERGE = "merge"
    COLOUR = "colour"


@dataclass(frozen=True, slots=True)
class WishedSkill:
    """One wish about one skill."""

    verb: SkillVerb
    skill: str  # as the person spells it, where they have it; else as it is written
    value: str = ""  # the new name, the skill it goes into, or "#rrggbb"
    is_known: bool = True  # one of those they have


_POLITE = (
    r"(?:[\W_]|please\b|por favor\b|porfa\b|hey\b|oye\b|ok\b|coach\b|can you\b|could you\b|i want to\b|puedes\b"
    r"|quiero\b){0,6}+"
)
_THE = re.compile(r"(?:(?:the|my|el|la|los|las|mi|a|al)\s+)?(?:(?:skill|habilidad)\s+)?(?:de\s+)?", re.IGNORECASE)
_VERBS = {
    SkillVerb.ARCHIVE: "archive; put away; archiva; archivar; archívame",
    SkillVerb.RESTORE: "restore; unarchive; bring back; restaura; restaurar; recupera; recuperar; desarchiva"
    "; desarchivar",
    SkillVerb.RENAME: "rename; renombra; renombrar; change the name of; cambia el nombre de; cambia el nombre a"
    "; cambiar el nombre de; cámbiale el nombre a",
    SkillVerb.MERGE: "merge; combine; join; une; unir; fusiona; fusionar; junta; juntar; combina; combinar",
    SkillVerb.COLOUR: "make; paint; color; colour; recolor; recolour; pinta; pon; change the colour of"
    "; change the color of; cambia el color de",
}


def _begins(phrases: str) -> re.Pattern[str]:
    """Any of these phrases at the start, however its words are spaced, with or without accents."""
    spaced = (r"\s+".join(phrase.split()).replace("á", "[aá]").replace("í", "[ií]") for phrase in phrases.split(";"))
    return re.compile(rf"{_POLITE}(?:{'|'.join(spaced)})\s+", re.IGNORECASE)


_BEGINS = tuple((verb, _begins(phrases)) for verb, phrases in _VERBS.items())
_LINK = re.compile(r"(?:to|into|with|and|as|in|a|con|en|como|por|de|y)\s+", re.IGNORECASE)
_ENDS = re.compile(r"(?:skill\b|please\b|por favor\b|porfa\b|now\b|ahora\b|[\s.!,]){0,6}", re.IGNORECASE)
_PARTED = re.compile(
    r"(?P<name>\S.{0,60}?)\s+(?:to|into|with|and|as|a|con|en|como|por|y)\s+(?P<value>\S.{0,99})", re.IGNORECASE
)
MAX_NAME_WORDS = 3
"""Of a name that nobody knows: a longer one is a sentence about something else."""

_ALONE = frozenset({SkillVerb.ARCHIVE, SkillVerb.RESTORE})
_QUOTES = " \"'“”«»"
_HEX = re.compile(r"#[0-9a-f]{6}")


def may_be_skill_wish(text: str) -> bool:
    """Whether a message begins as such a wish: only then the person's skills are needed to read it."""
    said = clean(text[: MAX_SKILL_WISH_CHARS + 1])
    return len(said) <= MAX_SKILL_WISH_CHARS and any(begins.match(said) for _, begins in _BEGINS)


def read_skill_wish(text: str, names: Sequence[str]) -> WishedSkill | None:
    """The wish; None where a message is none, or says more than that."""
    said = clean(text[: MAX_SKILL_WISH_CHARS + 1])
    if len(said) > MAX_SKILL_WISH_CHARS or "?" in said or "\n" in said:
        return None
    for verb, begins in _BEGINS:
        found = begins.match(said)
        if found is not None:
            return _of_verb(verb, said[found.end() :].strip(), names)
    return None


def _of_verb(verb: SkillVerb, rest: str, names: Sequence[str]) -> WishedSkill | None:
    skill, behind = _take_name(rest, names)
    if verb in _ALONE:
        if skill and _ENDS.fullmatch(behind):
            return WishedSkill(verb, skill)
        name = _bare_name(_THE.sub("", rest, count=1))
        is_name = not skill and 0 < len(name.split()) <= (MAX_NAME_WORDS if verb is SkillVerb.RESTORE else 1)
        return WishedSkill(verb, name, is_known=False) if is_name else None
    if not skill and verb in (SkillVerb.RENAME, SkillVerb.MERGE):
        return _of_unknown(verb, rest, names)
    link = _LINK.match(behind)
    value = _bare_name(behind[link.end() :] if link is not None else behind)
    if not skill or not value or (link is None and verb is not SkillVerb.COLOUR):
        return None
    if verb is SkillVerb.MERGE:
        into, left = _take_name(value, names)
        return WishedSkill(verb, skill, into) if into and _ENDS.fullmatch(left) else None
    if verb is SkillVerb.COLOUR:
        colour = COLOUR_NAMES.get(value.casefold(), value.casefold())
        return WishedSkill(verb, skill, colour) if _HEX.fullmatch(colour) else None
    return WishedSkill(verb, skill, value)


def _of_unknown(verb: SkillVerb, rest: str, names: Sequence[str]) -> WishedSkill | None:
    """Of a name that is none of those in use: it may be put away. Whether there is one, whoever does it knows."""
    parted = _PARTED.fullmatch(_THE.sub("", rest, count=1))
    if parted is None or len(parted["name"].split()) > MAX_NAME_WORDS:
        return None
    name, value = _bare_name(parted["name"]), _bare_name(parted["value"])
    if verb is SkillVerb.MERGE:
        into, left = _take_name(value, names)
        value = into if _ENDS.fullmatch(left) else ""
    return WishedSkill(verb, name, value, is_known=False) if name and value else None


def _take_name(text: str, names: Sequence[str]) -> tuple[str, str]:
    """The skill that the text begins with, articles aside, and what stands behind it; "" where it begins with none."""
    known = know(names)
    for said in (text.lstrip(_QUOTES), _THE.sub("", text, count=1).lstrip(_QUOTES)):
        words = words_of(said)
        found = known.find(words, 0) if words else None
        if found is not None:
            return found[0], said[words[found[1] - 1].end :].strip(_QUOTES)
    return "", text


def _bare_name(text: str) -> str:
    """Without signs and politeness around."""
    text = text.strip(" .!,;:\"'“”«»")
    return re.sub(r"[\s,]{1,3}(?:please|por favor|porfa)$", "", text, flags=re.IGNORECASE).strip(" .!,;:\"'“”«»")
