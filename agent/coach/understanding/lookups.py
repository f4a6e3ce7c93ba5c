"""Reads what somebody wants to see or change of what is logged: a number, the entries of some days, one of them. Pure.

Whatever has no shape here is no wish of this kind; what a wish leads to is `offline`'s to do.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from itertools import pairwise, takewhile

from agent.coach.understanding.amounts import read_amount
from agent.coach.understanding.chunks import Circumstances, chunks_of
from agent.coach.understanding.days import MONTHS
from agent.coach.understanding.entries import Chunk
from agent.coach.understanding.skills import know
from agent.coach.understanding.tables import WordRole
from agent.coach.understanding.words import NOT_ASKED, plain_of, words_of
from agent.wellformed import clean

MAX_CHARS = 300
ANY_SKILL = ("*",)
"""For who does not know the person's skills yet: whether it may be a wish about one of them."""


class Wanted(StrEnum):
    """What is wanted of what is logged."""

    NUMBER = "number"
    ENTRIES = "entries"
    DELETE = "delete"
    EDIT = "edit"


class Number(StrEnum):
    """A number that can be asked for."""

    TODAY = "today"
    THIS_WEEK = "this_week"
    LAST_WEEK = "last_week"
    TOTAL = "total"
    AVERAGE = "average"  # a week
    STREAK = "streak"
    LONGEST_STREAK = "longest_streak"
    BEST_DAY = "best_day"
    DAYS = "days"  # with practice
    LEVEL = "level"  # of one skill
    GOAL = "goal"  # of the week
    REACH = "reach"  # when so many hours are reached
    LONGEST = "longest"  # session
    WEEKDAY = "weekday"  # with the most practice


@dataclass(frozen=True, slots=True)
class Lookup:
    """One such wish."""

    wanted: Wanted
    skill: str | None = None  # as the person spells it; None: all
    unknown: str = ""  # named like a skill, and none of theirs
    since: date | None = None
    until: date | None = None
    text: str = ""  # in the notes
    number: Number | None = None
    minutes: int | None = None  # what is right instead; of a number that is reached: so many
    pace: int | None = None  # minutes a week that are supposed for it
    day: date | None = None  # what is right instead


