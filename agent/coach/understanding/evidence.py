"""Weighs what the clauses of a message say: which amounts are surely one's own past practice, and of what. Pure.

An amount and a skill that belong together are an entry, unless something takes them back: a word of their own clause
(`clauses`), or one of another clause that reaches so far (`reaches`). What speaks neither for nor against it is not
looked at; so a sentence needs no shape that somebody foresaw.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from agent.coach.understanding.clauses import AMOUNTS, SOFT, VERBS, Clause
from agent.coach.understanding.entries import Candidate, Chunk, Practised
from agent.coach.understanding.entry_days import give_days
from agent.coach.understanding.pairs import pair_amounts
from agent.coach.understanding.reaches import find_reach
from agent.coach.understanding.tables import Twist, WordRole
from agent.coach.understanding.timings import EACH

_PRACTISING = frozenset({WordRole.PRACTISED, WordRole.GERUND, WordRole.INFINITIVE})


_IN_BOOK = frozenset({WordRole.AMOUNT_SHORT, WordRole.DAY, WordRole.COMMA})
_DAYS_LONG = frozenset({"dias", "semanas", "noches", "tardes", "meses"})
_MORE = frozenset({"more", "another", "otro", "otra", "otros", "otras"})
_DOING = ("ing", "ando", "iendo")
_OTHER_SKILLS = frozenset({"words", "reviews", "palabras", "repasos"})
"""Behind a skill: they may be of another one, as vocabulary."""

_MATERIALS = frozenset([
    "book", "books", "textbook", "workbook", "notebook", "sketchbook", "songbook", "manual", "method", "part", "parts",
    "ball", "balls", "material", "materials", "repertoire", "chapters", "chapter", "hangul", "characters", "kana",
    "libro", "libros", "cuaderno", "manual", "metodo", "parte", "partes", "pelotas", "material", "repertorio",
])  # fmt: skip
"""What a skill is practised with: "worked through the rust book"."""

_CONTENTS = frozenset({WordRole.CONTENT, WordRole.OTHER})
_WITH = frozenset({"with", "w", "con", "a", "to", "at", "near", "by"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a message says was practised, and whether anything is left to doubt."""

    entries: tuple[Candidate, ...]
    is_clear: bool  # no amount and no skill is left over

    @property
    def standing(self) -> list[Candidate]:
        """The entries that nothing takes back."""
        return [entry for entry in self.entries if entry.twist is None]

    def to_practised(self, today: date) -> tuple[Practised, ...]:
        """These as they would be written."""
        return tuple(
            Practised(entry.amount.minutes, entry.skill.skill, entry.day or today, entry.skill.is_new)
            for entry in self.standing
        )


def weigh(clauses: Sequence[Clause], now: datetime) -> Evidence:
    """What the clauses say was practised."""
    entries, clear = pair_amounts(clauses)
    for entry in entries:
        said = [clause for clause in clauses[entry.first : entry.last + 1] if not clause.is_aside]
        entry.is_said = any(clause.verb is not None for clause in said)
        entry.has_subject = any(clause.has_subject for clause in said)
        entry.twist = find_reach(clauses, entry)
        if entry.twist in SOFT:
            entry.twist, entry.is_sure = None, False
        direct = all(_is_direct(clause, entry) and clause.block is None for clause in said)
        entry.is_sure = entry.is_sure and direct
    give_days(clauses, entries, now)
    return Evidence(tuple(_each_day(clauses, entries)), clear)


def _each_day(clauses: Sequence[Clause], entries: list[Candidate]) -> list[Candidate]:
    """As "monday and tuesday, 30 min each": the one entry on each of the days that are named."""
    each = any(chunk.plain in EACH and chunk.twist is None for clause in clauses for chunk in clause.chunks)
    named = [chunk.day.day for clause in clauses for chunk in clause.days if chunk.day is not None]
    days = [day for day in dict.fromkeys(named) if day is not None]
    if not each or len(entries) != 1 or len(days) != len(named) or len(days) < 2:
        return entries
    return [replace(entries[0], day=day, is_sure=True) for day in days]


