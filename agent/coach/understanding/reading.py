"""What a message surely says of practice, or may say: the reading that the offline coach acts on. Pure.

It is a log only where nothing is left to doubt; what is nearly one is a question back. What the message asks for
besides is `intents`'.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from enum import StrEnum

from agent.coach.practice import DAY_MINUTES
from agent.coach.understanding.chunks import NEWLINE, Circumstances, chunks_of
from agent.coach.understanding.clauses import AMOUNTS, SKILLS, VERBS, Clause, clauses_of
from agent.coach.understanding.entries import Candidate, Chunk, Practised
from agent.coach.understanding.evidence import Evidence, weigh
from agent.coach.understanding.pairs import tells_which
from agent.coach.understanding.reaches import LEAST, find_reach
from agent.coach.understanding.skills import KnownSkills, know
from agent.coach.understanding.tables import PAUSES, Twist, WordRole
from agent.coach.understanding.words import Word, plain_of, without_telling, words_of
from agent.language import DEFAULT
from agent.wellformed import clean

MAX_CHARS = 400
"""A longer message says more than one thing; it is not surely a log."""

MAX_WORDS = 90


class Certainty(StrEnum):
    """What is to be done about what was practised."""

    LOG = "log"
    ASK = "ask"  # of skills they have: shall I?
    ASK_NEW = "ask_new"  # a name that is new
    ASK_NEAR = "ask_near"  # a name that is nearly one of theirs
    ASK_SKILL = "ask_skill"  # surely practice; of what is not said
    ASK_AMOUNT = "ask_amount"  # surely practice; how long is not said, or not clearly
    NOTHING = "nothing"  # it says nothing of practice that was done


@dataclass(frozen=True, slots=True)
class Heard:
    """One message, understood as far as words go."""

    certainty: Certainty
    practised: tuple[Practised, ...] = ()
    notes: str = ""
    twist: Twist | None = None  # what it says instead, of a duration or a skill: a wish, a goal, a denial
    meant: Practised | None = None  # what is wished for, or still to come, where it is one thing


_NO_QUESTION_BACK = (
    Twist.JOKE, Twist.REMINDER, Twist.REPORTED, Twist.HYPOTHETICAL, Twist.QUESTION, Twist.GOAL, Twist.COMMAND,
    Twist.WISH, Twist.FUTURE, Twist.NEGATED, Twist.OTHERS, Twist.HABIT, Twist.LASTS,
)  # fmt: skip
"""What a message can say instead of practice that was done; of several the first is answered."""

LEAST_PLAIN = 10
MOST_COUNTED = 300
"""Minutes; a greater number without a unit is hardly a session's."""

MAX_NAME_WORDS = 4
_NOTED = frozenset({WordRole.CONTENT, WordRole.OTHER, WordRole.WHILE, WordRole.BUT, WordRole.SKILL, WordRole.NUMBER})
_OF_TERSE = frozenset(WordRole(letter) for letter in "OJYyKFTPpiLowdDa")
ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)
_OF_PRACTICE = AMOUNTS | VERBS | {WordRole.AMOUNT_VAGUE, WordRole.DAY, WordRole.NUMBER}


@dataclass(frozen=True, slots=True)
class _Message:
    text: str
    words: Sequence[Word]
    chunks: Sequence[Chunk]
    skills: KnownSkills
    now: datetime