_HOW_MUCH = re.compile(
    r"\bhow (?:much|long|many)\b|\bcuant[oa]s?\b|^\D*\b(?:(?:in|en) )?total\b\D*$"
    r"|\b(?:my|mis|las) (?:hours|horas)\b"
)
_OF_ONESELF = re.compile(
    r"\b(?:did|have|do|'ve|had) i\b|\bi(?: have|'ve)? (?:did|done|practi\w+|play\w*|log\w*)\b|\bllevo\b|\bhice\b|\bhe\b"
    r"|\bpracti(?:que|cado)\b|\btoque\b|\btengo\b(?! que)|^\W*(?:tiempo )?total (?:de|of|for)\b"
    r"|^\W*total\b.{1,30}\b(?:time|hours)\b|\bensename\b|\bmuestrame\b"
    r"|\b(?:in|en) total\b|\bmy\b|\bmis?\b"
    r"|\b(?:this|last) (?:week|month|year)\b|\besta semana\b|\beste (?:mes|ano)\b"
    r"|\b(?:la semana|el mes|el ano) pasad[ao]\b"
    r"|\b(?:today|yesterday|hoy|ayer|so far|hasta ahora)\b"
)
_ABOUT_OTHERS = re.compile(
    r"\b(?:takes?|person|people|hacen? falta|learn|should|would|could|can|need|cost|tarda|tardan|aprender|deberia|puedo"
    r"|hay que|necesito|a day|al dia|per day|por dia|every|cada|enough|if|si)\b"
)
_NUMBERS: tuple[tuple[re.Pattern[str], Number], ...] = (
    (re.compile(r"\b(?:longest|best|record) streak\b|\bracha mas larga\b|\bmejor racha\b"), Number.LONGEST_STREAK),
    (re.compile(r"\bstreak\b|\bracha\b"), Number.STREAK),
    (
        re.compile(
            r"\bcuant[oa]s?(?: horas)? (?:me )?faltan?\b"
            r"|\bhow (?:much|many hours) (?:is |are |do i have )?(?:left|to go|until|till|remain\w*)\b"
            r"|\b(?:what|which|my) level\b|\bque nivel\b|\bmi nivel\b|\bnext level\b|\b(?:siguiente|proximo) nivel\b"
        ),
        Number.LEVEL,
    ),
    (
        re.compile(
            r"\b(?:what|which) (?:day|weekday)s?\b(?:.{0,60}\b(?:most|best|least|more)\b)"
            r"|\bwhen do i (?:usually )?practi[sc]e (?:the )?most\b"
            r"|\b(?:which|what) day of the week\b|\bque dia de la semana\b"
            r"|\bque dias?\b.{0,60}\b(?:mas|menos|mejor)\b|\bcuando practico mas\b"
            r"|\b(?:best|strongest|weakest|worst) (?:day of the week|weekday)\b|\b(?:mejor|peor) dia de la semana\b"
        ),
        Number.WEEKDAY,
    ),
    (
        re.compile(
            r"\blongest (?:\w+ )?(?:session|practice|i(?:'ve| have))\b|\b(?:sesion|practica) mas larga\b"
            r"|\bla vez que mas\b"
        ),
        Number.LONGEST,
    ),
    (re.compile(r"\bbest day\b|\bmejor dia\b"), Number.BEST_DAY),
    (re.compile(r"\bhow many days\b|\bcuantos dias\b"), Number.DAYS),
    (
        re.compile(
            r"\b(?:what(?:'s| is| was)|did i|have i|cumpli|alcance|how (?:far|much|close)|am i|cual es|cual era"
            r"|cuanto|que tal voy|como voy"
            r"|voy bien)\b[^.!]{0,50}\b(?:goals?|targets?|metas?|objetivos?)\b|\bon track\b[^.!]{0,40}\?"
            r"|^\W*(?:my|mi) (?:weekly )?(?:goal|target|meta|objetivo)(?: semanal)?\W*$"
        ),
        Number.GOAL,
    ),
)
_REACH = re.compile(
    r"\b(?:when|how (?:long|soon|many (?:days|weeks|months|years))|how far|cuando|cuant[oa]s?(?: \w+)?)\b.{0,60}?"
    r"\b(?:reach|hit|get to|make it to|be at|have done|away from|am i from|until|till|before|off|llegare|llego"
    r"|llegar|alcanzare"
    r"|alcanzar|alcanzo|cumplire|cumplo|completare|completar|tendre|hare|falta[n]?|queda[n]?|para)\b.{0,30}?"
    r"\b(?:(?P<number>\d[\d.,]{0,7}|mil|diez mil|cien|cincuenta|a hundred|fifty|a thousand|one thousand|ten thousand)"
    r"\s?(?:h|hrs?|hours?|horas?)\b)"
)
_PACE = re.compile(
    r"(?P<amount>(?:\d[\d.,]{0,5} ?(?:h|hrs?|hours?|horas?|m|min|mins|minutes?|minutos?)|half an hour|an hour|una hora"
    r"|media hora)\b)(?: \w+){0,3}? (?:(?P<day>(?:a|per|every|each|al|por|cada|todos los) (?:day|dias?)|daily)"
    r"|(?:a|per|every|each|a la|por|cada) (?:week|semana))\b"
)
_SPELLED = {
    "mil": 1_000, "a thousand": 1_000, "one thousand": 1_000, "diez mil": 10_000, "ten thousand": 10_000, "cien": 100,
    "a hundred": 100, "cincuenta": 50, "fifty": 50,
}  # fmt: skip
_HOW_MUCH_WHEN: tuple[tuple[re.Pattern[str], Number], ...] = (
    (
        re.compile(r"\b(?:a|per|each|every) week\b|\b(?:a la|por) semana\b|\bon average\b|\bde media\b|\bpromedio\b"),
        Number.AVERAGE,
    ),
    (re.compile(r"\btoday\b|\bhoy\b"), Number.TODAY),
    (re.compile(r"\bthis week\b|\besta semana\b"), Number.THIS_WEEK),
    (re.compile(r"\blast week\b|\bla semana pasada\b"), Number.LAST_WEEK),
)
_WHAT_DONE = re.compile(
    r"\bwhat (?:all )?(?:did|have) i\b|\bwhat i did\b|\bwhen did i\b|\bdid i (?:do|practi\w+|play|log|study|train)\b"
    r"|\b(?:apunte|anote|registre)\b[^?]{0,40}\?"
    r"|\bhave i (?:\w{1,9} )?(?:done|practi\w+|played|logged)\b"
    r"|(?:^|[¿.,;!]\s?)(?:y )?que (?:hice|practique|toque|estudie|he (?:hecho|practicado|tocado)|tengo anotado)\b"
    r"|\b(?:the )?last time i\b[^.!]{0,60}\?|\bwhen (?:was|is) the last time\b|\bcuando fue la ultima vez\b"
    r"|\bwhich skill\b[^.]{0,40}\b(?:most|least)\b"
    r"|\bhow long (?:since|has it been|ago)\b|\bhace cuanto\b|\bcuanto (?:tiempo )?(?:hace|llevo sin)\b"
    r"|\ben que (?:habilidad|skill)\b"
    r"|\bcuando (?:practique|toque|hice)\b|\bcuando \w+ (?:\w+ ){0,3}por ultima vez\b|\b(?:hice|practique|toque"
    r"|estudie)\b[^?]{0,80}\?"
    r"|\b(?:show|list|see)(?: me)?(?: all)?(?: my| the)? (?:entries|sessions|logs?|practice)\b"
    r"|\b(?:muestrame|ensename|ver|lista)(?: todas)?(?: mis| las)? (?:entradas|sesiones|anotaciones|practicas)\b"
)
_DID_I = re.compile(
    r"[\s¿]*(?!qu[eé]\b|as[ií]\b|aqu[ií]\b|ah[ií]\b)\w{2,14}[éí]\b[^?]{0,60}\b(?:ayer|hoy|semana|mes|lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo)\b"
    r"[^?]{0,20}\?",
    re.IGNORECASE,
)
"""As "¿escalé algo la semana pasada?"."""

