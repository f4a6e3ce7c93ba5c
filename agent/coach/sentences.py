"""Tells whether a sentence surely corrects what was logged: "actually it was 60 minutes". Pure; writes nothing.

Sure means that the whole sentence has one of a few shapes, word by word; a word that no shape has a place for makes it
unsure. What somebody says that they practised is `understanding`'s to read.
"""

import re
from collections.abc import Sequence
from enum import StrEnum

from agent.coach.log_line import find_days
from agent.coach.practice import name_key
from agent.coach.understanding.amounts import find_duration
from agent.transcript import EDITED
from agent.wellformed import clean

# ---------------------------------------------------------------- words: one letter a class

_CONTENT, _NUMBER = "w", "n"

_LISTS = {
    "I": "i yo",
    "O": "hi hey hello ok okay well alright please yes yep great hola buenas buenos "
    "vale bueno bien oye sí porfa favor por",
    "N": "no not nope",
    "F": "for about around roughly nearly almost approximately durante unos unas casi aproximadamente",
    "P": "of on at with to de del con a al en",
    "T": "the my some an la el las los mi un una",
    "c": "and y doing focusing working",
    "R": "actually sorry oops correction perdón perdon perdona perdone disculpa corrección correccion realidad",
    "W": "wait espera",
    "t": "it that",
    "b": "was eran fueron fue",
    "m": "meant decir",
    "k": "make change pon ponlo ponle quise quería queria cambia cámbialo cambialo corrige",
    "r": "instead rather vez",
    ",": ", : ; ( ) - – — | . !",
    '"': '" “ ” « »',
    "?": "? ¿",
}

_PHRASES = {
    "por favor": "favor",
    "en realidad": "realidad",
    "mejor dicho": "realidad",
    "en vez de": "vez",
    "instead of": "instead",
    "rather than": "rather",
    "scrap that": "wait",
    "scratch that": "wait",
    "strike that": "wait",
    "my bad": "sorry",
    "mi error": "perdon",
}
"""Words that mean something only together, and the word that stands for them."""

_CLASSES: dict[str, str] = {word: letter for letter, words in _LISTS.items() for word in words.split()}
"""From a word, case-folded, to the letter of its class."""


MAX_CHARS = 400
"""A longer message says more than one thing; it is not surely a correction."""

MAX_WORDS = 60

MAX_DURATIONS = 3
"""Of which shapes have two at most; the rest of the text is not searched."""


class Reading(StrEnum):
    """What a sentence with a duration surely is, or may be."""

    CORRECTION = "correction"
    MAYBE_CORRECTION = "maybe_correction"
    OTHER = "other"


def read_sentence(text: str, skills: Sequence[str]) -> Reading:
    """What a message with a duration says; `skills` are the names the person has."""
    text = text.removeprefix(EDITED)
    if len(text) > MAX_CHARS:
        return Reading.OTHER
    shape = shape_of(text, skills)
    if len(shape) > MAX_WORDS or _OBLIGED.search(text):
        return Reading.OTHER
    if _CORRECTION.fullmatch(shape):
        return Reading.CORRECTION
    if _LAST_ONE.search(text) and _DURATION.search(shape) and "?" not in text:
        return Reading.MAYBE_CORRECTION
    if _DENIED.search(shape) or not _DURATION.search(shape):
        return Reading.OTHER
    return Reading.MAYBE_CORRECTION if _CORRECTING.match(shape) else Reading.OTHER


_BARE = re.compile(
    r"(?<![\w:.,/-])(?P<number>[1-9][0-9]{0,2})(?![\w:.,/%€$-]\w|\s?(?:am|pm|h|hs|st|nd|rd|th|%|€|bpm|reps|pages)\b)(?!\w)"
)
_NOT_THAT = re.compile(
    r"\b(?:not|no|instead of|rather than|en vez de|said|put|logged|typed|wrote|dije|puse|anot[eé]) $", re.IGNORECASE
)


def spell_correction(text: str) -> str:
    """A correction whose minutes lack their unit, with it: "make that 40" is "make that 40 min"."""
    if find_duration(text[:MAX_CHARS]) is not None:
        return text
    said = text[:MAX_CHARS]
    found = (number for number in _BARE.finditer(said) if not _NOT_THAT.search(said[: number.start()][-12:]))
    number = next(found, None)
    return text if number is None else f"{text[: number.end()]} min{text[number.end() :]}"


