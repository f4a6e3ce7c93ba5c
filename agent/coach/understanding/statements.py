"""Finds what somebody surely says that they practised: the shapes of it, and what around it makes it unsure. Pure.

A statement is a stretch of chunks in one of a few shapes; it begins where a clause begins and ends where one may end.
What else the message says is then looked through for what takes it back: a joke, a condition, somebody else's words.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agent.coach.understanding import shapes
from agent.coach.understanding.chunk import Chunk
from agent.coach.understanding.entries import AMOUNTS, Practised, day_of, drafts_of, entries_of
from agent.coach.understanding.tables import Twist, WordRole


@dataclass(frozen=True, slots=True)
class Statement:
    """What a message says was practised."""

    practised: tuple[Practised, ...]
    is_sure: bool
    is_said: bool  # somebody says that they did it; else it is as terse as in a log book
    end: int  # of the chunks; what stands behind is a note


_ALWAYS = frozenset({Twist.JOKE, Twist.HYPOTHETICAL, Twist.REPORTED, Twist.COMMAND, Twist.DOUBT, Twist.REMINDER})
"""What takes a statement back wherever it stands."""

_BEHIND = _ALWAYS | {Twist.NEGATED}
_BESIDE_TERSE = _BEHIND | {Twist.FUTURE, Twist.WISH, Twist.GOAL, Twist.HABIT}
_IN_TAIL = frozenset({Twist.OTHERS, Twist.SELF})
_IN_WHILE = frozenset({Twist.OTHERS, Twist.SELF, Twist.UNCLEAR, Twist.LASTS})


_THAT = frozenset({"que", "q", "that"})
_SPEAKERS = frozenset({WordRole.SUBJECT, WordRole.I_HAVE, WordRole.WAS_AT_IT})
_VERBS = frozenset(
    {WordRole.PRACTISED, WordRole.DID, WordRole.SPENT, WordRole.ACT, WordRole.HE, WordRole.JUST_DONE, WordRole.WENT}
)
_ELIDED = frozenset({Twist.NEGATED, Twist.WISH, Twist.FUTURE})
"""Of a verb that begins a message: "was supposed to", "skipped": the speaker left out the "I"."""

_WISHED = frozenset({Twist.WISH, Twist.FUTURE})

_PAUSES = frozenset({WordRole.COMMA, WordRole.STOP, WordRole.AND, WordRole.THEN, WordRole.BUT})
_SAYS_NOTHING = _PAUSES | {
    WordRole.OPENING,
    WordRole.ADVERB,
    WordRole.DAY,
    WordRole.DAY_EITHER,
    WordRole.TIME,
    WordRole.ABOUT,
}
_MORE_TO_TELL = AMOUNTS - {WordRole.NUMBER} | {
    WordRole.AMOUNT_VAGUE,
    WordRole.DAY_UNREAD,
    WordRole.DAY,
    WordRole.DAY_EITHER,
}


def letters_of(chunks: Sequence[Chunk]) -> str:
    """The roles in a row, for the shapes."""
    return "".join(chunk.role for chunk in chunks)


@dataclass(frozen=True, slots=True)
class _Core:
    """Chunks that have the shape of a statement."""

    start: int
    end: int
    is_said: bool  # somebody says that they did it
    is_new: bool = False  # of a skill that is none of theirs yet


def find_statement(chunks: Sequence[Chunk], now: datetime, said_of: Callable[[Chunk], str]) -> Statement | None:
    """What the message says was practised; None where it says nothing so. `said_of` gives a chunk's own words."""
    letters = letters_of(chunks)
    cores = _cores(chunks, letters, said_of)
    if not cores:
        return None
    sure = all(_stands(chunks, letters, cores, number) for number in range(len(cores)))
    practised: list[Practised] = []
    for number, core in enumerate(cores):
        inside = _with_name(chunks[core.start : core.end], said_of) if core.is_new else chunks[core.start : core.end]
        found, clear = entries_of(inside, now, is_said=core.is_said)
        found, clear_day = _with_day_before(chunks, cores, number, found, now)
        sure = sure and clear and clear_day
        practised += found
    said = any(core.is_said for core in cores)
    return Statement(tuple(practised), sure and bool(practised), said, cores[-1].end)


