"""What a short message means by what was said before it: "same for piano", "and last week?", "make it 2". Pure.

Only a message of which every word has a place is one; whatever has a word more is read as if it stood alone.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from agent.coach.acts import Act, Task
from agent.coach.log_line import find_day, find_skill
from agent.coach.practice import name_key
from agent.coach.request_view import Exchange, says
from agent.coach.understanding.amounts import find_duration, find_durations
from agent.coach.understanding.chunks import Circumstances, chunks_of
from agent.coach.understanding.clauses import SKILLS
from agent.coach.understanding.entries import Chunk, Practised
from agent.coach.understanding.lookups import Lookup, Wanted
from agent.coach.understanding.reaches import LEAST
from agent.coach.understanding.reading import MOST_COUNTED, Certainty, hear
from agent.coach.understanding.skills import know
from agent.coach.understanding.tables import WordRole
from agent.coach.understanding.words import words_of
from agent.wellformed import clean

MAX_CHARS = 120
MAX_WORDS = 16
HOURS_AT_MOST = 12
"""A number without a unit that corrects hours is one of hours up to this; above, it is one of minutes."""

_MARKED = re.compile(
    r"\b(?:of it|of that|le|lo|today|yesterday|hoy|ayer|did|hice|same|ditto|likewise|mism[oa]|igual|idem|was|were|is"
    r"|it|that|thats|fue|fueron|era|eran|son|only|s[oó]lo|actually|make"
    r"|better|rather|mejor|meant|mean|sorry|perd[oó]na?|wait|espera|para|mentira|no|not|plus|on top|y|and|also"
    r"|maybe|perhaps|quiz[aá]s?|bueno|oops|ups|ay|uy|of course|done|listo|hecho"
    r"|tambi[eé]n|m[aá]s|otr[oa]s?|other|another|what about|how about|then|pon\w*|yes|yep|yeah|s[ií]|dale|ok|vale"
    r"|vice ?versa|swap\w*|switch\w*|flip|reverse\w*|backwards|rev[eé]s|inversa|contrario|(?:inter)?c[aá]mbial[oa]s"
    r"|invi[eé]rt\w+)\b",
    re.IGNORECASE,
)
_SAME = frozenset({"same", "ditto", "likewise", "mismo", "igual", "idem"})
_MORE = frozenset({
    "and", "y", "e", "plus", "also", "another", "otro", "otra", "otros", "otras", "mas", "tambien", "then", "luego",
    "ademas", "extra", "more", "too",
})  # fmt: skip
_RIGHT = frozenset({
    "was", "were", "is", "it", "that", "thats", "that's", "it's", "its", "eso", "esto", "esa", "ese", "fue", "fueron",
    "era", "eran", "son", "make", "be", "been", "meant", "mean", "said", "decir", "queria", "quise", "no", "not",
    "nope", "sorry", "wait", "oops", "actually", "perdon", "perdona", "perdone", "espera", "para", "mentira", "mejor",
    "better", "rather", "hmm", "uy", "ups", "ay", "pera", "nah", "correction", "correccion", "miento", "digo", "pon",
    "ponle", "ponlo", "dejalo", "que", "sean", "sea",
})  # fmt: skip
_SURELY_RIGHT = _RIGHT - {"it", "that", "is", "no", "not", "que", "be", "son", "para"}
_QUIET = frozenset({
    "only", "just", "solo", "nada", "like", "end", "final", "so", "pues", "bueno", "che", "eh", "well", "now",
    "ahora", "one", "ones", "el", "la", "lo", "los", "las", "the", "in", "on", "for", "of", "de", "del", "al", "a",
    "con", "with", "i", "yo", "le", "i'd", "think", "creo", "si", "yes", "yeah", "ok", "vale", "please",
    "porfa", "did", "hice", "fui", "total", "max", "tops", "today's", "minutos", "both", "days", "ambos", "dias",
    "maybe", "perhaps", "quizas", "quiza", "tal", "vez", "antes", "before", "earlier", "despues", "after",
    "afterwards", "course", "supuesto", "por", "done", "listo", "hecho",
})  # fmt: skip
_QUIET_ROLES = frozenset(WordRole(letter) for letter in "IJAOvFpPTcCB,.oLV")
_DONE = (WordRole.DONE, WordRole.DID, WordRole.PRACTISED)
_AMOUNTS = (WordRole.AMOUNT, WordRole.AMOUNT_SHORT)
_DAYS = (WordRole.DAY, WordRole.DAY_EITHER)
_NOT = frozenset({"not", "no", "instead of"})
_HALVES = re.compile(r"(?P<number>\b\d{1,2})(?: and a half| y media)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A message that has no meaning of its own: what it names, and how it goes on from what was said."""

    skill: str | None = None
    minutes: int | None = None
    number: int | None = None  # without a unit
    day: date | None = None
    is_same: bool = False
    is_more: bool = False
    is_right: bool = False  # it says what something was instead
    is_of_day: bool = False  # it begins with a day: "today was only 15"
    is_done: bool = False  # it says that something is done

    def minutes_beside(self, before: int) -> int | None:
        """So long, where so many minutes were said before: a small number corrects hours in hours. None: not said."""
        if self.minutes is not None or self.number is None:
            return self.minutes
        hours = before >= 60 and before % 30 == 0 and self.number <= HOURS_AT_MOST
        minutes = self.number * 60 if hours else self.number
        return minutes if LEAST <= minutes <= MOST_COUNTED else None

    def correct(self, entry: Practised) -> Practised:
        """The entry, with what is right instead."""
        return entry.correct(self.minutes_beside(entry.minutes or 0), self.skill, self.day)