_ONLY_DAYS = re.compile(
    r"¿?(?:and |y |show (?:me )?|tell me (?:about )?|(?:ensena|muestra|dime|dame)(?:me)? )?(?:my |mi |on |el |en )?"
    r"(?:(?:this|last) (?:month|week)|este mes|el mes pasado|esta semana|la semana pasada"
    r"|yesterday|ayer|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
    r"|lunes|martes|miercoles|jueves|viernes|sabado|domingo)\s?[?.!]?"
)
_SEARCH = re.compile(
    r"\b(?:find|search(?: for)?|look for|look up)\s+(?P<en>\S.{0,80}?)\s+in\s+(?:my\s+|the\s+)?(?:notes|entries|log)\b"
    r"|\bsearch\s+(?:my\s+|the\s+)?notes\s+for\s+(?P<for>\S.{0,80}?)[\s.?!]*$"
    r"|\bbusc[ao]r?\s+(?P<es>\S.{0,80}?)\s+en\s+(?:mis\s+|las\s+)?(?:notas|anotaciones|entradas)\b",
    re.IGNORECASE,
)
_DELETE = re.compile(
    r"^(?:\W|please|pls|plz|kindly|por favor|porfa|(?:can|could|would) (?:you|u)|i want to|quiero"
    r"|(?:me )?puedes|hey|oye|ok|uy|oops|actually|sorry|wait|and|then|now|ah|oh|eh"
    r"|no(?= (?:take|delete|remove|scrap))|perdona?|espera|mejor|y|ahora)*"
    r"(?:delete|remove|erase|get rid of|borr[ae]\w*|elimin[ae]\w*|quita\w*|quite (?:el|la|lo|mi)|saca (?:el|la|mi)"
    r"|scrap|wipe|take out)\b"
)
_EDIT = re.compile(
    r"^(?:\W|please|pls|plz|kindly|por favor|porfa|can you|could you|puedes|hey|oye|ok|uy|oops)*"
    r"(?:change|correct|edit|fix|update|cambi\w+|corrig\w+|corrije|edita\w*|pon|actualiza)\b"
)
_DID_CHANGE = re.compile(r"\b(?:cambié|corregí|edité|actualicé|puse)\b", re.IGNORECASE)
_SKILL_LIST = re.compile(r"\bskills?\b(?! (?:did|have) i)[^?]{0,12}\??$|\b(?:lista de |mis )habilidades\b")
_GOAL = re.compile(r"\b(?:goals?|target|metas?|objetivos?|recordatorio|reminder|alarma?|timer|temporizador)\b")
_NEW_MINUTES = re.compile(r"\b(?:to|by|for|with|por|a|en|con)\s+(\d{1,3})\s*(?:min\w*)?[\s.!]*$")
_WAS_ON = re.compile(
    r"\b(?:was|were|fue|fueron|era|eran)\b[^?]{0,40}?\b(?:not?|no)\b (?:(?:on|el|the|last|and) )*"
    r"(?:\d|to?day|yesterday|[a-z]{3,6}day|hoy|ayer|lunes|martes|miercoles|jueves|viernes|sabado|domingo)"
)
_SPAN_DAYS = re.compile(r"\b(?:last|past) (\d{1,3}) days\b|\bultimos (\d{1,3}) dias\b")