def _with_day_before(
    chunks: Sequence[Chunk], cores: Sequence[_Core], number: int, found: list[Practised], now: datetime
) -> tuple[list[Practised], bool]:
    """The entries of a statement that names no day, on the day that was named before it; and whether that is clear."""
    core = cores[number]
    inside = chunks[core.start : core.end]
    if any(chunk.day is not None for chunk in inside):
        return found, True
    said = {at: chunk.day for at, chunk in enumerate(chunks[: core.start]) if chunk.day is not None}
    if not said:
        return found, not _says_day_behind(chunks[core.end :])
    days, last = {named.day for named in said.values()}, max(said)
    day = days.pop()
    if days or day is None:
        return found, False
    if day == now.date():
        return found, True
    between = chunks[last + 1 : core.start]
    clear = core.is_said and all(chunk.role is not WordRole.STOP for chunk in between)
    clear = clear and all(chunk.twist in (None, Twist.SELF) for chunk in between)
    own = any(chunk.role in _SPEAKERS or (chunk.is_first_person and chunk.role in _VERBS) for chunk in between)
    clear = clear and (own or shapes.BETWEEN.fullmatch(letters_of(between)) is not None)
    if number and cores[number - 1].start <= last:
        clear = clear and last == cores[number - 1].start
    return [replace(entry, day=day) for entry in found], clear


def _says_day_behind(tail: Sequence[Chunk]) -> bool:
    """As "..., that was on Saturday"."""
    for at, chunk in enumerate(tail):
        if chunk.day is None:
            continue
        before = [each for each in tail[:at] if each.role not in (WordRole.OF, WordRole.THE)]
        if before and before[-1].twist in (Twist.UNCLEAR, Twist.LASTS):
            return True
    return False


def _begins(chunks: Sequence[Chunk], letters: str, said_of: Callable[[Chunk], str]) -> list[int]:
    """Where a statement may begin: with a clause, or behind what only tells where and when."""
    begins = {match.start() for match in shapes.CLAUSE.finditer(letters)}
    start = 0
    for at, chunk in enumerate(chunks):
        if chunk.role in _PAUSES:
            start = at + 1
        own = chunk.role in _SPEAKERS or (chunk.is_first_person and chunk.role in _VERBS)
        that = any(said_of(each).casefold() in _THAT for each in chunks[start:at])
        if own and not that and shapes.LEAD.fullmatch(letters, start, at):
            begins.add(at)
    return sorted(begins)


def _cores(chunks: Sequence[Chunk], letters: str, said_of: Callable[[Chunk], str]) -> list[_Core]:
    cores: list[_Core] = []
    at = 0
    for begin in _begins(chunks, letters, said_of):
        core = _core(chunks, letters, cores, begin) if begin >= at else None
        if core is not None:
            cores.append(core)
            at = core.end
    return cores


def _core(chunks: Sequence[Chunk], letters: str, cores: Sequence[_Core], begin: int) -> _Core | None:
    """The statement that begins here."""
    strong = shapes.SPOKEN.match(letters, begin)
    if strong is not None and _has_speaker(chunks, cores, begin, strong.end()):
        return _Core(begin, strong.end(), is_said=True)
    weak = shapes.TERSE.match(letters, begin)
    if weak is not None:
        before = chunks[cores[-1].end if cores else 0 : begin]
        done = bool(weak["done"]) or any(chunk.role is WordRole.DONE for chunk in before)
        said = bool(weak["did"])
        if said or _may_be_terse(letters, cores, begin, done=done) or _follows(chunks, cores, begin, weak.end()):
            return _Core(begin, weak.end(), is_said=said or done)
    spoken = shapes.NEW_SPOKEN.match(letters, begin)
    if spoken is not None and _has_speaker(chunks, cores, begin, spoken.end()):
        return _Core(begin, spoken.end(), is_said=True, is_new=True)
    terse = shapes.NEW_TERSE.match(letters, begin)
    if terse is not None and _may_be_terse(letters, cores, begin, done=False):
        return _Core(begin, terse.end(), is_said=False, is_new=True)
    return None


