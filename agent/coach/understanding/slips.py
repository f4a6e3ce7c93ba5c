"""Mends slips in the ordinary words of a message about practice: "minuets", "yestarday", "afinándolo". Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from agent.coach.understanding.english import ENGLISH
from agent.coach.understanding.spanish import SPANISH
from agent.coach.understanding.tables import LanguageTable
from agent.coach.understanding.words import Word, letters_between, plain_of

_CLITIC = re.compile(r"([a-z]{2,12}(?:a|ie|ye)ndo)(?:l[aoe]s?|me|se|nos)")
LEAST_MENDED = 5
"""Letters; a shorter word is too near too many."""

MOST_MENDED = 16
TWO_SLIPS = 2
LEAST_TWICE = 8
"""Letters of a word in which two slips are mended."""

_MENDED = (
    "today yesterday tomorrow tonight morning afternoon evening minute minutes hours practice practiced "
    "practised "
    "practicing practising rehearsed forgot forty fifty sixty seventy eighty ninety twenty thirty fifteen twelve "
    "eleven "
    "thirteen fourteen sixteen seventeen eighteen nineteen quarter "
    "minuto minutos practique practicando practicado treinta cuarenta cincuenta sesenta "
    "setenta ochenta "
    "noventa veinte quince veinticinco anteayer"
)
"""Beside the weekdays: ordinary words of a message about practice in which slips are common."""

_REAL = frozenset(
    [
        "thirsty",
        "forth",
        "forte",
        "forts",
        "fifth",
        "sixth",
        "seventh",
        "eighth",
        "sundae",
        "sundry",
        "mourning",
        "minuet",
        "minuets",
        "toady",
        "toddy",
        "practices",
        "practical",
        "vienes",
        "mates",
        "mares",
        "martas",
        "partes",
        "lunas",
        "sabido",
        "saldado",
        "estudio",
        "estudios",
        "studios",
        "jueces",
        "nueves",
        "minutas",
        "quinto",
        "quinces",
        "quartet",
        "quarters",
        "eventing",
        "ninetieth",
        "evenings",
        "mornings",
        "frida",
        "practicas",
        "practica",
        "practico",
        "horns",
        "house",
        "practicar",
        "practiques",
        "practiquen",
        "practicara",
        "practicase",
        "rehearses",
    ]
)
"""Words of their own that are one letter away from one of those."""


def _said_in(table: LanguageTable) -> Iterator[str]:
    """Every word of a table."""
    amounts = table.amounts
    texts = (*table.phrases.values(), *table.twisted_phrases.values(), *table.roles.values(), *table.twists.values())
    words = (*amounts.numbers, *amounts.hours, *amounts.minutes, *amounts.half, *amounts.quarter)
    days = (*table.weekdays, *table.months)
    named = (*days, *table.days, *table.open_days, table.parts, table.times, table.periods, table.vague, *texts, *words)
    acts = (*table.acts, *table.acts.values())
    for text in (*named, *acts):
        yield from plain_of(text).replace(";", " ").split()


@cache
def _known_words() -> frozenset[str]:
    return frozenset(word for table in (ENGLISH, SPANISH) for word in _said_in(table)) | _REAL


def _shorter(word: str) -> Iterator[str]:
    """The word, and the word without each of its letters."""
    yield word
    for at in range(len(word)):
        yield word[:at] + word[at + 1 :]


@cache
def _slips() -> tuple[dict[str, frozenset[str]], dict[tuple[str, str], list[str]]]:
    """From each word with a letter less to what it may be; the long ones by their first letter and the last two."""
    weekdays = (plain_of(day) for table in (ENGLISH, SPANISH) for day in table.weekdays if len(day) > LEAST_MENDED)
    found: dict[str, set[str]] = {}
    by_ends: dict[tuple[str, str], list[str]] = {}
    for word in (*_MENDED.split(), *weekdays):
        for shorter in _shorter(word):
            found.setdefault(shorter, set()).add(word)
        if len(word) >= LEAST_TWICE:
            by_ends.setdefault((word[0], word[-2:]), []).append(word)
    return {shorter: frozenset(words) for shorter, words in found.items()}, by_ends


def mend_words(words: Sequence[Word], own: frozenset[str]) -> list[Word]:
    """The words, those with one slip in an ordinary word mended; `own` are words of the person's skills."""
    known = _known_words()
    return [word if word.plain in known or len(word.plain) < LEAST_MENDED else _mend(word, own) for word in words]


def _mend(word: Word, own: frozenset[str]) -> Word:
    clitic = _CLITIC.fullmatch(word.plain)
    if clitic is not None and clitic[1] in _known_words():  # "afinándolo"
        return replace(word, text=clitic[1], plain=clitic[1])
    if word.plain.endswith("in") and f"{word.plain}g" in _known_words() | own:  # "learnin"
        return replace(word, text=f"{word.plain}g", plain=f"{word.plain}g")
    if word.plain in own or not word.is_name or len(word.plain) > MOST_MENDED:
        return word
    said = word.plain
    slips, by_ends = _slips()
    meant = {right for shorter in _shorter(said) for right in slips.get(shorter, ())}
    right = [each for each in meant if each[0] == said[0] and letters_between(said, each) == 1]
    if not right and len(said) >= LEAST_TWICE:  # "practicara" is no slip: it ends otherwise
        right = [each for each in by_ends.get((said[0], said[-2:]), ()) if letters_between(said, each) == TWO_SLIPS]
    longest = max(right, key=len, default="")  # "minutso" may be minuto and minutos: the same
    return replace(word, text=longest, plain=longest) if right and all(map(longest.startswith, right)) else word
