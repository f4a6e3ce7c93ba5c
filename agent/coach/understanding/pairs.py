"""Says which amount of a message is of which skill, and whether any is left over; what is said twice counts once. Pure.

Whether a pair is surely one's own past practice is `evidence`'s.
"""

import re
from collections.abc import Sequence

from agent.coach.understanding.clauses import AMOUNTS, SOFT, Clause
from agent.coach.understanding.contexts import is_past
from agent.coach.understanding.entries import Candidate, Chunk
from agent.coach.understanding.reaches import LEAST
from agent.coach.understanding.tables import Twist, WordRole
from agent.coach.understanding.timings import EACH, IN_ALL

_OF_LIST = frozenset({Twist.LASTS, Twist.UNCLEAR})
"""Of words that say in a list what the time went into: "canto: 20' de calentamiento y 30' de canciones"."""


def pair_amounts(clauses: Sequence[Clause]) -> tuple[list[Candidate], bool]:
    """The entries, and whether no amount and no skill is left over."""
    entries, clear = _of_each(clauses) or _pair(clauses)
    for at, clause in enumerate(clauses):
        if at and len(clause.amounts) == 1 and _restates(clauses, at):
            return _merge_restatement(clauses, at, entries, clear=clear)
    for number, entry in enumerate(entries):
        if any(_is_again(clauses, before, entry) for before in entries[:number]) or _is_of_recipe(clauses, entry.first):
            entry.is_sure = False
    return entries, clear


def _is_of_recipe(clauses: Sequence[Clause], at: int) -> bool:
    """As "precalienta el horno 20 min y cocina 40 min": one order after the other."""
    before = clauses[at - 1].chunks if at else ()
    orders = [chunk.role for chunk in before[:3]] == [WordRole.CONTENT, WordRole.THE, WordRole.CONTENT]
    return orders and clauses[at].mark is WordRole.AND and clauses[at].verb is None and bool(clauses[at - 1].amounts)


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


def _pair(clauses: Sequence[Clause]) -> tuple[list[Candidate], bool]:
    """The entries, and whether no amount and no skill is left over."""
    entries: list[Candidate] = []
    taken: set[int] = set()  # clauses whose skill belongs to an amount of another
    clear = True
    for at, clause in enumerate(clauses):
        amounts, skills = clause.amounts, clause.skills
        listed = clause.block in _OF_LIST and bool(entries) and _label_of(clauses, at) is not None
        if not amounts or (_is_out(clause) and not listed):
            clear = clear and not _is_added(clause, entries)
            continue
        if clause.is_aside:
            clear = clear and not skills
        elif own := _own(clause, at):
            entries += own
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


def _own(clause: Clause, at: int) -> list[Candidate]:
    """The entries of a clause that says of each amount what it was of; [] where it does not."""
    amounts, skills = clause.amounts, clause.skills
    if len(amounts) == 1 < len(skills) and _is_with(clause, skills):
        return [Candidate(amounts[0], skills[0], at, at)]
    said = [chunk for chunk in clause.chunks if chunk.role is WordRole.SKILL]
    named = skills if len(skills) == len(amounts) else said  # "20 min drums 20 min korean 20 min drums"
    if len(named) == len(amounts):
        return [Candidate(amount, skill, at, at) for amount, skill in zip(amounts, named, strict=True)]
    return _parts(clause, at) if len(skills) == 1 else []


def _parts(clause: Clause, at: int) -> list[Candidate]:
    """As "violin 15m scales 20m concerto": what the times of the one skill went into; asked about unless it is sure."""
    said = [chunk for chunk in clause.chunks if chunk.role is not WordRole.ADVERB]
    roles = "".join(chunk.role for chunk in said)
    if re.fullmatch("Y?S(?:[dD]P?[wp]){2,5}Y?", roles) is None or any(chunk.is_doing for chunk in said):
        return []
    sure = WordRole.CONTENT not in roles[2:]
    skill = clause.skills[0]
    return [Candidate(amount, skill, at, at, is_sure=sure) for amount in clause.amounts]


