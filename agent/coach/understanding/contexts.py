"""Reads chunks again beside their neighbours: what some words mean only these make clear. Pure."""

import re
from collections.abc import Sequence
from dataclasses import replace

from agent.coach.understanding.chunk import Chunk
from agent.coach.understanding.tables import Twist, WordRole
from agent.coach.understanding.words import Word

MOST_BARE_HOURS = 4
"""A greater number without a unit, behind hours, may as well be minutes."""

_MOST_BARE = {1: 600, 60: MOST_BARE_HOURS}
_WITH = frozenset({"with", "con"})
_BEING = frozenset({"estoy", "toy", "ando", "sigo"})
_ASKS_BEFORE_SUBJECT = frozenset({"did", "have", "had"})
_PAUSES = frozenset(",.cCBOYy")


def in_context(chunks: list[Chunk], words: Sequence[Word]) -> list[Chunk]:
    """The chunks as their neighbours make them."""
    for read in (_bare_numbers, _instead, _with_others, _questions, _under_way, _other_speakers):
        read(chunks, words)
    return chunks


def _letters(chunks: Sequence[Chunk], first: int, last: int) -> str:
    return "".join(chunk.role for chunk in chunks[first:last])


def _bare_numbers(chunks: list[Chunk], _: Sequence[Word]) -> None:
    """As "35 of piano" behind "20 minutes of guitar"."""
    unit = 0
    for at, chunk in enumerate(chunks):
        if chunk.role in (WordRole.AMOUNT, WordRole.AMOUNT_SHORT):
            unit = chunk.unit
        counts = chunk.role is WordRole.NUMBER and 0 < chunk.minutes <= _MOST_BARE.get(unit, 0)
        if counts and re.match("PT?S", _letters(chunks, at + 1, at + 4)):
            chunks[at] = replace(chunk, role=WordRole.AMOUNT, minutes=chunk.minutes * unit, unit=unit)


def _instead(chunks: list[Chunk], _: Sequence[Word]) -> None:
    """As "instead of guitar", "without the guitar"; "instead of eating" is none of that."""
    for at, chunk in enumerate(chunks):
        if chunk.role is WordRole.INSTEAD:
            negates = re.match("[GTfP]*S", _letters(chunks, at + 1, at + 4)) is not None
            role, twist = (WordRole.OTHER, Twist.NEGATED) if negates else (WordRole.WHILE, None)
            chunks[at] = replace(chunk, role=role, twist=twist)


def _with_others(chunks: list[Chunk], words: Sequence[Word]) -> None:
    """As "with my brother": the speaker was there."""
    for at, chunk in enumerate(chunks[:-1]):
        if chunk.role is WordRole.OF and words[chunk.start].plain in _WITH and chunks[at + 1].twist is Twist.OTHERS:
            chunks[at + 1] = replace(chunks[at + 1], role=WordRole.CONTENT, twist=None)


def _questions(chunks: list[Chunk], words: Sequence[Word]) -> None:
    """As "did I practise": asked, also without a question mark."""
    for at, chunk in enumerate(chunks[:-1]):
        begins = at == 0 or chunks[at - 1].role.value in _PAUSES
        if begins and words[chunk.start].plain in _ASKS_BEFORE_SUBJECT and chunks[at + 1].role is WordRole.SUBJECT:
            chunks[at] = replace(chunk, role=WordRole.OTHER, twist=Twist.QUESTION)


def _under_way(chunks: list[Chunk], words: Sequence[Word]) -> None:
    """As "estoy practicando": not done yet."""
    for at, chunk in enumerate(chunks[:-1]):
        if words[chunk.start].plain in _BEING and chunks[at + 1].role in (WordRole.GERUND, WordRole.ACTING):
            chunks[at] = replace(chunk, role=WordRole.OTHER, twist=Twist.FUTURE)


def _other_speakers(chunks: list[Chunk], _: Sequence[Word]) -> None:
    """As "Tom played", "the tuner worked": a verb that does not say who, behind somebody."""
    for at in range(1, len(chunks)):
        verb, before = chunks[at], chunks[at - 1]
        acts = verb.role in (WordRole.DID, WordRole.PRACTISED, WordRole.ACT) and not verb.is_first_person
        if acts and before.role is WordRole.CONTENT:
            chunks[at - 1] = replace(before, role=WordRole.OTHER, twist=Twist.OTHERS)
