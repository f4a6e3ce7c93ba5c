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
from agent.coach.understanding.reaches import LEAST, find_reach
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
    entries, clear = _of_each(clauses) or _pair_amounts(clauses)
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


def _of_each(clauses: Sequence[Clause]) -> tuple[list[Candidate], bool] | None:
    """As "half an hour each of chess and meditation": the one amount for each skill that is named."""
    at = next((at for at, clause in enumerate(clauses) if any(each.plain in EACH for each in clause.chunks)), None)
    named = {skill.skill: (number, skill) for number, clause in enumerate(clauses) for skill in clause.skills}
    amounts = [amount for clause in clauses for amount in clause.amounts]
    days = [day for clause in clauses for day in clause.days]
    if at is None or len(named) < 2 or len(amounts) != 1 or len(days) > 1 or clauses[at].block is not None:
        return None
    places = [at, *(number for number, _ in named.values())]
    return [Candidate(amounts[0], skill, min(places), max(places)) for _, skill in named.values()], True


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
    if not core or entry.skill.role is WordRole.ACT:
        return True
    if _is_counted(clause, entry) or (entry.skill.start in at and _is_compound(clause, at[entry.skill.start])):
        return False
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
    if any(clause.chunks[at].twist is Twist.LASTS and (timed or not clause.is_there(at)) for at in between):
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
    if WordRole.INFINITIVE in said[: core[0] + 1] or said[:2] == [WordRole.PRACTICE, WordRole.SKILL]:
        return True
    more = any(not _MORE.isdisjoint(chunk.plain.split()) for chunk in clause.chunks[: core[-1] + 1])
    first = clause.mark not in (WordRole.AND, WordRole.COMMA)
    if more and first and not clause.days and not clause.has(WordRole.DONE):
        return True
    doing = doing and entry.amount.role is not WordRole.AMOUNT_CLOCK
    return doing or (clause.mark is WordRole.THEN and entry.first == 0)


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
    return not in_book and not doing and not _PRACTISING & set(before[-2:])


# ---------------------------------------------------------------- which amount is of which skill

_OF_LIST = frozenset({Twist.LASTS, Twist.UNCLEAR})
"""Of words that say in a list what the time went into: "canto: 20' de calentamiento y 30' de canciones"."""


def _pair_amounts(clauses: Sequence[Clause]) -> tuple[list[Candidate], bool]:
    """The entries, and whether no amount and no skill is left over."""
    entries: list[Candidate] = []
    taken: set[int] = set()  # clauses whose skill belongs to an amount of another
    clear = True
    for at, clause in enumerate(clauses):
        amounts, skills = clause.amounts, clause.skills
        listed = clause.block in _OF_LIST and bool(entries) and _label_of(clauses, at) is not None
        if not amounts or (_is_out(clause) and not listed):
            continue
        if clause.is_aside:
            clear = clear and not skills
        elif len(amounts) == len(skills) or (len(amounts) == 1 and skills and _is_with(clause, skills)):
            entries += [Candidate(amount, skill, at, at) for amount, skill in zip(amounts, skills, strict=False)]
        elif skills or len(amounts) > 1:
            clear = False
        else:
            found = _elsewhere(clauses, at, entries)
            if found is not None:
                entries.append(found)
                taken |= {found.first, found.last} - {at}
            clear = clear and (found is not None or _is_other_activity(clause, entries, clauses))
    used = taken | {entry.first for entry in entries} | {entry.last for entry in entries}
    return entries, clear and not _is_left_over(clauses, used, entries)


def _is_out(clause: Clause) -> bool:
    """Whether nothing in a clause is an entry; where it only may not be one, it is asked about."""
    if any(chunk.minutes == 0 for chunk in clause.amounts):
        return True
    return clause.block is not None and not (
        clause.block in SOFT and (clause.block is Twist.DOUBT or clause.verb is not None)
    )


def _is_with(clause: Clause, skills: Sequence[Chunk]) -> bool:
    """Whether the further skills only say what it was done with: "coded kotlin for the chess app"."""
    between = [chunk for chunk in clause.chunks if skills[0].end <= chunk.start < skills[1].start]
    return any(chunk.role in (WordRole.OF, WordRole.IN, WordRole.WHILE) for chunk in between)


def _elsewhere(clauses: Sequence[Clause], at: int, entries: Sequence[Candidate]) -> Candidate | None:
    """The entry of an amount whose clause names no skill."""
    clause = clauses[at]
    amount = clause.amounts[0]
    says_more = clause.has(WordRole.CONTENT) and not clause.is_bare
    before = _skill_before(clauses, at)
    label = _label_of(clauses, at)
    if label is not None and clause.verb is None:
        return Candidate(amount, clauses[label].skills[0], at if entries else label, at)
    if before is not None and (clause.is_bare or clause.verb is not None) and not says_more:
        return Candidate(amount, clauses[before].skills[0], before, at)
    behind = clauses[at + 1] if at + 1 < len(clauses) else None
    if clause.has(WordRole.SUBJECT) and clause.is_bare and clause.verb is None:
        return _inherit(clauses, at)  # "my mate boxed for an hour, I only 20 minutes"
    done = clause.is_bare or (clause.has(WordRole.PRACTISED) and not says_more)
    near = behind is not None and (behind.sentence == clause.sentence or _is_called(clauses, at))
    if done and behind is not None and near and _names_one(behind):
        return Candidate(amount, behind.skills[0], at, at + 1)
    if (
        clause.is_bare
        and (clause.days or clause.has(WordRole.TIME))
        and entries
        and not says_more
        and clause.verb is None
    ):
        return Candidate(amount, entries[-1].skill, at, at)
    return None if says_more or clause.is_bare else _inherit(clauses, at)