def hear(text: str, skills: Sequence[str], now: datetime, language: str) -> Heard:
    """What a message says of practice; `now` is the person's own, `language` theirs where the words tell none."""
    if len(text) > MAX_CHARS:
        return Heard(Certainty.NOTHING)
    said = without_telling(clean(text.replace("\n", f" {NEWLINE} ").replace("[ ]", "☐")))
    words = words_of(said)
    if len(words) > MAX_WORDS:
        return Heard(Certainty.NOTHING)
    known = know(skills)
    chunks = chunks_of(words, Circumstances(now, known, language))
    message = _Message(said, words, chunks, known, now)
    clauses = clauses_of(chunks)
    found = weigh(clauses, now)
    standing = found.standing
    if any(entry.amount.minutes > DAY_MINUTES for entry in standing):
        return Heard(Certainty.NOTHING, twist=Twist.TOO_LONG)
    cut = any(clause.is_cut for clause in clauses)
    doubted = [entry for entry in found.entries if entry.twist is Twist.LASTS and entry.is_sure]  # as "on the bus"
    if standing and doubted:
        both = Evidence(
            tuple(replace(entry, twist=None) for entry in found.entries if entry in [*standing, *doubted]), False
        )
        return Heard(Certainty.ASK, both.to_practised(now.date()))
    if standing and found.is_clear and not cut and all(entry.is_sure for entry in standing):
        return _sure(message, found)
    if found.entries and not standing:
        return _learning(message) or _untold(message)
    return (
        _ask(found.to_practised(now.date()), _find_names(message, clauses))
        or _find_enjoyment(message, clauses)
        or _counted_last(message, clauses)
        or _lacking(message, clauses)
        or _learning(message)
        or _untold(message)
    )


def _untold(message: _Message) -> Heard:
    """What a message says instead of practice that was done."""
    amounts = [chunk.minutes for chunk in message.chunks if chunk.role in AMOUNTS]
    skills = {chunk.skill for chunk in message.chunks if chunk.role in SKILLS and not chunk.is_new}
    twist = _twist_of(message.chunks)
    is_goal = twist is Twist.GOAL and not skills
    is_one = len(amounts) == 1 and amounts[0] > 0 and (is_goal or (len(skills) == 1 and amounts[0] <= DAY_MINUTES))
    meant = Practised(amounts[0], "" if is_goal else skills.pop(), message.now.date()) if is_one else None
    return Heard(Certainty.NOTHING, twist=twist, meant=meant)


_SAYS_NOTHING = frozenset({
    "practice", "practise", "session", "sessions", "exercise", "exercises", "training", "work", "workout", "studies",
    "practica", "practicas", "sesion", "sesiones", "ejercicio", "ejercicios", "entrenamiento", "ensayo", "estudio",
})  # fmt: skip
"""Words of practice that tell nothing of a session; "scales" and "flashcards" do."""


def _ask(known: Sequence[Practised], named: Sequence[Practised]) -> Heard | None:
    """The question about what may have been practised."""
    practised = (*known, *named)
    if any(entry.is_new for entry in known) or (named and not named[0].is_near):
        return Heard(Certainty.ASK_NEW, practised)
    if named:
        return Heard(Certainty.ASK_NEAR, practised)
    return Heard(Certainty.ASK, practised) if practised else None


def _sure(message: _Message, found: Evidence) -> Heard:
    practised = found.to_practised(message.now.date())
    if any(entry.is_new for entry in practised):
        return Heard(Certainty.ASK_NEW, practised)
    return Heard(Certainty.LOG, practised, _notes(message, found))


def _notes(message: _Message, found: Evidence) -> str:
    """What stands behind one entry."""
    if len(found.standing) != 1:
        return ""
    entry = found.standing[0]
    core = max(entry.amount.end, entry.skill.end)
    rest = [chunk for chunk in message.chunks if chunk.start >= core]
    while rest and not _is_noted(message, rest[0]):
        rest = rest[1:]
    if not rest:
        return ""
    said = message.text[message.words[rest[0].start].start :]
    return said.replace(f" {NEWLINE}", "").replace(NEWLINE, "").strip(" ,.:;-–—()")


def _is_noted(message: _Message, chunk: Chunk) -> bool:
    tells = chunk.role is WordRole.PRACTICE and message.words[chunk.start].plain not in _SAYS_NOTHING
    return tells or chunk.role in _NOTED


def _find_names(message: _Message, clauses: Sequence[Clause]) -> list[Practised]:
    """Practice of what is none of their skills yet, or nearly one of them."""
    found = []
    for at, clause in enumerate(clauses):
        if len(clause.amounts) != 1 or clause.skills or clause.block is not None or clause.is_aside or clause.is_asked:
            continue
        name, is_clear = _name_in(message, clause)
        before = clauses[at - 1] if at else clause
        if not name and clause.is_bare and before.verb is not None and before.block is None and not before.skills:
            name, is_clear = _name_in(message, before)  # "tried the cello today, 20 minutes"
        near = message.skills.near(plain_of(name.casefold()))
        amount = clause.amounts[0]
        taken_back = find_reach(clauses, Candidate(amount, amount, at, at, is_said=clause.verb is not None))
        if name and (is_clear or near is not None) and taken_back in (None, Twist.DOUBT):
            minutes = amount.minutes
            found.append(Practised(minutes, near or name, _day(message), is_new=True, is_near=near is not None))
    return found