def read_lookup(text: str, skills: Sequence[str], now: datetime, language: str) -> Lookup | None:
    """What is wanted of what is logged; None where nothing is."""
    if len(text) > MAX_CHARS:
        return None
    said = clean(text)
    plain = plain_of(said.casefold().replace("’", "'"))
    wanted = _kind_of_wish(said, plain)
    if wanted is None:
        return None
    words = words_of(said)
    chunks = chunks_of(words, Circumstances(now, know(skills), language))
    found = _with_slots(wanted, plain, chunks, now.date())
    if found.skill is None:
        named = _named_like_skill(wanted, chunks)
        found = replace(found, unknown=" ".join(words[chunk.start].text for chunk in named))
    return found if skills is ANY_SKILL or _is_complete(found, plain) else None


def _kind_of_wish(said: str, plain: str) -> Lookup | None:
    """What kind of wish it is, without what the words around say of it."""
    search = _SEARCH.search(said)
    if search is not None:
        return Lookup(
            Wanted.ENTRIES, text=next(group for group in search.groups() if group is not None).strip("\"“”«» '")
        )
    number = _number_asked(plain)
    if number is not None:
        return number
    if NOT_ASKED.search(plain) or (_SKILL_LIST.search(plain) and not _DELETE.search(plain)):
        return None
    if _HOW_MUCH.search(plain) and _OF_ONESELF.search(plain) and not _ABOUT_OTHERS.search(plain):
        return Lookup(Wanted.NUMBER, number=_number_of(plain))
    only_days = _ONLY_DAYS.fullmatch(plain) and (plain.endswith("?") or " " in plain.strip())
    if _WHAT_DONE.search(plain) or _DID_I.match(said) or only_days:
        return Lookup(Wanted.ENTRIES)
    if _DELETE.search(plain):
        return Lookup(Wanted.DELETE)
    told = _DID_CHANGE.search(said) is not None  # "cambié las cuerdas"
    edits = _WAS_ON.search(plain) or (_EDIT.search(plain) and not _GOAL.search(plain) and not told)
    return Lookup(Wanted.EDIT) if edits else None


def _number_asked(plain: str) -> Lookup | None:
    """One number that is asked for by name: the streak, the goal, when so many hours are reached."""
    reach = _REACH.search(plain)
    if reach is not None:
        hours = _SPELLED.get(reach["number"]) or int(re.sub(r"\D", "", reach["number"]) or 0)
        return Lookup(Wanted.NUMBER, number=Number.REACH, minutes=60 * hours, pace=_supposed_pace(plain))
    found = (number for pattern, number in _NUMBERS if pattern.search(plain))
    number = None if re.search(r"\d", plain) else next(found, None)
    return None if number is None else Lookup(Wanted.NUMBER, number=number)


def _supposed_pace(plain: str) -> int | None:
    """Minutes a week, as in "if I do 30 minutes a day"; None where none are said."""
    said = _PACE.search(plain)
    amount = read_amount(words_of(said["amount"]), 0) if said is not None else None
    if said is None or amount is None or amount.vague:
        return None
    return amount.whole * (7 if said["day"] else 1) or None


def _number_of(plain: str) -> Number:
    return next((number for pattern, number in _HOW_MUCH_WHEN if pattern.search(plain)), Number.TOTAL)