def may_follow(text: str) -> bool:
    """Whether a message may mean something only by what was said before it."""
    return len(text) <= MAX_CHARS and _MARKED.search(text) is not None


def read_fragment(text: str, names: Sequence[str], now: datetime, language: str) -> Fragment | None:
    """What the message names, where each of its words has a place; None where one has none.

    `names` are the person's skills, `now` is on their own clock.
    """
    if len(text) > MAX_CHARS or "?" in text:
        return None
    words = words_of(clean(_HALVES.sub(r"\g<number>.5 h", text)))
    if not words or len(words) > MAX_WORDS:
        return None
    found, before = Fragment(), ""
    for chunk in chunks_of(words, Circumstances(now, know(names), language)):
        added = found if _is_refused(chunk, before) else _add(found, chunk)
        if added is None:
            return None
        found, before = added, chunk.plain
    return found


def _is_refused(chunk: Chunk, before: str) -> bool:
    """What it was not, as in "40, not 50"."""
    return before in _NOT and chunk.role in (WordRole.NUMBER, *_AMOUNTS, *_DAYS, WordRole.SKILL)


def _add(found: Fragment, chunk: Chunk) -> Fragment | None:
    """The fragment with one chunk more; None where there is no place for it, or its place is taken."""
    if chunk.role in SKILLS:
        return replace(found, skill=chunk.skill) if found.skill in (None, chunk.skill) and not chunk.is_new else None
    if chunk.role in _AMOUNTS:
        return replace(found, minutes=chunk.minutes) if found.minutes is None and chunk.minutes else None
    if chunk.role is WordRole.NUMBER:
        return replace(found, number=chunk.minutes) if found.number is None and chunk.minutes else None
    if chunk.role in _DAYS:
        day = None if chunk.day is None else chunk.day.day
        begins = found in (Fragment(), Fragment(is_more=True))
        return replace(found, day=day, is_of_day=begins) if found.day is None and day is not None else None
    plains = chunk.plain.split()
    if not _SAME.isdisjoint(plains):
        return replace(found, is_same=True)
    if chunk.role not in _QUIET_ROLES and not all(word in _RIGHT | _MORE | _QUIET for word in plains):
        return None
    return replace(
        found,
        is_more=found.is_more or not _MORE.isdisjoint(plains),
        is_right=found.is_right or not _SURELY_RIGHT.isdisjoint(plains),
        is_done=found.is_done or chunk.role in _DONE,
    )


# ---------------------------------------------------------------- after a log