def _name_in(message: _Message, clause: Clause) -> tuple[str, bool]:
    """The words that name what was practised: behind the verb, or of the amount; or all that a log book's line says."""
    chunks = clause.chunks
    runs: list[list[Chunk]] = [[]]
    for chunk in chunks:
        if chunk.role is WordRole.CONTENT:
            runs[-1].append(chunk)
        elif runs[-1]:
            runs.append([])
    first = runs[0]
    if not first or len(first) > MAX_NAME_WORDS:
        return "", False
    verb = clause.verb
    starts = chunks.index(first[0])
    named = [at for at, chunk in enumerate(chunks) if chunk.role is WordRole.CONTENT and chunk not in first]
    terse = all(map(clause.is_place, named[:1])) and all(chunk.role in _OF_TERSE for chunk in chunks)
    short = (
        not clause.amounts
        or clause.amounts[0].role is WordRole.AMOUNT_SHORT
        or _is_dated(message, clause)
        or chunks[starts - 1].role is WordRole.OF
    )
    is_clear = verb < starts if verb is not None else terse and short
    return message.text[message.words[first[0].start].start : message.words[first[-1].end - 1].end], is_clear


def _is_dated(message: _Message, clause: Clause) -> bool:
    """As "bachata 1 hora hoy": in figures, or a day that is surely past."""
    figures = message.words[clause.amounts[0].start].is_number
    return clause.has(WordRole.DAY) or (figures and clause.has(WordRole.DAY_EITHER))


def _counted_last(message: _Message, clauses: Sequence[Clause]) -> Heard | None:
    """As "guitar, the Bach prelude, 30": minutes of which no unit is said."""
    ends = [*clauses[:1], *clauses[1:][-1:]]
    if [len(clause.chunks) for clause in ends] != [1, 1] or not all(map(tells_which, clauses[1:-1])):
        return None
    (skill,), (number,) = (clause.chunks for clause in ends)
    fits = number.role is WordRole.NUMBER and LEAST_PLAIN <= number.minutes <= MOST_COUNTED
    if skill.role is not WordRole.SKILL or not fits:
        return None
    return Heard(Certainty.ASK, (Practised(number.minutes, skill.skill, _day(message)),))


def _lacking(message: _Message, clauses: Sequence[Clause]) -> Heard | None:
    """Practice of which it is not said what it was, or how long."""
    for at, clause in enumerate(clauses):
        open_to_doubt = (
            (None, Twist.DOUBT, Twist.UNCLEAR) if clause.is_cut and clause is clauses[0] else (None, Twist.DOUBT)
        )
        if clause.block not in open_to_doubt or clause.is_aside or clause.is_asked or _is_labelled(clauses, clause):
            continue
        goes_on = at > 0 and clauses[at - 1].is_cut and clause.mark is WordRole.AND  # "una hora y pico de guitarra"
        says = clause.is_cut or goes_on or clause.verb is not None or clause.has(WordRole.LOG)
        amounts, vague = clause.amounts, clause.has(WordRole.AMOUNT_VAGUE)
        if (
            clause.skills
            and not any(each.amounts for each in clauses)
            and (says or (vague and not clause.has(WordRole.CONTENT)) or _is_session(clause) or _is_counted(clause))
        ):
            skill = clause.skills[0]
            if (spoken := _counted_minutes(clause)) and not clause.is_cut:
                said = Certainty.LOG if _is_plainly_counted(message, spoken) else Certainty.ASK
                return Heard(said, (Practised(spoken, skill.skill, _day(message), skill.is_new),))
            return Heard(Certainty.ASK_AMOUNT, (Practised(None, skill.skill, _day(message), skill.is_new),))
        practice = clause.is_bare and clause.has(WordRole.PRACTICE) and not any(each.twists for each in clauses)
        bare = practice or (clause.is_bare and len(clauses) == 1)
        more = clause.has(WordRole.CONTENT, WordRole.OTHER)
        if amounts and not clause.skills and not more and (says or bare):
            return _without_skill(message, Practised(amounts[0].minutes, "", _day(message)))
    return None