def _is_direct(clause: Clause, entry: Candidate) -> bool:
    """Whether nothing stands between that may make something else of it."""
    at = {chunk.start: number for number, chunk in enumerate(clause.chunks)}
    core = sorted(at[chunk.start] for chunk in (entry.amount, entry.skill) if chunk.start in at)
    if core and entry.skill.start in at and _is_other_sense(clause, at[entry.skill.start]):
        return False
    if not core or entry.skill.role is WordRole.ACT:
        return True
    if clause.verb is not None and entry.amount.end <= entry.skill.start and entry.skill.start not in at:
        before = [chunk for chunk in clause.chunks if chunk.role in _CONTENTS and chunk.start < entry.amount.start]
        practised = clause.chunks[clause.verb].role is WordRole.PRACTISED
        return not _is_counted(clause, entry) and (
            practised or bool(before)
        )  # "hit the driving range for an hour, golf"
    if _is_counted(clause, entry) or (entry.skill.start in at and _is_compound(clause, at[entry.skill.start])):
        return False
    if entry.skill.start in at and entry.skill.start < entry.amount.start and _is_of_doing(clause, entry.amount):
        return False
    return _is_plainly_of(clause, entry, core)


def _is_plainly_of(clause: Clause, entry: Candidate, core: Sequence[int]) -> bool:
    """Whether the words before and between its amount and its skill are of practice, or of nothing else at least."""
    at = {chunk.start: number for number, chunk in enumerate(clause.chunks)}
    if entry.first < entry.last and entry.skill.start in at:
        return _is_taken_up(clause, at[entry.skill.start])
    if clause.verb is not None and clause.verb <= core[-1]:
        return _is_said_of(clause, core, clause.verb)
    open_verb = any(chunk.role in VERBS - {WordRole.DONE} for chunk in clause.chunks[: core[0]])
    if open_verb or clause.has(WordRole.SUBJECT, WordRole.I_HAVE) or _is_begun(clause, core, entry):
        return False
    return all(_is_noun(clause, number) for number in range(core[0])) and _is_of(clause, core)


def _is_noun(clause: Clause, at: int) -> bool:
    """Whether a word of no table is surely no verb: "sesión rapidita de ajedrez", "a chill 40 minutes"."""
    chunk = clause.chunks[at]
    if chunk.role not in _CONTENTS or chunk.twist is Twist.SELF:
        return True
    before = clause.chunks[at - 1].role if at else None
    behind = clause.chunks[at + 1].role
    fits = before is WordRole.PRACTICE or (before is WordRole.THE and behind in AMOUNTS and at > 1)
    return fits and not clause.may_be_doing(at)


def _is_taken_up(clause: Clause, skill: int) -> bool:
    """As "finally got my violin out again, 20 minutes"; not "restrung my guitar, 30 minutes"."""
    if clause.verb is not None and clause.verb < skill and not clause.chunks[clause.verb].is_new:
        return True  # "threw bowls at the pottery studio yesterday, 2 hrs"
    before = "".join(chunk.role for chunk in clause.chunks[:skill] if chunk.role is not WordRole.ADVERB)
    return re.search("wT$|wT?wPT?$", before) is None  # "cambié las cuerdas de la guitarra, 30 minutos"


def _is_said_of(clause: Clause, core: Sequence[int], verb: int) -> bool:
    """Whether the verb of a clause is that of its amount and skill."""
    if clause.chunks[0].role is WordRole.CONTENT and verb and not clause.is_led(verb) and not clause.has_subject:
        return False
    if clause.chunks[verb].is_new and _is_beside(clause, core, verb):
        return False
    timed = clause.chunks[core[0]].role in AMOUNTS
    between = range(core[0], core[-1])  # what is told of where: "studied Japanese on the train for 35 minutes"
    if any(
        clause.chunks[at].twist is Twist.LASTS and (timed or not (clause.is_there(at) or clause.is_with(at, core[-1])))
        for at in between
    ):
        return False  # "spent 40 minutes on the train to guitar"
    practised = clause.chunks[verb].role is WordRole.PRACTISED  # nothing but a skill is
    nouns = practised or all(clause.is_place(number) or _is_noun(clause, number) for number in range(verb + 1, core[0]))
    return nouns and _is_of(clause, core)