def repeat_log(said: Fragment, text: str, logged: Sequence[Practised]) -> Task | None:
    """As "same for piano", "and 20 of piano": of another skill what was just logged, or so long of it."""
    if not logged or said.skill is None or said.is_right:
        return None
    last = logged[-1]
    if said.is_same and said.minutes is None and said.number is None:
        alike = {(entry.minutes, entry.day) for entry in logged}
        if len({entry.skill for entry in logged}) > 1 and len(alike) > 1:
            return None
        days = [last] if said.day is not None or len(alike) == 1 else logged
        copies = tuple(
            replace(entry, skill=said.skill, day=said.day or entry.day, is_new=False, is_near=False) for entry in days
        )
        again = said.skill in {entry.skill for entry in logged} and said.day is None
        return Task(Act.ASK_LOG if again else Act.LOG, text, practised=copies)
    minutes = said.minutes_beside(0)
    if minutes is None or not said.is_more:
        return None
    return Task(Act.LOG, text, practised=(Practised(minutes, said.skill, said.day or last.day),))


def correct_log(said: Fragment, text: str, logged: Sequence[Practised], today: date) -> Task | None:
    """As "no, that was yesterday", "sorry, chess was 35": what is right instead of what was just logged."""
    if not logged or not said.is_right or said.is_same:
        return None
    named = [entry for entry in logged if entry.skill == said.skill]
    entry = named[-1] if named else logged[-1]
    minutes = said.minutes_beside(entry.minutes or 0)
    skill = None if named else said.skill
    if (said.number is not None and minutes is None) or (minutes, said.day, skill) == (None, None, None):
        return None
    if minutes is not None and said.is_of_day and said.day != entry.day:
        return None  # another entry than that of another day
    if entry is not logged[-1]:
        lookup = Lookup(Wanted.EDIT, skill=entry.skill, since=entry.day, until=entry.day, minutes=minutes, day=said.day)
        return Task(Act.ASK_EDIT, text, lookup=lookup)
    if skill is not None and (len(logged) > 1 or minutes is not None):
        return None  # another entry may be meant
    right = None if said.day == entry.day else said.day
    return Task(Act.CORRECT, spell_right(minutes, skill, right, today))


def spell_right(minutes: int | None, skill: str | None, day: date | None, today: date) -> str:
    """What is right instead, in words that are read as that and nothing else."""
    ago = None if day is None else ("today" if day == today else day.isoformat())
    parts = ("" if minutes is None else f"{minutes} min", skill or "", ago or "")
    return "it was " + " ".join(part for part in parts if part)


_SOFTLY = re.compile(r"\b(?:maybe|perhaps|quiz[aá]s?|tal vez|bueno|or)\b", re.IGNORECASE)


def log_more(said: Fragment, text: str, logged: Sequence[Practised], today: date) -> Task | None:
    """As "today was only 15", "same yesterday", "maybe 40": so long of what was just logged, which is asked about."""
    if not logged or said.skill is not None:
        return None
    last, day = logged[-1], said.day
    if said.is_same and said.minutes is None and said.number is None:
        if day is None or day in {entry.day for entry in logged}:
            return None
        copies = {entry.skill: replace(entry, day=day, is_new=False, is_near=False) for entry in logged}
        return Task(Act.ASK_LOG, text, practised=tuple(copies.values()))
    minutes = said.minutes_beside(last.minutes or 0)
    if minutes is None or said.is_same:
        return None
    if day in (None, last.day):
        is_open = said.is_more or said.is_done or minutes == last.minutes or _SOFTLY.search(text) is None
        return None if is_open else Task(Act.ASK_CORRECTION, spell_right(minutes, None, None, today))
    entry = replace(last, minutes=minutes, day=day, is_new=False, is_near=False)
    return Task(Act.ASK_LOG, text, practised=(entry,))