def _is_labelled(clauses: Sequence[Clause], clause: Clause) -> bool:
    """As "goal: run a 10k": the clause before it says what it is."""
    before = [each for each in clauses[: clauses.index(clause)] if each.sentence == clause.sentence]
    return bool(before) and clause.is_listed and before[-1].is_fragment and Twist.GOAL in before[-1].twists


def _counted_minutes(clause: Clause) -> int:
    """As "rust 45": minutes that were hardly anything else; 0 where that cannot be told."""
    numbers = [chunk for chunk in clause.chunks if chunk.role is WordRole.NUMBER]
    fits = _is_counted(clause) and LEAST <= numbers[0].minutes <= MOST_COUNTED
    return numbers[0].minutes if fits and not clause.skills[0].is_new else 0


def _is_plainly_counted(message: _Message, minutes: int) -> bool:
    """As "violin 25", the whole of a message: a skill of theirs and what are hardly anything else than minutes."""
    roles = [chunk.role for chunk in message.chunks]
    named = roles == [WordRole.SKILL, WordRole.NUMBER] and len(message.chunks[0].plain) > 2  # no "go 30"
    return named and minutes >= LEAST_PLAIN and minutes % 5 == 0


def _is_counted(clause: Clause) -> bool:
    """As "polish 20 or so": a skill and a number of which no unit is said."""
    numbers = [chunk for chunk in clause.chunks if chunk.role is WordRole.NUMBER]
    rest = [chunk for chunk in clause.chunks if chunk.role in (WordRole.CONTENT, WordRole.OTHER)]
    return len(numbers) == 1 and numbers[0].minutes >= LEAST and not rest


def _is_session(clause: Clause) -> bool:
    """As "drums today", "had a lovely guitar session this morning": a day that is over, or begun, and a skill."""
    past = any(chunk.role is WordRole.DAY for chunk in clause.days)
    return (
        past
        and (clause.is_bare or clause.has(WordRole.PRACTICE))
        and not clause.has(WordRole.INFINITIVE, WordRole.NUMBER)
    )


_ENJOYED = frozenset([
    "great", "good", "fun", "lovely", "awesome", "amazing", "nice", "brilliant", "fantastic", "well", "better", "lush",
    "bien", "genial", "divertido", "divertida", "rica", "rico", "increible", "lujo", "maravilla", "estupendo", "chido",
])  # fmt: skip


_OF_JOY = frozenset({Twist.UNCLEAR, Twist.LASTS, Twist.QUESTION})


def _find_enjoyment(message: _Message, clauses: Sequence[Clause]) -> Heard | None:
    """As "cello was fun today": a day that is over, and how it was; how long is not said."""
    chunks = [chunk for clause in clauses for chunk in clause.chunks]
    named = {chunk.skill for chunk in chunks if chunk.role in SKILLS and not chunk.is_new}
    said = any(chunk.plain in _ENJOYED for chunk in chunks) and any(chunk.role is WordRole.DAY for chunk in chunks)
    others = any(chunk.role in AMOUNTS | {WordRole.INFINITIVE} for chunk in chunks)
    if not said or others or len(named) != 1 or len(clauses) != 1 or not clauses[0].twists <= _OF_JOY:
        return None
    return None if clauses[0].is_asked else Heard(Certainty.ASK_AMOUNT, (Practised(None, named.pop(), _day(message)),))


_LEARNING = frozenset([
    "lesson", "lessons", "class", "classes", "course", "workshop", "tutorial", "podcast", "podcasts", "rehearsal",
    "homework", "read", "reading", "review", "reviews", "taught", "tuned", "theory", "band", "orchestra", "choir",
    "audiobook", "ride", "polished", "clase", "clases", "leccion", "lecciones", "taller", "ensayo", "ensayos", "lei",
    "leyendo",
    "deberes", "tarea", "tareas", "ensene", "afine", "banda", "orquesta", "coro", "curso", "total",
    "walk", "commute", "train", "bus", "tren", "paseo",
])  # fmt: skip
"""What may have been practice of the skill that is named beside it: nobody knows, so it is asked about."""