def shape_of(text: str, skills: Sequence[str]) -> str:
    """One letter a word: `d` and `D` durations, `Y` and `y` days, `S` the person's skills, else the word's class."""
    folded = name_key(clean(text.replace("\n", " , ")))
    for words, single in _PHRASES.items():
        folded = folded.replace(words, single)
    folded = _with_days(_with_durations(folded))
    for name in sorted(map(name_key, skills), key=len, reverse=True):
        if name:
            folded = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", f" {_MARKS['S']} ", folded)
    return re.sub(",+", ",", "".join(_class_of(word) for word in _WORD.findall(folded)))


_MARKS = {letter: chr(0xE000 + at) for at, letter in enumerate("dDYyS")}
"""Characters for private use: no text has them after `clean`."""

_LETTERS = {mark: letter for letter, mark in _MARKS.items()}
_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\s]")
_SHORT = re.compile(r"[0-9]")


def _with_durations(text: str) -> str:
    """Each duration as a mark: `d` in figures with a short unit ("45m", "1h30"), `D` as people say it."""
    parts = []
    for _ in range(MAX_DURATIONS):
        found = find_duration(text)
        if found is None:
            break
        said = text[found.start : found.end]
        short = _SHORT.search(said) is not None and not _SPELLED.search(said)
        parts += [text[: found.start], f" {_MARKS['d' if short else 'D']} "]
        text = text[found.end :]
    return "".join((*parts, text))


_SPELLED = re.compile(r"minut|hour|hora")


def _with_days(text: str) -> str:
    """Each day as a mark: `Y` where it is surely past or today, `y` a weekday, which may be the next one too."""
    for day in reversed(find_days(text)):
        text = f"{text[: day.start]} {_MARKS['y' if day.may_come else 'Y']} {text[day.end :]}"
    return text


def _class_of(word: str) -> str:
    if word in _LETTERS:
        return _LETTERS[word]
    known = _CLASSES.get(word.replace("’", "'"))
    if known is not None:
        return known
    if word.isdigit():
        return _NUMBER
    return _CONTENT if word.isalpha() else "x"  # with an apostrophe it holds a verb: I'd, don't, it's


# ---------------------------------------------------------------- the shapes

_OPENING = "[O,]*"
_CLOSING = "[.O,]*"
_RIGHT = r"(?:[PT]*S)?[,b]?F*[dD](?:,?c?,?(?:tb)?[PT]*S)?(?:,?c?,?[yY])?"
_WRONG = r"(?:,?(?:N|R|r)[PT]*(?:S|[dD]|n)?)?"
_MEANT = r"(?:I[mk]|kt?P?|t?b|[PT]*Sb)F*"
_CORRECTION = re.compile(
    rf"{_OPENING}(?:[RNW],*){{1,6}}{_MEANT}{_RIGHT}{_WRONG}{_CLOSING}"
    rf"|{_OPENING}(?:[RNW],*){{0,5}}[RNW],+{_RIGHT}{_WRONG}{_CLOSING}"
    rf"|{_OPENING}R,*{_RIGHT}{_WRONG}{_CLOSING}"
    rf"|{_OPENING}{_MEANT}{_RIGHT}{_WRONG}{_CLOSING}"
    rf"|{_OPENING}{_RIGHT},?(?:r|N[PT]*(?:S|[dD]|n)){_CLOSING}"
)
_OBLIGED = re.compile(r"\b(?:was|were) (?:supposed|meant|going|gonna)\b", re.IGNORECASE)
_LAST_ONE = re.compile(
    r"\b(?:last|latest|previous) (?:entry|log|session|one|record)\b.{0,20}\b(?:should|is|was|has to|needs to)\b"
    r"|\b(?:that|it|this) should(?: have|'ve|’ve)? (?:been|be|said)\b|\bdeb\w+ (?:haber sido|ser)\b"
    r"|[uú]ltim[ao](?: (?:entrada|sesi[oó]n|anotaci[oó]n|registro))?\b"
    r".{0,20}\b(?:deb\w+|es|era|son|eran|fueron|ten[ií]a)",
    re.IGNORECASE,
)
_DURATION = re.compile("[dD]")
_DENIED = re.compile(r"[?N!¿]|[dD].*[dD].*[dD]")
_CORRECTING = re.compile(r"[O,]*(?:[RW]|kt|t?b(?=[PTFN]*[dDSyYn])|I[mk])")