def _is_beside(clause: Clause, core: Sequence[int], verb: int) -> bool:
    """As "painted my guitar", "cooked with guitar music": the verb is that of another skill."""
    before = [chunk.plain for chunk in clause.chunks[: core[-1]] if chunk.role is WordRole.OF]
    timed = clause.chunks[verb + 2 : verb + 3] and clause.chunks[verb + 2].role in AMOUNTS  # "pulled a 4 hour session"
    named = clause.chunks[verb + 1].role is WordRole.THE and not timed
    return named or bool(before and before[-1] in _WITH)


def _is_begun(clause: Clause, core: Sequence[int], entry: Candidate) -> bool:
    """As "doing 45m guitar", "practise guitar 45 min", "then 30 min piano": not done yet."""
    doing = any(chunk.role is WordRole.GERUND for chunk in clause.chunks[: core[0]])
    said = [
        chunk.role for chunk in clause.chunks if chunk.role not in (WordRole.THE, WordRole.ADVERB, WordRole.OPENING)
    ]
    practise = said[:2] == [WordRole.PRACTICE, WordRole.SKILL] and not clause.has(WordRole.DONE)
    if WordRole.INFINITIVE in said[: core[0] + 1] or practise:
        return True
    more = any(not _MORE.isdisjoint(chunk.plain.split()) for chunk in clause.chunks[: core[-1] + 1])
    first = clause.mark not in (WordRole.AND, WordRole.COMMA)
    if more and first and not clause.days and not clause.has(WordRole.DONE):
        return True
    doing = doing and entry.amount.role is not WordRole.AMOUNT_CLOCK
    return doing or (clause.mark is WordRole.THEN and entry.first == 0)


_PARTICLES = frozenset({"up", "around", "off", "over", "away", "into", "back", "down"})
_MOVING = frozenset(["ran", "run", "swam", "biked", "cycled", "climbed", "hiked", "walked", "rode", "rowed", "jogged"])
_WITHOUT_OBJECT = frozenset(["ran", "boxed", "surfed", "swam", "jogged", "fenced", "danced", "corri", "nade", "surfee"])
_ARTICLES = frozenset(["the", "my", "your", "a", "an", "el", "la", "los", "las", "mi", "mis", "tu", "su", "un", "una"])


def _is_other_sense(clause: Clause, skill: int) -> bool:
    """As "cocina el arroz", "running a bath", "batería del celular", "boxed up the kitchen": another sense of it."""
    chunks = clause.chunks
    name, behind = chunks[skill], chunks[skill + 1 : skill + 4]
    roles = "".join(chunk.role for chunk in behind)
    object_behind = roles.startswith("Tw") and behind[0].plain in _ARTICLES
    if name.role is WordRole.ACT:
        phrasal = behind[:1] != () and behind[0].plain in _PARTICLES and name.plain not in _MOVING
        return phrasal or (object_behind and (name.plain in _WITHOUT_OBJECT or behind[1].plain in _THINGS))
    if clause.verb is not None:
        return name.plain == "bajo" and object_behind  # "estuve bajo el sol"
    owned = re.match("PT?w", roles) is not None and behind[0].plain in _POSSESSIVE
    return owned or (object_behind and (skill == 0 or name.plain == "bajo"))


_POSSESSIVE = frozenset({"de", "del"})
_THINGS = frozenset([
    "nails", "fence", "wall", "walls", "bedroom", "room", "kitchen", "bathroom", "house", "door", "ceiling", "garage",
    "blank", "bath", "dishwasher", "pared", "paredes", "cuarto", "casa", "cerca", "reja", "puerta", "techo", "cocina",
    "habitacion", "sala", "bano", "cortina", "voz",
])  # fmt: skip
"""What is painted or drawn and is no picture."""