_GIVEN = frozenset(["di", "dar", "gave", "give", "up", "compre", "bought", "quid", "online"])
_WAYS = frozenset(["walk", "commute", "train", "bus", "tren", "paseo", "total"])
_GROUPS = frozenset(["band", "orchestra", "choir", "banda", "orquesta", "coro"])
_WAS = frozenset({"was", "were", "estuvo", "fue"})
_LESSONS = frozenset({"lesson", "lessons", "class", "classes", "clase", "clases", "leccion", "lecciones", "taller"})
_TONIGHT = frozenset({"tonight", "tonight's", "tonite", "2nite", "esta noche"})


def _learning(message: _Message) -> Heard | None:
    """As "German podcast, 30 min", "dance class tonight for an hour": of one skill, one amount, and no other doubt."""
    chunks = message.chunks
    amounts = [chunk for chunk in chunks if chunk.role in AMOUNTS and chunk.minutes]
    skills = {chunk.skill for chunk in chunks if chunk.role in SKILLS and not chunk.is_new}
    turned = {chunk.plain for chunk in chunks if chunk.twist not in (None, Twist.SELF)}
    days = [chunk.role for chunk in chunks if chunk.role in (WordRole.DAY_EITHER, WordRole.DAY_UNREAD)]
    ahead = any(chunk.plain in _TONIGHT for chunk in chunks) and "had" not in {chunk.plain for chunk in chunks}
    turned -= _WAS if turned & _LESSONS else set()
    ahead = ahead and not any(chunk.plain in _WAS for chunk in chunks)
    said = (
        len(amounts) == len(skills) == 1 and turned and turned <= _LEARNING and turned - _WAYS and not (ahead and days)
    )
    said = said and not (turned & _GROUPS and any(chunk.role in VERBS for chunk in chunks))
    others = any(chunk.role in _NO_LEARNING or not _GIVEN.isdisjoint(chunk.plain.split()) for chunk in chunks)
    before = [chunk.plain for chunk in chunks if amounts and chunk.end == amounts[0].start]
    if not said or others or before in (["in"], ["en"]):
        return None
    return Heard(Certainty.ASK, (Practised(amounts[0].minutes, skills.pop(), _day(message)),))


_NO_LEARNING = frozenset({WordRole.QUESTION, WordRole.QUOTE, WordRole.HAVE, WordRole.NUMBER, WordRole.INFINITIVE})


def _without_skill(message: _Message, entry: Practised) -> Heard:
    names = [skill for _, skill in message.skills.names]
    if len(names) == 1:
        return Heard(Certainty.ASK, (replace(entry, skill=names[0]),))
    return Heard(Certainty.ASK_SKILL, (entry,))


def _twist_of(chunks: Sequence[Chunk]) -> Twist | None:
    """What the message says instead of practice that was done."""
    asks = "".join(chunk.role for chunk in chunks)
    twists = {
        chunk.twist
        for at, chunk in enumerate(chunks)
        if chunk.twist is not None and not (chunk.twist is Twist.QUESTION and at and asks[at - 1] not in PAUSES)
    }
    if any(chunk.role is WordRole.QUESTION for chunk in chunks):
        twists.add(Twist.QUESTION)
    if any(chunk.role is WordRole.QUOTE for chunk in chunks):
        twists.add(Twist.REPORTED)
    return next((twist for twist in _NO_QUESTION_BACK if twist in twists), None)


def _day(message: _Message) -> date:
    """The first day that is named, else today."""
    found = next(
        (chunk.day.day for chunk in message.chunks if chunk.day is not None and chunk.day.day is not None), None
    )
    return message.now.date() if found is None else found


def may_be_practice(text: str) -> bool:
    """Whether a message may be about practice that was done: only then the person's skills are needed to read it."""
    chunks = chunks_of(
        words_of(clean(text[:MAX_CHARS].replace("\n", f" {NEWLINE} "))), Circumstances(ANY_DAY, know(()), DEFAULT)
    )
    return any(chunk.role in _OF_PRACTICE for chunk in chunks)
