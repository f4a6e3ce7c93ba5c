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
_MINUTES = frozenset({"minutes", "minutos", "mins"})
_HALF = frozenset({"half", "media"})
_WAKING = frozenset({"woke", "desperte", "me"})
_NOBODY = frozenset({"nadie", "nobody", "anyone", "anybody", "anything"})
_ENDS_CLAUSE = frozenset(",.cCB")
_ADDRESSED = frozenset(
    [
        "coach",
        "man",
        "bro",
        "mate",
        "dude",
        "buddy",
        "friend",
        "team",
        "sir",
        "entrenador",
        "entrenadora",
        "amigo",
        "amiga",
    ]
)
_HE_DOES = frozenset("VvgseWkA")
_WHERE = frozenset(
    [
        "break",
        "train",
        "bus",
        "commute",
        "flight",
        "trip",
        "journey",
        "drive",
        "meeting",
        "pausa",
        "descanso",
        "tren",
        "autobus",
        "vuelo",
        "viaje",
        "reunion",
    ]
)
_TURNS = frozenset({Twist.NEGATED, Twist.WISH, Twist.FUTURE})
_BEING_DONE = frozenset({"was", "were", "is", "are", "been"})
_WRITTEN = frozenset({"wrote", "escribi"})


def in_context(chunks: list[Chunk], words: Sequence[Word]) -> list[Chunk]:
    """The chunks as their neighbours make them."""
    for read in _READINGS:
        read(chunks, words)
    return chunks


def _letters(chunks: Sequence[Chunk], first: int, last: int) -> str:
    return "".join(chunk.role for chunk in chunks[first:last])


def _bare_numbers(chunks: list[Chunk], words: Sequence[Word]) -> None:
    """As "35 of piano" behind "20 minutes of guitar"."""
    unit = int(any(word.plain in _MINUTES for word in words))  # "45 of guitar, minutes I mean"
    for at, chunk in enumerate(chunks):
        if chunk.role in (WordRole.AMOUNT, WordRole.AMOUNT_SHORT):
            unit = chunk.unit
        if unit == 60 and words[chunk.start].plain in _HALF and re.match("PT?S", _letters(chunks, at + 1, at + 4)):
            chunks[at] = Chunk(WordRole.AMOUNT, chunk.start, chunk.end, minutes=30, unit=unit)
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


def _told_of_while(chunks: list[Chunk], words: Sequence[Word]) -> None:
    """As "before I woke up", "antes de que despertara nadie": neither a dream nor a denial."""
    inside = False
    for at, chunk in enumerate(chunks):
        inside = chunk.role is WordRole.WHILE or (inside and chunk.role.value not in _ENDS_CLAUSE)
        plain = words[chunk.start].plain
        wakes = chunk.twist is Twist.JOKE and plain in _WAKING
        if inside and (wakes or plain in _NOBODY):
            chunks[at] = replace(chunk, role=WordRole.CONTENT, twist=None)


def _small_words(chunks: list[Chunk], words: Sequence[Word]) -> None:
    """As "pero si hice", "has left the house", "wrote go": not if, not what remains, not what others wrote."""
    for at, chunk in enumerate(chunks[:-1]):
        plain, behind, before = words[chunk.start].plain, chunks[at + 1], chunks[at - 1] if at else None
        affirms = behind.is_first_person and behind.role.value in _HE_DOES | {"h"}
        if plain == "si" and before is not None and before.role is WordRole.BUT and affirms:
            chunks[at] = replace(chunk, role=WordRole.ADVERB, twist=None)
        elif plain == "left" and before is not None and behind.role is WordRole.THE:
            chunks[at] = replace(chunk, twist=Twist.UNCLEAR)
        elif plain in _WRITTEN and chunk.twist is Twist.REPORTED and behind.role is WordRole.SKILL:
            chunks[at] = replace(chunk, role=WordRole.DID, twist=None, is_first_person=plain == "escribi")


def _done_by_others(chunks: list[Chunk], words: Sequence[Word]) -> None:
    """As "the lasagne was cooking", "coach skipped", "done by my son"."""
    for at, chunk in enumerate(chunks[:-1]):
        plain, behind = words[chunk.start].plain, chunks[at + 1]
        doing = behind.role.value in "SGj" and words[behind.end - 1].plain.endswith("ing")
        if plain in _BEING_DONE and doing and chunk.role is WordRole.OTHER:
            chunks[at] = replace(chunk, twist=Twist.OTHERS)
        acts = not behind.is_first_person and (behind.role.value in "VvgsekW" or behind.twist in _TURNS)
        if chunk.role is WordRole.OPENING and plain in _ADDRESSED and chunk.end == chunk.start + 1 and acts and not at:
            chunks[at] = replace(chunk, role=WordRole.OTHER, twist=Twist.OTHERS)
        after_done = at and chunks[at - 1].role is WordRole.DONE
        if plain in {"by", "por"} and (behind.twist is Twist.OTHERS or after_done):
            chunks[at] = replace(chunk, role=WordRole.OTHER, twist=Twist.REPORTED)


def _places(chunks: list[Chunk], words: Sequence[Word]) -> None:
    """As "on the train", "en la pausa": where it was, no more."""
    for at, chunk in enumerate(chunks):
        behind = _letters(chunks, max(0, at - 2), at)
        if chunk.twist is Twist.LASTS and words[chunk.start].plain in _WHERE and re.search("[Pit]T?$", behind):
            chunks[at] = replace(chunk, role=WordRole.CONTENT, twist=None)


def _own_first_word(chunks: list[Chunk], words: Sequence[Word]) -> None:
    """As "Signed up for a test.", "Tired but ...": somebody who leaves out the "I"."""
    if len(chunks) < 2 or chunks[0].role is not WordRole.CONTENT:
        return
    behind = chunks[1].role
    if words[0].plain.endswith("ed") and len(words[0].plain) > 4 and behind.value not in _HE_DOES | frozenset("JHh"):
        chunks[0] = replace(chunks[0], role=WordRole.OTHER, twist=Twist.SELF)


_READINGS = (
    _bare_numbers,
    _instead,
    _told_of_while,
    _small_words,
    _done_by_others,
    _with_others,
    _questions,
    _under_way,
    _other_speakers,
    _places,
    _own_first_word,
)