def _with_name(core: Sequence[Chunk], said_of: Callable[[Chunk], str]) -> list[Chunk]:
    """The chunks with the content words as one new skill."""
    if any(chunk.role is WordRole.ACT for chunk in core):
        return list(core)
    names = [at for at, chunk in enumerate(core) if chunk.role is WordRole.CONTENT]
    first, last = names[0], names[-1]
    name = " ".join(said_of(chunk) for chunk in core[first : last + 1] if chunk.role is not WordRole.QUOTE)
    skill = Chunk(WordRole.SKILL, core[first].start, core[last].end, skill=name, is_new=True)
    return [*core[:first], skill, *core[last + 1 :]]


def _has_speaker(chunks: Sequence[Chunk], cores: Sequence[_Core], begin: int, end: int) -> bool:
    """Whether the speaker says it of themselves: "I", a verb in the first person, or nobody else was spoken of."""
    core = chunks[begin:end]
    if any(chunk.role in _SPEAKERS for chunk in core[:4]):
        return True
    verb = next((chunk for chunk in core if chunk.role in _VERBS), None)
    if verb is not None and verb.is_first_person:
        return True
    before = chunks[cores[-1].end if cores else 0 : begin]
    spoken = [chunk for chunk in before if chunk.role not in _SAYS_NOTHING]
    if not spoken:
        return True
    if any(chunk.twist is Twist.OTHERS for chunk in spoken):
        return False
    if any(chunk.role in _SPEAKERS for chunk in spoken):
        return True
    own = spoken[0].twist in _ELIDED or spoken[0].role in _VERBS | {WordRole.FITTED}
    if own and any(chunk.role in _PAUSES for chunk in before[-3:]):
        return True
    apart = any(chunk.role in (WordRole.STOP, WordRole.BUT) for chunk in before[-2:])
    return apart and any(chunk.twist is Twist.SELF for chunk in spoken)


def _may_be_terse(letters: str, cores: Sequence[_Core], begin: int, *, done: bool) -> bool:
    """Whether a log book's line may begin here: at the start, behind another, or where it says that it is done."""
    start = cores[-1].end if cores else 0
    between = letters[start:begin]
    if shapes.LEADING.fullmatch(between):
        return True
    return done and between.endswith(".")


def _follows(chunks: Sequence[Chunk], cores: Sequence[_Core], begin: int, end: int) -> bool:
    """As "..., so just ten minutes of piano today": a log book's line of a day behind what is told first."""
    before = chunks[cores[-1].end if cores else 0 : begin]
    if not before or not any(chunk.role is WordRole.DAY for chunk in chunks[begin:end]):
        return False
    if before[-1].role is WordRole.BUT:
        return chunks[begin].role is WordRole.ADVERB
    aside = any(chunk.twist in (Twist.OTHERS, Twist.LASTS) for chunk in before)
    return before[-1].role is WordRole.STOP and not aside


def _stands(chunks: Sequence[Chunk], letters: str, cores: Sequence[_Core], number: int) -> bool:
    """Whether nothing around a statement takes it back."""
    core = cores[number]
    is_done = letters[core.end - 1] == WordRole.DONE
    if not _is_whole(letters, core) or not _tail_stands(chunks[core.end :], is_said=core.is_said, is_done=is_done):
        return False
    if number == len(cores) - 1 and _more_amounts(chunks[core.end :]):
        return False
    inside = {index for each in cores for index in range(each.start, each.end)}
    for index, chunk in enumerate(chunks):
        against = (_ALWAYS if index < core.start else _BEHIND) if core.is_said else _BESIDE_TERSE
        if chunk.twist in against and index not in inside:
            return False
    return True