def log_meant(said: Fragment, text: str, before: str, skill: str | None, today: date) -> Task | None:
    """As "done, 25 in the end" behind what somebody meant to practise, and a name behind a time without one."""
    named = said.skill is not None and said.minutes is None and said.number is None
    if named and len(times := list(find_durations(before))) == 1:
        entry = Practised(times[0].minutes, said.skill or "", said.day or find_day(before, today) or today)
    elif said.is_done and said.skill is None and skill is not None and (minutes := said.minutes_beside(0)):
        entry = Practised(minutes, skill, said.day or today)
    else:
        return None
    return Task(Act.ASK_LOG, text, practised=(entry,))


# ---------------------------------------------------------------- after a question of the coach

_WRONG = re.compile(
    r"[\W_]*(?:(?:hm+|uy|ay|eh|oh|no|nope|but|pero|wait|espera)[\W_]+)*"
    r"(?:(?:that|this|it)(?:['’]?s| is) (?:not right|wrong|not correct|incorrect|not what i (?:said|meant))"
    r"|(?:no (?:era|es|fue) as[ií]|as[ií] no(?: (?:era|es|fue))?|eso no(?: (?:era|es|fue))?|(?:eso )?est[aá] mal"
    r"|no es (?:correcto|eso)|me entendiste mal)|you got (?:it|that|me) wrong)[\W_]*",
    re.IGNORECASE,
)


def says_wrong(text: str) -> bool:
    """Whether a message says that what was understood is wrong, and not what is right."""
    return len(text) <= MAX_CHARS and _WRONG.fullmatch(text) is not None


def join_log(said: Fragment | None, text: str, asked: Task) -> Task | None:
    """As "and the same for piano" in place of a yes: the entry joins those that were asked about."""
    entries = asked.practised
    if said is None or said.skill is None or said.is_right or not entries or not (said.is_same or said.is_more):
        return None
    minutes = said.minutes_beside(0) or (entries[-1].minutes if said.is_same else None)
    if (
        minutes is None
        or None in {entry.minutes for entry in entries}
        or said.skill in {each.skill for each in entries}
    ):
        return None
    entry = Practised(minutes, said.skill, said.day or entries[-1].day)
    return replace(asked, text=text, practised=(*entries, entry))


_CLAUSE_END = re.compile(r"[,.;!?]")
_INTENDED = re.compile(
    r"\b(?:(?:meant|supposed) to (?:be|say|have been)|should(?: have|['’]ve)? (?:be|been|said))\b", re.IGNORECASE
)


def first_clause(text: str) -> str:
    """What is said before the reasons for it: "it was meant to be cello, I mistyped" is "it was cello"."""
    return _INTENDED.sub(" ", _CLAUSE_END.split(text[:MAX_CHARS], maxsplit=1)[0])


def log_created(text: str, asked: Task, names: Sequence[str], now: datetime, language: str) -> Task | None:
    """As "30 min of it": of the skill that was just created, or is about to be."""
    if asked.act not in (Act.ASK_CREATE, Act.CREATE) or find_skill(text, names) not in (None, asked.name):
        return None
    heard = hear(text, (asked.name,), now, language)
    if heard.certainty not in (Certainty.LOG, Certainty.ASK, Certainty.ASK_SKILL) or len(heard.practised) != 1:
        return None
    is_new = name_key(asked.name) not in map(name_key, names)
    entry = replace(heard.practised[0], skill=asked.name, is_new=is_new)
    return Task(Act.ASK_NEW_SKILL if is_new else Act.ASK_LOG, text, practised=(entry,))


# ---------------------------------------------------------------- what was logged lately

LOGGED = ("change.logged", "change.edited")
LATELY = 3
"""Answers back; what was logged before those is not what a correction means."""


_WAS = r"(?:was|were|fue|fueron|eran?|son)\b"


def _logging_answer(earlier: Sequence[Exchange]) -> str:
    """The newest answer of those lately that said something is logged; empty where none did."""
    return next((each.answer for each in reversed(earlier[-LATELY:]) if says(each.answer, LOGGED)), "")