def _with_slots(wanted: Lookup, plain: str, chunks: Sequence[Chunk], today: date) -> Lookup:
    """The wish with the skill and the days that are named."""
    skill = next(
        (chunk.skill for chunk in chunks if chunk.role in (WordRole.SKILL, WordRole.ACT) and not chunk.is_new), None
    )
    days = [chunk.day.day for chunk in chunks if chunk.day is not None and chunk.day.day is not None]
    amounts = [chunk.minutes for chunk in chunks if chunk.role in (WordRole.AMOUNT, WordRole.AMOUNT_SHORT)]
    found = replace(wanted, skill=skill)
    span = _span(plain, today)
    if span is not None:
        found = replace(found, since=span[0], until=span[1])
    elif days:
        found = replace(found, since=days[0], until=days[0])
    if found.wanted is Wanted.NUMBER and found.number is Number.TOTAL and found.since is not None:
        return replace(found, wanted=Wanted.ENTRIES, number=None)
    if found.wanted is Wanted.EDIT:
        return _with_change(found, plain, days, amounts)
    return found


def _with_change(found: Lookup, plain: str, days: Sequence[date], amounts: Sequence[int]) -> Lookup:
    """What is to be changed to what: "the french was on tuesday, not today"."""
    new = _NEW_MINUTES.search(plain)
    only = amounts[-1] if len(amounts) == 1 else None
    found = replace(found, minutes=only if new is None else int(new[1]))
    if found.minutes is None and len(days) == 2:
        wrong_last = re.search(r"(?:not|no)\b", plain) is not None
        right, wrong = (days[0], days[1]) if wrong_last else (days[1], days[0])
        return replace(found, since=wrong, until=wrong, day=right)
    return found


def _is_complete(found: Lookup, plain: str) -> bool:
    if found.wanted is Wanted.EDIT:
        changes = found.minutes is not None or found.day is not None
        return (
            changes
            and (found.skill is not None or found.since is not None)
            and "?" not in plain
            and not re.search(r"remind|recorda", plain)
        )
    if found.wanted is Wanted.DELETE:
        return bool(found.skill or found.since or found.unknown)
    return True


_NO_SKILLS = """
much many time times practice practise work training progress study studying hours minutes days longer more left money
overall lately recently altogether
long it that this them everything all last latest previous first second third wrong whole old new other duplicate
double extra tiempo practica estudio entrenamiento progreso mas dinero eso esto todo ultima ultimo primera anterior otra
nueva
"""
_GENERIC = frozenset(_NO_SKILLS.split())
_ENTRY = frozenset(["one", "ones", "entry", "session", "log", "sesion", "entrada", "anotacion"])


def _named_like_skill(wanted: Lookup, chunks: Sequence[Chunk]) -> list[Chunk]:
    """What stands where a skill would, as in "how much piano", "delete the chess one"."""
    if wanted.wanted is Wanted.DELETE:
        before = (chunk for chunk, after in pairwise(chunks) if after.plain in _ENTRY)
        return [chunk for chunk in before if _may_be_name(chunk)][:1]
    at = next((at for at, chunk in enumerate(chunks) if chunk.plain in ("much", "cuanto", "cuanta", "of")), None)
    return [] if at is None else list(takewhile(_may_be_name, chunks[at + 1 :]))


def _may_be_name(chunk: Chunk) -> bool:
    return chunk.role is WordRole.CONTENT and chunk.plain not in _GENERIC


def _months(today: date) -> list[tuple[str, tuple[date, date]]]:
    """The months by their names: the newest that has begun."""
    found = []
    for name, month in MONTHS.items():
        year = today.year - (month > today.month)
        if len(name) > 4 and year >= 1:
            first = date(year, month, 1)
            after = date(year + month // 12, month % 12 + 1, 1) if year < date.max.year else today
            found.append((rf"\b(?:in|for|of|en|de) {name}\b", (first, min(after - timedelta(days=1), today))))
    return found


def _span(plain: str, today: date) -> tuple[date, date] | None:
    """The days of a period that is named: weeks begin on Monday."""
    monday, first = today - timedelta(days=today.weekday()), today.replace(day=1)
    days = _SPAN_DAYS.search(plain)
    if days is not None:
        return today - timedelta(days=max(1, int(days[1] or days[2])) - 1), today
    before = first - timedelta(days=1)
    spans = (
        (r"\bthis month\b|\beste mes\b", (first, today)),
        (r"\blast month\b|\bmes pasado\b", (before.replace(day=1), before)),
        (r"\bthis week\b|\besta semana\b", (monday, today)),
        (r"\blast week\b|\bsemana pasada\b", (monday - timedelta(days=7), monday - timedelta(days=1))),
        *_months(today),
        (r"\bthis year\b|\beste ano\b", (today.replace(month=1, day=1), today)),
    )
    return next((span for words, span in spans if re.search(words, plain)), None)
