"""Puts the amounts of a message to the skills that they were of. Pure; what takes an entry back is `reaches`'."""

from collections.abc import Sequence

from agent.coach.understanding.chunk import Chunk
from agent.coach.understanding.clauses import SOFT, Clause
from agent.coach.understanding.entries import Candidate
from agent.coach.understanding.tables import Twist, WordRole


def pair_amounts(clauses: Sequence[Clause]) -> tuple[list[Candidate], bool]:
    """The entries, and whether no amount and no skill is left over."""
    entries: list[Candidate] = []
    taken: set[int] = set()  # clauses whose skill belongs to an amount of another
    clear = True
    for at, clause in enumerate(clauses):
        amounts, skills = clause.amounts, clause.skills
        if _is_out(clause) or not amounts:
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
    if before is not None and (clause.is_bare or clause.verb is not None) and not says_more:
        return Candidate(amount, clauses[before].skills[0], before, at)
    behind = clauses[at + 1] if at + 1 < len(clauses) else None
    done = clause.is_bare or (clause.has(WordRole.PRACTISED) and not says_more)
    if done and behind is not None and behind.sentence == clause.sentence and _names_one(behind):
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
        called = (
            number == at - 1 and clause.is_bare and clauses[at].is_bare and not clauses[at].days
        )  # "Drums! 35 minutes!"
        if not (called or clause.sentence == clauses[at].sentence) or clauses[number + 1].mark is WordRole.BUT:
            return None
        if clause.skills:
            alone = len(clause.skills) == 1 and not clause.amounts and not clause.has(WordRole.AMOUNT_VAGUE)
            return number if alone and clause.block is None and not clause.is_aside else None
        if not clause.is_fragment or clause.block is not None:
            return None
    return None


def _inherit(clauses: Sequence[Clause], at: int) -> Candidate | None:
    """As "I wanted to do an hour of guitar but did 20 min", "I took the bass and practised for 20 minutes"."""
    clause = clauses[at]
    before = [chunk for each in clauses[:at] for chunk in each.skills]
    if len({chunk.skill for chunk in before}) != 1:
        return None
    source = max(number for number in range(at) if clauses[number].skills)
    wished = clauses[source].block in (Twist.WISH, Twist.FUTURE, Twist.NEGATED, Twist.GOAL) and bool(
        clauses[source].amounts
    )
    practises = any(chunk.plain.startswith("practi") for chunk in clause.chunks) and clauses[source].block is None
    spoken = practises and not clauses[source].amounts
    return Candidate(clause.amounts[0], before[-1], at, at, is_sure=wished or spoken)


def _is_other_activity(clause: Clause, entries: Sequence[Candidate], clauses: Sequence[Clause]) -> bool:
    """Whether an amount is of something else: "two hours at the doctor's, then ..."."""
    if clause.is_bare or clause.verb is not None:
        return False
    return not entries or clauses[entries[-1].last].sentence != clause.sentence


def _is_left_over(clauses: Sequence[Clause], used: set[int], entries: Sequence[Candidate]) -> bool:
    """Whether a skill is named beside the entries of which nobody knows how long."""
    known = {entry.skill.skill for entry in entries}
    for at, clause in enumerate(clauses):
        if at in used or clause.is_aside or clause.block is not None or not clause.skills or clause.amounts:
            continue
        says = clause.is_bare or clause.verb is not None or clause.has(WordRole.NUMBER)
        if says and {chunk.skill for chunk in clause.skills} - known:
            return True
    return False
