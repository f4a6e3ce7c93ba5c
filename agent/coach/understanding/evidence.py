"""Weighs what the clauses of a message say: which amounts are surely one's own past practice, and of what. Pure.

An amount and a skill that belong together are an entry, unless something takes them back: a word of their own clause
(`clauses`), or one of another clause that reaches so far (`reaches`). What speaks neither for nor against it is not
looked at; so a sentence needs no shape that somebody foresaw.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from agent.coach.understanding.clauses import AMOUNTS, SOFT, VERBS, Clause
from agent.coach.understanding.entries import Candidate, Practised
from agent.coach.understanding.entry_days import give_days
from agent.coach.understanding.pairing import pair_amounts
from agent.coach.understanding.reaches import find_reach
from agent.coach.understanding.tables import Twist, WordRole

_PRACTISING = frozenset({WordRole.PRACTISED, WordRole.GERUND, WordRole.INFINITIVE})


_IN_BOOK = frozenset({WordRole.AMOUNT_SHORT, WordRole.DAY, WordRole.COMMA})
_MORE = frozenset({"another", "otro", "otra", "otros", "otras"})
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
    return Evidence(tuple(entries), clear)


def _is_direct(clause: Clause, entry: Candidate) -> bool:
    """Whether nothing stands between that may make something else of it."""
    at = {chunk.start: number for number, chunk in enumerate(clause.chunks)}
    core = sorted(at[chunk.start] for chunk in (entry.amount, entry.skill) if chunk.start in at)
    if not core or entry.skill.role is WordRole.ACT:
        return True
    if _is_counted(clause, entry) or (entry.skill.start in at and _is_compound(clause, at[entry.skill.start])):
        return False
    if clause.verb is not None and clause.verb <= core[-1]:
        return _is_said_of(clause, core, clause.verb)
    if entry.first < entry.last and entry.skill.start in at:
        return True  # "finally got my violin out again, 20 minutes"
    open_verb = any(chunk.role in VERBS - {WordRole.DONE} for chunk in clause.chunks[: core[0]])
    if open_verb or _contents(clause, 0, core[0]) or clause.has(WordRole.SUBJECT, WordRole.I_HAVE):
        return False
    return not _is_begun(clause, core, entry) and not _contents(clause, *core)


def _is_said_of(clause: Clause, core: Sequence[int], verb: int) -> bool:
    """Whether the verb of a clause is that of its amount and skill."""
    if clause.chunks[0].role is WordRole.CONTENT and verb and not clause.is_led(verb) and not clause.has_subject:
        return False
    if clause.chunks[verb].is_new and _is_beside(clause, core, verb):
        return False
    practised = clause.chunks[verb].role is WordRole.PRACTISED  # nothing but a skill is
    places = practised or all(clause.is_place(number) for number in _contents(clause, verb + 1, core[0]))
    return places and _is_of(clause, core)


def _is_beside(clause: Clause, core: Sequence[int], verb: int) -> bool:
    """As "painted my guitar", "cooked with guitar music": the verb is that of another skill."""
    before = [chunk.plain for chunk in clause.chunks[: core[-1]] if chunk.role is WordRole.OF]
    return clause.chunks[verb + 1].role is WordRole.THE or bool(before and before[-1] in _WITH)


def _is_begun(clause: Clause, core: Sequence[int], entry: Candidate) -> bool:
    """As "doing 45m guitar", "practise guitar 45 min", "then 30 min piano": not done yet."""
    doing = any(chunk.role is WordRole.GERUND for chunk in clause.chunks[: core[0]])
    said = [
        chunk.role for chunk in clause.chunks if chunk.role not in (WordRole.THE, WordRole.ADVERB, WordRole.OPENING)
    ]
    if WordRole.INFINITIVE in said[: core[0] + 1] or said[:2] == [WordRole.PRACTICE, WordRole.SKILL]:
        return True
    more = any(chunk.plain in _MORE or "more" in chunk.plain for chunk in clause.chunks[: core[-1] + 1])
    first = clause.mark not in (WordRole.AND, WordRole.COMMA)
    if more and first and not clause.days and not clause.has(WordRole.DONE):
        return True
    doing = doing and entry.amount.role is not WordRole.AMOUNT_CLOCK
    return doing or (clause.mark is WordRole.THEN and entry.first == 0)


def _is_counted(clause: Clause, entry: Candidate) -> bool:
    """As "in 45 minutes", "20 minutes x 3": no amount that was done."""
    verb = clause.verb or -1
    if any(chunk.role is WordRole.NUMBER and chunk.minutes for chunk in clause.chunks[verb + 1 :]):
        return True
    before = [chunk for chunk in clause.chunks if chunk.end == entry.amount.start]
    return any(chunk.plain in {"in", "en", "dentro de"} for chunk in before)


def _contents(clause: Clause, first: int, last: int = 0) -> list[int]:
    """Where words stand, from the first to the last place, that may say something else."""
    return [
        number
        for number, chunk in enumerate(clause.chunks[:last])
        if number >= first and chunk.role in (WordRole.CONTENT, WordRole.OTHER) and chunk.twist is not Twist.SELF
    ]


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
        places = all(clause.is_place(number) for number in _contents(clause, core[0], last))
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
    before = [chunk.role for chunk in clause.chunks[:skill] if chunk.role is not WordRole.OF]
    in_book = set(before) <= _IN_BOOK and WordRole.AMOUNT_SHORT in before  # "1h30 piano chopin"
    doing = behind[0].plain.endswith(("ando", "iendo"))  # "de piano saliendo de clase"
    return not in_book and not doing and not _PRACTISING & set(before[-2:])