def _is_out(clause: Clause) -> bool:
    """Whether nothing in a clause is an entry; where it only may not be one, it is asked about."""
    if any(chunk.minutes == 0 for chunk in clause.amounts):
        return True
    return clause.block is not None and not (
        clause.block in SOFT and (clause.block is Twist.DOUBT or clause.verb is not None)
    )


def _is_added(clause: Clause, entries: Sequence[Candidate]) -> bool:
    """As "1h german + 20m homework": more of what stands before, which may count or may not."""
    joined = clause.mark is WordRole.AND and clause.verb is None and not clause.skills
    return bool(entries and clause.amounts) and joined and clause.block is Twist.UNCLEAR


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
    if behind is not None and is_named_last(clauses, at):
        return Candidate(amount, behind.skills[0], at, at + 1, is_sure=clause.verb is not None)
    if clause.has(WordRole.PRACTICE) and clause.is_bare and not clause.days and _is_of_one(clauses, entries, at):
        return Candidate(amount, entries[-1].skill, at, at)  # "fencing footwork 20 min, sparring 40 min"
    if clause.is_bare and clause.verb is None and (clause.has(WordRole.SUBJECT) or _makes_up(clauses, at)):
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


def is_named_last(clauses: Sequence[Clause], at: int) -> bool:
    """As "hit the driving range for an hour, golf": the one skill of a message, behind the one amount of it."""
    last = clauses[-1]
    amounts = [chunk for clause in clauses for chunk in clause.amounts]
    skills = [chunk for clause in clauses for chunk in clause.skills]
    plain = all(chunk.role is WordRole.SKILL or chunk.plain.endswith(("ly", "mente")) for chunk in last.chunks)
    own = clauses[at].verb is not None or _may_be_done(clauses[at])
    own = own and clauses[at].block is None
    near = at == len(clauses) - 2 and last.sentence == clauses[at].sentence and last.mark is WordRole.COMMA
    return near and plain and own and len(amounts) == len(skills) == 1


def _may_be_done(clause: Clause) -> bool:
    """As "shot arrows for an hour", "peloteé contra la pared 25 minutos": the verb of a skill that no table has."""
    head = clause.chunks[0]
    return head.role is WordRole.CONTENT and (head.is_first_person or is_past(head.plain))


def _is_of_one(clauses: Sequence[Clause], entries: Sequence[Candidate], at: int) -> bool:
    """Whether the clause before is an entry of the one skill that is named, as terse as this one."""
    named = {chunk.skill for clause in clauses for chunk in clause.skills}
    before = clauses[at - 1]
    return bool(entries) and len(named) == 1 and entries[-1].last == at - 1 and before.has(WordRole.PRACTICE)


def _names_one(clause: Clause) -> bool:
    return len(clause.skills) == 1 and not clause.amounts and clause.is_bare and not clause.is_aside


def _skill_before(clauses: Sequence[Clause], at: int) -> int | None:
    """The clause before, of the same sentence, that names one skill and no amount."""
    for number in range(at - 1, -1, -1):
        clause = clauses[number]
        if clause.is_aside and not clause.skills and not clause.amounts:
            continue  # "I have been knitting since dinner, about 45 minutes"
        called = number == at - 1 and _calls_out(clause, clauses[at])
        if not (called or clause.sentence == clauses[at].sentence) or clauses[number + 1].mark is WordRole.BUT:
            return None
        if clause.skills:
            alone = len(clause.skills) == 1 and not clause.amounts and not clause.is_cut
            open_to = clause.block is None or (clause.block is Twist.UNCLEAR and clause.has(WordRole.DAY))
            return number if alone and open_to and not clause.is_aside else None
        if not (clause.is_fragment or tells_which(clause)) or clause.block is not None:
            return None
    return None


