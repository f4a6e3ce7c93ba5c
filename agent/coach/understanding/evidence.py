"""Weighs what the clauses of a message say: which amounts are surely one's own past practice, and of what. Pure.

An amount and a skill that belong together are an entry, unless something takes them back: a word of their own clause
(`clauses`), or one of another clause that reaches so far (`reaches`). What speaks neither for nor against it is not
looked at; so a sentence needs no shape that somebody foresaw.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from agent.coach.understanding.clauses import AMOUNTS, SOFT, Clause
from agent.coach.understanding.entries import Candidate, Practised
from agent.coach.understanding.entry_days import give_days
from agent.coach.understanding.pairing import pair_amounts
from agent.coach.understanding.reaches import find_reach
from agent.coach.understanding.tables import Twist, WordRole


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
        entry.has_subject = any(clause.has_subject or any(each.is_past for each in clause.chunks) for clause in said)
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
    if _is_counted(clause, entry):
        return False
    if clause.verb is not None and clause.verb <= core[-1]:
        return _is_said_of(clause, core, clause.verb)
    if entry.skill.start not in at and all(clause.chunks[number].is_past for number in _contents(clause, 0, core[0])):
        return True
    if _contents(clause, 0, core[0]) or clause.has(WordRole.SUBJECT, WordRole.I_HAVE):
        return _is_object(clause, core)
    return not _is_begun(clause, core, entry) and not _contents(clause, *core) and not _may_be_verb(clause, core, entry)


def _is_said_of(clause: Clause, core: Sequence[int], verb: int) -> bool:
    """Whether the verb of a clause is that of its amount and skill."""
    if clause.chunks[0].role is WordRole.CONTENT and verb and not clause.is_led(verb):
        return False
    return all(_is_place(clause, number) for number in _contents(clause, verb + 1, core[0])) and _is_of(clause, core)


def _is_begun(clause: Clause, core: Sequence[int], entry: Candidate) -> bool:
    """As "doing 45m guitar", "then 30 min piano": not done yet."""
    doing = any(chunk.role is WordRole.GERUND for chunk in clause.chunks[: core[0]])
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


def _is_place(clause: Clause, number: int) -> bool:
    """Whether a word only tells where: "at the bench"."""
    before = [chunk for chunk in clause.chunks[:number] if chunk.role not in (WordRole.THE, WordRole.CONTENT)]
    return bool(before) and before[-1].role in (WordRole.OF, WordRole.IN) and before[-1].plain not in {"of", "de"}


def _is_of(clause: Clause, core: Sequence[int]) -> bool:
    """Whether what stands between amount and skill only says more of the skill: "of slow metronome work on the"."""
    first, last = clause.chunks[core[0]], core[-1]
    between = clause.chunks[core[0] + 1 : last]
    contents = [chunk for chunk in between if chunk.role is WordRole.CONTENT]
    if not contents or first.role not in AMOUNTS:
        return True
    if between[0].plain not in {"of", "de"}:
        return all(_is_place(clause, number) for number in _contents(clause, core[0], last))
    return len(contents) <= 2 and (
        between[-1].role is WordRole.CONTENT or any(chunk.role is WordRole.PRACTICE for chunk in between)
    )


def _is_object(clause: Clause, core: Sequence[int]) -> bool:
    """As "me mandé una hora de piano": a verb that no table has, of the first person by its form."""
    if len(core) < 2 or clause.chunks[core[0]].role not in AMOUNTS:
        return False
    between = clause.chunks[core[0] + 1 : core[-1]]
    if not between or any(chunk.role not in (WordRole.OF, WordRole.THE) for chunk in between):
        return False
    said = [
        chunk
        for chunk in clause.chunks[: core[0]]
        if chunk.role in (WordRole.SUBJECT, WordRole.CONTENT, WordRole.OTHER)
    ]
    return len(said) == 2 and said[0].plain == "me" and said[1].is_past


def _may_be_verb(clause: Clause, core: Sequence[int], entry: Candidate) -> bool:
    """As "45 minutes of guitar beckons": what stands behind the skill."""
    last = clause.chunks[core[-1]]
    behind = clause.chunks[core[-1] + 1 : core[-1] + 2]
    spelled = entry.amount.role is WordRole.AMOUNT and last.start == entry.skill.start and not clause.days
    return spelled and bool(behind) and behind[0].role is WordRole.CONTENT
