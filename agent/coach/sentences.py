"""Tells whether a sentence surely says that its speaker practised, or corrects what was logged. Pure; writes nothing.

Sure means that the whole sentence has one of a few shapes, word by word: somebody's own practice, past, of a skill they
have. A word that no shape has a place for (a negation, a wish, a timer, somebody else, a reason) makes it unsure,
whatever the word is: the shapes list what is allowed, not what is forbidden. What the words mean is `vocabulary`'s.
"""

import re
from collections.abc import Sequence
from enum import StrEnum

from agent.coach.durations import find_duration
from agent.coach.log_line import find_days
from agent.coach.practice import name_key
from agent.coach.vocabulary import CLASSES, CONTENT, NUMBER, PHRASES
from agent.transcript import EDITED
from agent.wellformed import clean

MAX_CHARS = 400
"""A longer message says more than one thing; it is not surely a log."""

MAX_WORDS = 60

MAX_DURATIONS = 3
"""Of which shapes have two at most; the rest of the text is not searched."""


class Reading(StrEnum):
    """What a sentence with a duration surely is, or may be."""

    LOG = "log"  # of a skill the person has
    LOG_NO_SKILL = "log_no_skill"  # surely practice; of what is not said
    BARE = "bare"  # a duration and nothing else
    LOG_NEW_SKILL = "log_new_skill"  # as a log, of a name the person has not used yet
    CORRECTION = "correction"
    MAYBE_LOG = "maybe_log"  # a skill of theirs and a duration, in no shape that is sure
    MAYBE_CORRECTION = "maybe_correction"
    OTHER = "other"  # asked, denied, planned, or about something else


def read_sentence(text: str, skills: Sequence[str]) -> Reading:
    """What a message with a duration says; `skills` are the names the person has."""
    text = text.removeprefix(EDITED)
    if len(text) > MAX_CHARS:
        return Reading.OTHER
    shape = shape_of(text, skills)
    if len(shape) > MAX_WORDS:
        return Reading.OTHER
    for reading, pattern in _SURE:
        if pattern.fullmatch(shape):
            return reading
    if _DENIED.search(shape) or not _DURATION.search(shape):
        return Reading.OTHER
    if _CORRECTING.match(shape):
        return Reading.MAYBE_CORRECTION
    return Reading.MAYBE_LOG if "S" in shape else Reading.OTHER


def shape_of(text: str, skills: Sequence[str]) -> str:
    """One letter a word: `d` and `D` durations, `Y` and `y` days, `S` the person's skills, else the word's class."""
    folded = name_key(clean(text.replace("\n", " , ")))
    for words, single in PHRASES.items():
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
    known = CLASSES.get(word.replace("’", "'"))
    if known is not None:
        return known
    if word.isdigit():
        return NUMBER
    return CONTENT if word.isalpha() else "x"  # with an apostrophe it holds a verb: I'd, don't, it's


# ---------------------------------------------------------------- the shapes

_OPENING = "[O,]*"
_CLOSING = "[.O,]*"
_TIME = "F*[dD]"
_WHO = "(?:I?J*[Vvs]|IHJ*[Vvs]|hJ*[Qq]|APE)J*"  # "I have just practised", "he practicado", "acabo de practicar"
_SURELY_WHO = "(?:I?J*V|IHJ*V|hJ*Q)J*"  # verbs that mean practising and nothing else
_NOTE = "[wnPTcSJpi,]{0,16}"


def _logs(skill: str) -> str:
    """The shapes of a log of this skill: terse as in a log book, or a sentence about oneself in the past."""
    terse = (
        rf"(?:Y,?)?{_TIME}[PT]*G?[PT]*{skill}p?",
        rf"(?:Y,?)?T?{skill}p?,?{_TIME}",
    )
    said = (
        rf"[yY]?,?{_WHO}[PT]*{skill}p?,?{_TIME}",
        rf"[yY]?,?{_WHO}T?{_TIME}[PT]*(?:p[PT]*)?G?[PT]*{skill}p?",
    )
    noted = rf"(?:,{_NOTE})?"
    return "|".join(
        (
            *(rf"{_OPENING}L?{_OPENING}{shape}(?:,?Y)?{noted}(?:,?Y)?{_CLOSING}" for shape in terse),
            rf"{_OPENING}L?{_OPENING}(?:Y,?)?d{skill}[wn]{{1,3}}(?:[cP][TP]*w{{1,3}})?(?:,?Y)?{noted}{_CLOSING}",
            *(rf"{_OPENING}{shape}(?:,?[yY])?(?:(?:,|c|P){_NOTE})?(?:,?[yY])?{_CLOSING}" for shape in said),
        )
    )


_NO_SKILL = rf"{_OPENING}(?:[yY],?)?{_SURELY_WHO}{_TIME}(?:,?[yY])?{_CLOSING}"
_BARE = rf"{_OPENING}L?{_OPENING}(?:Y,?)?{_TIME}(?:,?Y)?{_CLOSING}"
_NAME = '(?:w{1,3}|"w{1,4}")'
_RIGHT = r"(?:[PT]*S)?[,b]?F*[dD](?:,?c?,?(?:tb)?[PT]*S)?(?:,?c?,?[yY])?"
_WRONG = r"(?:,?(?:N|R|r)[PT]*(?:S|[dD]|n)?)?"
_MEANT = r"(?:I[mk]|kt?P?|t?b|[PT]*Sb)F*"
_CORRECTION = (
    rf"{_OPENING}(?:[RNW],*){{1,6}}{_MEANT}{_RIGHT}{_WRONG}{_CLOSING}"
    rf"|{_OPENING}(?:[RNW],+)+{_RIGHT}{_WRONG}{_CLOSING}"
    rf"|{_OPENING}R,*{_RIGHT}{_WRONG}{_CLOSING}"
    rf"|{_OPENING}{_MEANT}{_RIGHT}{_WRONG}{_CLOSING}"
    rf"|{_OPENING}{_RIGHT},?(?:r|N[PT]*(?:S|[dD]|n)){_CLOSING}"
)
_SURE = (
    (Reading.LOG, re.compile(_logs("S"))),
    (Reading.LOG_NO_SKILL, re.compile(_NO_SKILL)),
    (Reading.BARE, re.compile(_BARE)),
    (Reading.CORRECTION, re.compile(_CORRECTION)),
    (Reading.LOG_NEW_SKILL, re.compile(_logs(_NAME))),
)
_DURATION = re.compile("[dD]")
_DENIED = re.compile(r"[?N!¿]|[dD].*[dD].*[dD]")
_CORRECTING = re.compile(r"[O,]*(?:[RW]|kt|t?b|I[mk])")