def _is_whole(letters: str, core: _Core) -> bool:
    """Whether nothing is asked or quoted, and no more skills or verbs hang on the statement."""
    if "?" in letters or ('"' in letters and not core.is_new):
        return False
    behind = letters[core.end :]
    if shapes.ANOTHER.match(behind) or (letters[core.end - 1] != "w" and shapes.ANOTHER_NAME.match(behind)):
        return False
    return core.is_said or not shapes.NOTED.fullmatch(letters[core.start : core.end])


def _more_amounts(tail: Sequence[Chunk]) -> bool:
    """Whether an amount follows in a clause that nothing turns into something else: how much of what?"""
    amount = turned = False
    for chunk in tail:
        if chunk.role in _PAUSES:
            if amount and not turned:
                return True
            amount = turned = False
        amount = amount or chunk.role in AMOUNTS - {WordRole.NUMBER}
        turned = turned or chunk.twist is not None
    return amount and not turned


def _tail_stands(tail: Sequence[Chunk], *, is_said: bool, is_done: bool) -> bool:
    """Whether what follows without a pause only tells more."""
    allowed = frozenset(Twist) - _BESIDE_TERSE if is_done else _IN_TAIL
    for chunk in tail:
        if chunk.role in _PAUSES:
            return True
        if (not is_done and chunk.role is WordRole.WHILE) or (is_said and chunk.role in (WordRole.OF, WordRole.IN)):
            allowed = _IN_WHILE
        if chunk.twist is not None and chunk.twist not in allowed:
            return False
        if chunk.role in _MORE_TO_TELL:
            return False
    return True


_LACKING = (
    (shapes.NO_SKILL, "skill"),
    (shapes.DID_AMOUNT, "inherited"),
    (shapes.VAGUE, "amount"),
    (shapes.NO_AMOUNT, "amount"),
)


def find_inherited(
    chunks: Sequence[Chunk], now: datetime, said_of: Callable[[Chunk], str]
) -> tuple[Practised, bool] | None:
    """What was done of the one skill that is spoken of before, and whether that is sure.

    As "I wanted to do an hour of guitar but did 20 min", "I took the bass and practised for 20 minutes".
    """
    letters = letters_of(chunks)
    skills = [at for at, chunk in enumerate(chunks) if chunk.role is WordRole.SKILL]
    if len({chunks[at].skill for at in skills}) != 1:
        return None
    found = next(
        (
            match
            for begin in _begins(chunks, letters, said_of)
            for match in (shapes.DID_AMOUNT.match(letters, begin),)
            if match is not None and begin > skills[-1] and _has_speaker(chunks, (), begin, match.end())
        ),
        None,
    )
    if found is None:
        return None
    core = _Core(found.start(), found.end(), is_said=True)
    before, inside = chunks[: core.start], chunks[core.start : core.end]
    draft = drafts_of(inside)[0]
    entry = Practised(draft.minutes, chunks[skills[0]].skill, day_of(draft.day, now.date()))
    entries, clear = _with_day_before(chunks, [core], 0, [entry], now)
    twists = {chunk.twist for chunk in before} - {None, Twist.SELF, Twist.UNCLEAR}
    wished = any(chunk.role in AMOUNTS for chunk in before) and bool(twists) and twists <= _WISHED
    practises = any(said_of(chunk).casefold().startswith("practi") for chunk in inside) and not twists
    practises = practises and not any(chunk.role in AMOUNTS for chunk in before)
    sure = (wished or practises) and clear and bool(draft.minutes) and not draft.has_days
    return entries[0], sure and _stands(chunks, letters, [core], 0)


def find_lacking(chunks: Sequence[Chunk], now: datetime) -> tuple[str, Practised] | None:
    """What somebody says they practised without saying what or how long; "skill" or "amount" is what lacks."""
    letters = letters_of(chunks)
    for begin in (match.start() for match in shapes.CLAUSE.finditer(letters)):
        for pattern, lacks in _LACKING:
            found = pattern.match(letters, begin)
            if found is None or not _has_speaker(chunks, (), begin, found.end()):
                continue
            core = chunks[begin : found.end()]
            draft = drafts_of(core)[0]
            return lacks, Practised(draft.minutes, draft.skill, day_of(draft.day, now.date()))
    return None
