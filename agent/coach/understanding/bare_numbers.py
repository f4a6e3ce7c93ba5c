"""Reads numbers of which no unit is said, beside skills and amounts: "20 min of guitar, 35 of piano". Pure."""

import re
from collections.abc import Sequence
from dataclasses import replace

from agent.coach.understanding.entries import Chunk
from agent.coach.understanding.tables import Twist, WordRole

MOST_BARE_HOURS = 4
"""A greater number without a unit, behind hours, may as well be minutes."""

LEAST_BARE = 5
LEAST_SPOKEN = 10
LEAST_BESIDE_HOURS = 15
"""Of a number without a unit: in pairs with skills, and where only hours are said besides."""

_MOST_BARE = {1: 600, 60: MOST_BARE_HOURS}
_MINUTES = frozenset({"minutes", "minutos", "mins"})
_HALF = frozenset({"half", "media"})


def letters_of(chunks: Sequence[Chunk], first: int, last: int) -> str:
    """The roles of these chunks, a letter each."""
    return "".join(chunk.role for chunk in chunks[first:last])


def read_bare_numbers(chunks: list[Chunk]) -> None:
    """Numbers that count minutes or hours become amounts."""
    _numbers_behind_amounts(chunks)
    _paired_numbers(chunks)


def _numbers_behind_amounts(chunks: list[Chunk]) -> None:
    """As "35 of piano" behind "20 minutes of guitar"."""
    unit = int(any(chunk.plain in _MINUTES for chunk in chunks))  # "45 of guitar, minutes I mean"
    said = False
    for at, chunk in enumerate(chunks):
        if chunk.role in (WordRole.AMOUNT, WordRole.AMOUNT_SHORT):
            unit, said = chunk.unit, True
        elif (
            unit == 60
            and chunk.plain.partition(" ")[0] in _HALF
            and re.match("PT?S", letters_of(chunks, at + 1, at + 4))
        ):
            chunks[at] = Chunk(WordRole.AMOUNT, chunk.start, chunk.end, minutes=30, unit=unit)
        elif chunk.role is WordRole.NUMBER:
            counted = _unit_of(chunks, at, unit, said=said)
            if counted and 0 < chunk.minutes <= _MOST_BARE.get(counted, 0):
                chunks[at] = replace(chunk, role=WordRole.AMOUNT, minutes=chunk.minutes * counted, unit=counted)


def _paired_numbers(chunks: list[Chunk]) -> None:
    """As "bass 30 + maths 45", "yesterday 45 bass, today only 15", "ran 30 min and stretched 15": all are minutes."""
    amounts = [chunk for chunk in chunks if chunk.role in (WordRole.AMOUNT, WordRole.AMOUNT_SHORT)]
    numbers = [at for at, chunk in enumerate(chunks) if chunk.role is WordRole.NUMBER and _is_paired(chunks, at)]
    if not amounts and (len(numbers) < 2 or min(chunks[at].minutes for at in numbers) < LEAST_SPOKEN):
        return
    least = LEAST_BARE if any(chunk.unit == 1 for chunk in amounts) or not amounts else LEAST_BESIDE_HOURS
    for at in numbers:
        if least <= chunks[at].minutes <= _MOST_BARE[1]:
            chunks[at] = replace(chunks[at], role=WordRole.AMOUNT)


def _is_paired(chunks: Sequence[Chunk], at: int) -> bool:
    """Whether a number stands where the time of a skill, of a day or of a part of one stands, and counts nothing."""
    before, behind = letters_of(chunks, max(0, at - 4), at), letters_of(chunks, at + 1, at + 6)
    taken_back = any(chunk.twist in (Twist.NEGATED, Twist.DOUBT) for chunk in chunks[at + 1 : at + 3])  # "45, no, 20"
    if taken_back or re.match(r"[JFT]*(?:$|[,.cCBYyKt])|PT?S|T?S", behind) is None:
        return False
    if re.search("[Sk][FJ,]*$", before) or (
        re.match("P?T?S", behind) and re.search("(?:^|[,.cCBYyKvVLJFOI])$", before)
    ):
        return True
    return re.search("[YyK][,FJ]*$", before) is not None or (before.endswith("c") and behind[:1] in ("K", "Y", "y"))


def _unit_of(chunks: Sequence[Chunk], at: int, unit: int, *, said: bool) -> int:
    """How many minutes a number counts of which no unit is said; 0 where it counts something else."""
    before, behind = letters_of(chunks, max(0, at - 2), at), letters_of(chunks, at + 1, at + 8)
    if chunks[at].minutes >= LEAST_BARE and re.search("[Yy]F?$", before) and re.match("[,c][Yy]F?D", behind):
        return 1  # "oboe: yesterday 30, today 40 minutes"
    later = said or (re.match("c[TP]*SF?P?D", behind) is not None and _counts_minutes(chunks[at + 1 : at + 8]))
    trails = chunks[at].start > 0 and re.search("S[FP]?$", before) and behind[:1] in ("", *",.cCB")
    goes_on = said and before.endswith("c")  # "and 10 of vibrato"
    of = re.match("PT?[Swp]" if goes_on else "PT?S", behind)
    return (unit or int(later)) if of or (trails and later) else 0


def _counts_minutes(chunks: Sequence[Chunk]) -> bool:
    """As behind "piano 20": "and guitar 25 minutes", where the unit is said once."""
    return any(chunk.role is WordRole.AMOUNT and chunk.unit == 1 for chunk in chunks)