def _names_one(clause: Clause) -> bool:
    return len(clause.skills) == 1 and not clause.amounts and clause.is_bare and not clause.is_aside


def _skill_before(clauses: Sequence[Clause], at: int) -> int | None:
    """The clause before, of the same sentence, that names one skill and no amount."""
    for number in range(at - 1, -1, -1):
        clause = clauses[number]
        called = number == at - 1 and _calls_out(clause, clauses[at])
        if not (called or clause.sentence == clauses[at].sentence) or clauses[number + 1].mark is WordRole.BUT:
            return None
        if clause.skills:
            alone = len(clause.skills) == 1 and not clause.amounts and not clause.has(WordRole.AMOUNT_VAGUE)
            open_to = clause.block is None or (clause.block is Twist.UNCLEAR and clause.has(WordRole.DAY))
            return number if alone and open_to and not clause.is_aside else None
        if not (clause.is_fragment or _tells_which(clause)) or clause.block is not None:
            return None
    return None


def _tells_which(clause: Clause) -> bool:
    """As "piano, the Bach prelude, 20 min", "rust, chapter 4, ...": nouns that only say what of it was practised."""
    nouns = (WordRole.CONTENT, WordRole.PRACTICE, WordRole.THE, WordRole.OF, WordRole.NUMBER, WordRole.ADVERB)
    return all(chunk.role in nouns for chunk in clause.chunks) and not any(
        map(clause.may_be_doing, range(len(clause.chunks)))
    )


def _label_of(clauses: Sequence[Clause], at: int) -> int | None:
    """The clause that names the skill of a list: "viola: 30 minutes of shifting and 10 minutes of vibrato"."""
    for number in range(at - 1, -1, -1):
        clause = clauses[number]
        if clause.sentence != clauses[at].sentence or (clause.skills and clause.amounts):
            return None
        if clause.skills:
            alone = len(clause.skills) == 1 and clause.is_bare and clause.block is None
            return number if alone and clauses[number + 1].is_listed else None
    return None


def _calls_out(clause: Clause, amount: Clause) -> bool:
    """As "Drums! 35 minutes!", "Did my Japanese. 40 mins.": two sentences, one entry."""
    says = clause.is_bare or clause.has_subject or clause.verb == 0
    named = len(clause.chunks) == 1  # "Korean? About twenty minutes today"
    return says and amount.is_bare and (named or not amount.days) and not clause.is_asked


def _is_called(clauses: Sequence[Clause], at: int) -> bool:
    """As "Ninety minutes. Chess.": two sentences of nothing but one amount and one skill, and no other is named."""
    amounts = [chunk for clause in clauses for chunk in clause.chunks if chunk.role in AMOUNTS]
    skills = [chunk for clause in clauses for chunk in clause.skills]
    return len(clauses[at].chunks) == len(clauses[at + 1].chunks) == len(amounts) == len(skills) == 1


def _inherit(clauses: Sequence[Clause], at: int) -> Candidate | None:
    """As "I wanted to do an hour of guitar but did 20 min", "I took the bass and practised for 20 minutes"."""
    clause = clauses[at]
    if clause.block is not None and clause.block is not Twist.DOUBT:
        return None  # "the guitar was out of tune so I spent 20 minutes tuning it"
    before = [chunk for each in clauses[:at] for chunk in each.skills]
    if len({chunk.skill for chunk in before}) != 1:
        return None
    source = max(number for number in range(at) if clauses[number].skills)
    wished = clauses[source].block in (Twist.WISH, Twist.FUTURE, Twist.NEGATED, Twist.GOAL) and bool(
        clauses[source].amounts
    )
    skipped = clauses[source].block is Twist.NEGATED and bool(clauses[source].days) and bool(clause.days)
    wished = wished or (skipped and clause.mark is WordRole.BUT)  # "skipped Korean yesterday but did 40 minutes today"
    practises = any(chunk.plain.startswith("practi") for chunk in clause.chunks) and clauses[source].block is None
    spoken = practises and not clauses[source].amounts
    return Candidate(clause.amounts[0], before[-1], at, at, is_sure=wished or spoken)


def _is_other_activity(clause: Clause, entries: Sequence[Candidate], clauses: Sequence[Clause]) -> bool:
    """Whether an amount is of something else: "two hours at the doctor's, then ..."."""
    if (clause.is_bare and not clause.has(WordRole.CONTENT)) or clause.verb is not None:
        return False
    listed = clause.has(WordRole.CONTENT, WordRole.PRACTICE) and not clause.has(WordRole.OF, WordRole.IN)
    listed = listed and clause.block is None and len(clauses) > 1 and clauses[1].mark is WordRole.COMMA
    return not listed and (not entries or clauses[entries[-1].last].sentence != clause.sentence)


def _is_left_over(clauses: Sequence[Clause], used: set[int], entries: Sequence[Candidate]) -> bool:
    """Whether a skill is named beside the entries of which nobody knows how long."""
    known = {entry.skill.skill for entry in entries}
    for at, clause in enumerate(clauses):
        counted = clause.has(WordRole.NUMBER) and clause.skills and clause.block is None and not clause.amounts
        if counted and any(chunk.minutes >= LEAST for chunk in clause.chunks if chunk.role is WordRole.NUMBER):
            return True  # "and this evening guitar 25"
        if at in used or clause.is_aside or clause.block is not None or not clause.skills or clause.amounts:
            continue
        denied = clauses[at + 1 : at + 2] and clauses[at + 1].twists == {Twist.NEGATED} and clauses[at + 1].is_listed
        if denied and clauses[at + 1].is_fragment:
            continue  # "Python: none"
        says = clause.is_bare or clause.verb is not None or clause.has(WordRole.NUMBER)
        if says and {chunk.skill for chunk in clause.skills if not chunk.is_new} - known:
            return True
    return False