def _is_of_doing(clause: Clause, amount: Chunk) -> bool:
    """As "rust on my bike 3 hours of scrubbing": the time is of something else."""
    behind = [chunk for chunk in clause.chunks if chunk.start >= amount.end][:2]
    return len(behind) > 1 and behind[0].role is WordRole.OF and behind[1].is_doing and behind[0].plain in {"of", "de"}


def _is_counted(clause: Clause, entry: Candidate) -> bool:
    """As "in 45 minutes", "20 minutes x 3": no amount that was done."""
    verb = clause.verb or -1
    for at, chunk in enumerate(clause.chunks[verb + 1 :], verb + 1):
        things = clause.chunks[at + 1 : at + 2]  # "40 lengths"
        counted = bool(things) and things[0].role in (WordRole.CONTENT, WordRole.PRACTICE)
        counted = counted and things[0].plain not in _DAYS_LONG
        if chunk.role is WordRole.NUMBER and chunk.minutes and not counted:
            return True
    before = [chunk for chunk in clause.chunks if chunk.end == entry.amount.start]
    return any(chunk.plain in {"in", "en", "dentro de"} for chunk in before)


def _is_of(clause: Clause, core: Sequence[int]) -> bool:
    """Whether what stands between amount and skill only says more of the skill: "of slow metronome work on the"."""
    first, last = clause.chunks[core[0]], core[-1]
    between = clause.chunks[core[0] + 1 : last]
    contents = [chunk for chunk in between if chunk.role is WordRole.CONTENT]
    if not contents or first.role not in AMOUNTS:
        return True
    if len(contents) == 1 and between[0] is contents[0] and between[1:2] and between[1].plain in {"of", "de"}:
        return True  # "una hora justa de kárate"
    roles = "".join(chunk.role for chunk in between)
    if re.fullmatch("PT?pw?PT?", roles):
        return True  # "con los verbos irregulares de italiano"
    if [chunk.role for chunk in between] == [WordRole.CONTENT] and not between[0].is_doing:
        return clause.verb is None and not between[0].is_capital and not between[0].is_first_person  # "shadow boxing"
    if between[0].plain not in {"of", "de"}:
        places = all(clause.is_place(at) for at in range(core[0], last) if clause.chunks[at].role is WordRole.CONTENT)
        last_role = [chunk.role for chunk in between if chunk.role not in (WordRole.THE, WordRole.OF)][-1]
        return places and last_role in _PRACTISING | {WordRole.PRACTICE}
    return len(contents) <= 2 and (
        between[-1].role is WordRole.CONTENT or any(chunk.role is WordRole.PRACTICE for chunk in between)
    )


def _is_compound(clause: Clause, skill: int) -> bool:
    """As "guitar solo", "45 minutes of guitar beckons": what stands behind the skill may be what is spoken of."""
    behind = clause.chunks[skill + 1 : skill + 2]
    says = behind and (behind[0].role is WordRole.CONTENT or behind[0].twist is Twist.SELF)
    if not says or clause.chunks[skill].end != behind[0].start:
        return False
    if behind[0].plain in _OTHER_SKILLS:
        return True
    if clause.verb is not None and clause.verb > skill and behind[0].twist is Twist.SELF:
        return False  # "una hora de ajedrez me he metido"
    if clause.verb is not None and clause.verb < skill and behind[0].plain in _MATERIALS:
        return False  # "worked through the rust book"
    before = [chunk.role for chunk in clause.chunks[:skill] if chunk.role is not WordRole.OF]
    in_book = set(before) <= _IN_BOOK and WordRole.AMOUNT_SHORT in before  # "1h30 piano chopin"
    doing = behind[0].plain.endswith(("ando", "iendo"))  # "de piano saliendo de clase"
    return not in_book and not doing and not (_PRACTISING | {WordRole.PRACTICE}) & set(before[-2:])