def tells_which(clause: Clause) -> bool:
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


def _makes_up(clauses: Sequence[Clause], at: int) -> bool:
    """As "no bass yesterday but 25 minutes today": another day than the one on which nothing was done."""
    clause, before = clauses[at], clauses[at - 1]
    days = [{chunk.day.day for chunk in each.days if chunk.day is not None} for each in (before, clause)]
    apart = at > 0 and all(days) and days[0].isdisjoint(days[1])
    return apart and clause.mark is WordRole.BUT and before.block is Twist.NEGATED and not before.amounts


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


# ---------------------------------------------------------------- what is said twice

_ALL_IN_ALL = frozenset(["in all", "all in", "all told", "o sea", "es decir", "all in all"])
_AGAIN = frozenset(
    {"more", "another", "again", "extra", "further", "otro", "otra", "otros", "otras", "mas", "adicionales"}
)


def _restates(clauses: Sequence[Clause], at: int) -> bool:
    """As "... and 30 min of B, so 60 min of piano", "... 50 minutes in total": it says again what stands before."""
    clause = clauses[at]
    before = [chunk.minutes for each in clauses[:at] for chunk in each.amounts]
    words = {word for chunk in clause.chunks for word in chunk.plain.split()}
    said = " ".join(chunk.plain for chunk in clause.chunks)
    told = not words.isdisjoint(IN_ALL) or any(each in said for each in _ALL_IN_ALL)
    fits = clause.amounts[0].minutes in (sum(before), *before[-1:]) and words.isdisjoint(_AGAIN)
    says_when = fits and clause.mark is WordRole.COMMA and _says_when(clauses, at)
    return bool(before) and (told or says_when or (fits and clause.mark is WordRole.BUT and bool(clause.skills)))


def _says_when(clauses: Sequence[Clause], at: int) -> bool:
    """As "1h de batería, desde las 18 hasta las 19": the same stretch, once by its length and once by the clock."""
    amounts = [chunk for clause in clauses[at - 1 : at + 1] for chunk in clause.amounts]
    by_clock = [chunk.role is WordRole.AMOUNT_CLOCK for chunk in amounts]
    return len(clauses[at].chunks) == 1 and by_clock in ([True, False], [False, True])


def _merge_restatement(
    clauses: Sequence[Clause], at: int, entries: Sequence[Candidate], *, clear: bool
) -> tuple[list[Candidate], bool]:
    """The entries without what only says again how long they were; sure only where it fits."""
    clause = clauses[at]
    amount = clause.amounts[0]
    said = [entry for entry in entries if entry.amount is not amount]
    earlier = [entry for entry in said if entry.last < at]
    named = clause.skills[0] if len(clause.skills) == 1 else None
    same = named is None or all(entry.skill.skill == named.skill for entry in earlier)
    if earlier and same and sum(entry.amount.minutes for entry in earlier) == amount.minutes:
        return said, clear or len(entries) == len(said)
    skills = {entry.skill.skill for entry in earlier}
    skill = named or (earlier[-1].skill if len(skills) == 1 else None)
    before = [chunk.minutes for each in clauses[:at] for chunk in each.amounts]
    if skill is None or not same:
        return [*entries], False
    return [Candidate(amount, skill, at, at, is_sure=sum(before) == amount.minutes)], clear


def _is_again(clauses: Sequence[Clause], before: Candidate, entry: Candidate) -> bool:
    """Whether the same is said once more, and nothing that it was another time."""
    own = clauses[entry.last]
    same = (before.skill.skill, before.amount.minutes) == (entry.skill.skill, entry.amount.minutes)
    apart = own.mark in (WordRole.AND, WordRole.THEN) or own.has(WordRole.TIME) or own.days
    words = {word for chunk in own.chunks for word in chunk.plain.split()}
    return same and not apart and before.last != entry.last and words.isdisjoint(_AGAIN)
