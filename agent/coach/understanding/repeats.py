"""Reads how often a time was practised, which are added up, and which are none: "x2", "45 + 45", "1500m". Pure."""

import re
from dataclasses import replace

from agent.coach.understanding.entries import Chunk
from agent.coach.understanding.tables import Twist, WordRole
from agent.coach.understanding.timings import EACH, letters_of

MOST_TIMES = 12
_SIGNS = frozenset({"x", "×"})
_OF = frozenset({"of", "de"})
_EACH = frozenset({"each", "cada", "apiece"})
_TWICE = frozenset({"twice", "two times", "dos veces"})
_PLUS = frozenset({"+", "plus", "mas"})
_AMOUNTS = frozenset({WordRole.AMOUNT, WordRole.AMOUNT_SHORT})


def read_times(chunks: list[Chunk]) -> None:
    """As "two 25 minute pomodoros", "6 rondas de 3 min", "10 min meditation x2": so often that long."""
    for at, chunk in enumerate(chunks):
        if chunk.role is not WordRole.NUMBER or not 2 <= chunk.minutes <= MOST_TIMES:
            continue
        behind = letters_of(chunks, at + 1, at + 5)
        amount = (
            at + 3
            if re.match("[wp]P[Dd]", behind) and chunks[at + 2].plain in _OF
            else at + 1
            if re.match("[Dd][wp]", behind)
            and not (at and chunks[at - 1].role is WordRole.CONTENT)  # "chapter 3 25 min"
            else None
        )
        amounts = [place for place, each in enumerate(chunks) if each.role.value in "dD"]
        things = chunks[at + 1 : at + 2]
        counted = bool(things) and things[0].role.value in "wp" and things[0].plain.endswith("s")
        said_each = [place for place, each in enumerate(chunks) if each.plain in EACH]
        if counted and said_each and len(amounts) == 1 and amount is None:  # "two sessions today, 20 minutes each"
            amount = amounts[0]
            chunks[said_each[0]] = replace(chunks[said_each[0]], role=WordRole.ADVERB, twist=None)
        if at and chunks[at - 1].plain in _SIGNS and letters_of(chunks, at + 1, at + 2) in ("", ",", "."):
            amount = amounts[0] if len(amounts) == 1 else None
            each = any(chunk.plain.split()[0] in _EACH for chunk in chunks)
            doubt = None if each else Twist.DOUBT  # "30 min x 3" is asked about
            chunks[at - 1] = replace(chunks[at - 1], role=WordRole.ADVERB, twist=doubt)
        if amount is not None and (amount != at + 1 or chunks[amount + 1].plain.endswith("s")):
            chunks[amount] = replace(chunks[amount], minutes=chunk.minutes * chunks[amount].minutes)
            chunks[at : at + 1] = [replace(chunk, role=WordRole.ADVERB)]
            if amount == at + 3:
                chunks[at + 1 : at + 3] = [replace(each, role=WordRole.ADVERB) for each in chunks[at + 1 : at + 3]]


def twice_each(chunks: list[Chunk]) -> None:
    """As "did yoga twice today, 20 min each": so often that long."""
    twice = next((at for at, chunk in enumerate(chunks) if chunk.plain in _TWICE), None)
    timed = [at for at, chunk in enumerate(chunks) if chunk.role in _AMOUNTS]
    each = next((at for at, chunk in enumerate(chunks) if chunk.plain in EACH), None)
    if twice is not None and each is not None and len(timed) == 1:  # "did yoga twice today, 20 min each"
        chunks[timed[0]] = replace(chunks[timed[0]], minutes=2 * chunks[timed[0]].minutes)
        for place in (twice, each):
            chunks[place] = replace(chunks[place], role=WordRole.ADVERB, twist=None)


def add_up(chunks: list[Chunk]) -> None:
    """As "química 45 min + 45 min": one time, of one skill."""
    if len({chunk.skill for chunk in chunks if chunk.role is WordRole.SKILL}) != 1:
        return
    for at in range(len(chunks) - 3, -1, -1):
        if at + 3 > len(chunks):
            continue
        first, plus, last = chunks[at : at + 3]
        ends = letters_of(chunks, at + 3, at + 4) in {"", ",", ".", "P", "c"}
        if first.role in _AMOUNTS and last.role in _AMOUNTS and plus.plain in _PLUS and ends:
            chunks[at : at + 3] = [replace(first, end=last.end, minutes=first.minutes + last.minutes)]


LEAST_METRES = 400


def leave_distances(chunks: list[Chunk]) -> None:
    """As "swam 1500m": metres, where nobody counts so many minutes."""
    for at, chunk in enumerate(chunks):
        if chunk.role is WordRole.AMOUNT_SHORT and chunk.minutes >= LEAST_METRES and chunk.plain.endswith(" m"):
            chunks[at] = replace(chunk, role=WordRole.ADVERB, minutes=0)