def correct_another(task: Task, earlier: Sequence[Exchange], names: Sequence[str], now: datetime) -> Task | None:
    """As "the french was 20", where something else was logged last: an entry before it, or another may be meant."""
    answer = _logging_answer(earlier) if task.act in (Act.CORRECT, Act.ASK_CORRECTION) else ""
    said = find_duration(task.text) if answer else None
    skill = None if said is None else find_skill(task.text, names)
    if said is None or skill is None or name_key(skill) in name_key(answer):
        return None
    if re.search(rf"{re.escape(name_key(skill))}\W+{_WAS}", name_key(task.text)) is None:
        return None
    if not any(name_key(skill) in name_key(each.answer) for each in earlier if says(each.answer, LOGGED)):
        return replace(task, act=Act.ASK_CORRECTION)
    day = find_day(task.text, now.date()) or now.date()
    return Task(Act.ASK_EDIT, task.text, lookup=Lookup(Wanted.EDIT, skill, since=day, until=day, minutes=said.minutes))


def was_logged_last(lookup: Lookup, earlier: Sequence[Exchange]) -> bool:
    """Whether the entry that is to be changed is the last one that was logged: then it is a correction of that."""
    wanted = lookup.wanted is Wanted.EDIT and lookup.skill is not None
    return wanted and name_key(lookup.skill or "") in name_key(_logging_answer(earlier))


# ---------------------------------------------------------------- of two the other

_SWAPPED = re.compile(
    r"[\W_]*(?:(?:no|nope|sorry|wait|oops|perd[oó]n|espera|ay|uy|ups|it was|it['’]?s|that was|actually|i meant|meant"
    r"|(?:lo )?(?:quise|quer[ií]a) decir|era|fue|es|lo|hice|eso|the|is|bueno|che|en realidad|should be)[\W_]+){0,4}"
    r"(?:(?:the )?other way (?:a?round|about)|vice ?versa|(?:swap|switch|flip|reverse)(?:ed)?"
    r"(?: (?:it|them|those|that|the two|the times|both))?(?: (?:around|round|over))?|swapped|backwards"
    r"|(?:justo |exactamente )?al rev[eé]s|a la inversa|lo contrario|(?:inter)?c[aá]mbial[oa]s|invi[eé]rtel[oa]s)"
    r"(?:[\W_]+(?:please|porfa|por favor|sorry|perd[oó]n|lol|jaja|i (?:mixed|got) them (?:up|mixed up)"
    r"|me equivoqu[eé]|me confund[ií])){0,2}[\W_]*",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"\b(?:the other(?: (?:one|skill))?|(?:la|el) otr[oa](?: habilidad)?)\b"
    r"(?! (?:day|week|night|way|time|month|d[ií]a|noche|semana|vez|mes|tarde|ma[nñ]ana))",
    re.IGNORECASE,
)


def swap(text: str, logged: Sequence[Practised], asked: Sequence[Practised]) -> Task | None:
    """As "the other way round": each of the two that were just logged, or asked about, has the other's time."""
    entries = logged or asked
    if len(text) > MAX_CHARS or len({entry.skill for entry in entries}) != 2 or len(entries) != 2:
        return None
    first, last = entries
    if _SWAPPED.fullmatch(text) is None or first.minutes == last.minutes:
        return None
    swapped = (replace(first, minutes=last.minutes), replace(last, minutes=first.minutes))
    if not logged:
        return Task(Act.ASK_LOG, text, practised=swapped)
    days = (first.day, last.day)
    return Task(Act.SWAP, text, practised=swapped, lookup=Lookup(Wanted.ENTRIES, since=min(days), until=max(days)))


def name_other(text: str, last: Task | None, names: Sequence[str]) -> str:
    """The text with the name of the skill that "the other one" means: of a person's two not the one just spoken of."""
    if last is None or len(names) != 2 or len(text) > MAX_CHARS:
        return text
    spoken = {entry.skill for entry in last.practised}
    if last.lookup is not None and last.lookup.skill is not None:
        spoken.add(last.lookup.skill)
    others = [name for name in names if name not in spoken]
    return _OTHER.sub(lambda _: others[0], text) if len(others) == 1 else text


def says_other(text: str) -> bool:
    """Whether "the other one" is spoken of."""
    return _OTHER.search(text[:MAX_CHARS]) is not None
