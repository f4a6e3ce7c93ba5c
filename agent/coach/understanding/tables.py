"""What a language's table holds: one shape for every language, words and what they can be. Data, no rules.

A word's role is one letter, so that roles in a row can be matched; they stand in `WordRole`. A word that stands in no
table is content: the name of a skill, or a word of a note.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from agent.coach.understanding.amount_words import AmountWords


class WordRole(StrEnum):
    """What a word, or several as one, can be in a sentence about practice."""

    SUBJECT = "I"  # i, yo
    HAVE = "H"  # have
    I_HAVE = "A"  # i've
    ADVERB = "J"  # just, also, ya
    OPENING = "O"  # hi, ok, please
    LOG = "L"  # log, anota
    PRACTISED = "V"  # verbs that mean practising and nothing else
    DID = "v"
    FITTED = "g"  # got, squeezed: done only with the "in" behind it
    INFINITIVE = "f"
    GERUND = "G"
    DONE = "o"  # done, hecho, a tick
    ABOUT = "F"  # for, about, unos
    PRACTICE = "p"  # session, exercises
    OF = "P"
    THE = "T"
    AND = "c"
    THEN = "C"
    BUT = "B"
    WHILE = "t"  # begins what only tells more: while, before, after
    INSTEAD = "R"  # before a skill of theirs: it was not done
    IN = "i"
    COMMA = ","
    STOP = "."
    QUOTE = '"'
    QUESTION = "?"
    NUMBER = "n"
    CONTENT = "w"
    OTHER = "x"  # may turn what is said into something else; its `Twist` says into what
    AMOUNT_SHORT = "d"  # 45m
    AMOUNT = "D"
    AMOUNT_CLOCK = "a"  # from 7 to 8:30
    AMOUNT_VAGUE = "m"  # 30 or 40 minutes, a bit
    DAY = "Y"  # surely today or past
    DAY_EITHER = "y"  # Monday, tonight: may be still to come
    DAY_UNREAD = "u"  # 3/4, last week
    TIME = "K"  # at seven, in the morning
    SKILL = "S"
    ACT = "k"  # ran, drew: a skill of theirs as a verb
    ACTING = "j"  # dibujando


class Twist(StrEnum):
    """What a word can turn a sentence into, other than one's own past practice."""

    NEGATED = "negated"
    FUTURE = "future"
    WISH = "wish"
    GOAL = "goal"
    HABIT = "habit"
    REMINDER = "reminder"
    HYPOTHETICAL = "hypothetical"
    DOUBT = "doubt"
    REPORTED = "reported"
    JOKE = "joke"
    COMMAND = "command"  # undo, ignore
    OTHERS = "others"
    LASTS = "lasts"  # a video, a lesson, a bus
    QUESTION = "question"
    SELF = "self"  # me, myself: no more than that
    TOO_LONG = "too_long"  # more than a day has
    UNCLEAR = "unclear"  # none of these, and no word of a log either


PAUSES = ",.cCBOYy"
"""Roles, beside which a word begins or ends what is said."""


def _again(before: str, behind: str, role: WordRole) -> tuple[re.Pattern[str], re.Pattern[str], WordRole]:
    return re.compile(before), re.compile(behind), role


_STARTS, _ENDS = rf"(?:^|[{PAUSES}])$", rf"(?:$|[{PAUSES}])"
_PUTS = (
    "sumale", "agregale", "anotale", "apuntale", "registrale", "pon", "ponme", "pone", "poneme", "meteme",
    "cargame", "sumame", "echame", "mete",
)  # fmt: skip
READ_AGAIN = {
    "igual": _again(".", _ENDS, WordRole.ADVERB),  # "... al francés igual": all the same; "igual ..." is maybe
    "was": _again(_STARTS, "[iP]T?S", WordRole.DID),  # "was at the pottery studio"
    "had": _again("", "(?:[TFJ]*[Dd](?:[TJ]*S|P[TJ]*S|[TJ]*p)|T*Sp)", WordRole.DID),  # "had a two hour chess session"
    "spoke": _again("", "T?S", WordRole.DID),  # "spoke Italian"
    **{
        word: _again(_STARTS, "T?[wS](?:[PT]*[wx])?[JK]*Y", WordRole.DID)  # "tried the cello today"
        for word in ("tried", "started", "probe", "empece", "estrene")
    },
    "spoken": _again("", "T?S", WordRole.DID),
    "hable": _again("", "S", WordRole.DID),
    "hablado": _again("", "S", WordRole.DID),
    "lei": _again("L", "P?S", WordRole.DID),  # "anota que leí latín": else it may be no practice
    "read": _again("L", "S", WordRole.DID),
    "vos": _again("[dDYK]$", _ENDS, WordRole.ADVERB),  # "marimba 1 hora vos"
    **{
        word: _again("[dD][FPT]*S$|S[FPT]*[dD]$", "P?T?[wx]", WordRole.WHILE)  # "50 min de ganchillo viendo la tele"
        for word in ("viendo", "mirando", "oyendo")
    },
    "dado": _again("H$", "PT?S", WordRole.DID),  # "le he dado a la batería"
    "happened": _again("S$", "", WordRole.ADVERB),
    "gave": _again("", "F?[Dd]PT?S", WordRole.DID),  # "gave 55 minutes to the mandolin"
    "put down": _again("", "T", WordRole.CONTENT),  # "put down the violin"
    "para hoy": _again("L", "", WordRole.ADVERB),  # "anota 30 min para hoy"
    "que": _again("L$", "", WordRole.ADVERB),  # "anota que hice"
    "q": _again("L$", "", WordRole.ADVERB),
    **{word: _again("", "F?[Dd]PT?S", WordRole.LOG) for word in _PUTS},  # "ponme 20 min de malabares"
}
"""What stands before a word, what behind, by their roles; and the role that it has then."""


@dataclass(frozen=True, slots=True)
class LanguageTable:
    """The words of one language, case-folded. What has accents is found without them too.

    Phrases stand between semicolons, single words between spaces.
    """

    code: str  # ISO 639-1
    amounts: AmountWords
    days: Mapping[str, int]  # phrases for a day that is today or past: days back
    open_days: Mapping[str, int]  # the same, of days that may be still to come
    parts: str  # behind a day: "morning", "por la tarde"
    weekdays: Mapping[str, int]  # Monday is 0
    months: Mapping[str, int]
    times: str  # phrases for a time of day
    periods: str  # phrases for more than a day: last week
    vague: str  # phrases for an amount that is none: a bit
    phrases: Mapping[str, str]  # by role: what several words are together
    twisted_phrases: Mapping[str, str]  # by twist
    roles: Mapping[str, str]  # by role: words, separated by spaces
    twists: Mapping[str, str]  # by twist: words, separated by spaces
    acts: Mapping[str, str]  # by any name of the skill: the verbs that mean doing it, as a dictionary has them
