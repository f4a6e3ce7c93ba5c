"""What a message changes of the practice that the last answer asked about: "no, it was cycling", "yes, but 40". Pure.

Only a message that says nothing else is one; whatever has a word more is read as if nothing had been asked.
"""

import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from datetime import date, datetime

from agent.coach.log_line import Correction, LogLineError, read_correction
from agent.coach.sentences import shape_of, spell_correction
from agent.coach.understanding.chunks import Circumstances, chunks_of
from agent.coach.understanding.clauses import AMOUNTS
from agent.coach.understanding.entries import Practised
from agent.coach.understanding.reaches import LEAST
from agent.coach.understanding.reading import ANY_DAY, MOST_COUNTED, Certainty, Heard, hear
from agent.coach.understanding.reading import MAX_CHARS as MAX_HEARD_CHARS
from agent.coach.understanding.skills import know
from agent.coach.understanding.tables import Twist, WordRole
from agent.coach.understanding.words import plain_of, words_of
from agent.language import DEFAULT
from agent.wellformed import clean

MAX_CHARS = 300
MAX_ANSWER_WORDS = 6

_OPENING = re.compile(
    r"[\W_]*(?:(?P<yes>yes|yeah|yep|yup|sure|ok(?:ay)?|s[ií]|vale|claro)\b[\W_]*)?"
    r"(?P<no>(?:(?:no|nope|nah|not quite|not|oh|sorry|oops|wait|actually|well|hmm+|but|rather|perd[oó]na?|espera|bueno"
    r"|pero|en realidad|mejor dicho|m[aá]s bien)\b[\W_]*)*)"
    r"(?P<not>(?<=\bnot )[^\W\d_]+ ?[,;.-]+\s*|(?:era|fue) [^\W\d_]+ ?[,;.-]+\s*)?"
    r"(?P<meant>(?:i (?:meant|mean|said)|(?:it|that)(?:['’]?s| is| was)|make (?:it|that)|quer[ií]a decir|quise decir"
    r"|digo|es|eran?|fue(?:ron)?|son|pon(?:lo|le|me)?|que sean|d[eé]jalo en)\b[\W_]*)?",
    re.IGNORECASE,
)
_NAME = re.compile(r"[^\W\d_]+(?:[ '’-][^\W\d_]+){0,2}[\s.!]*")
_RIGHT = frozenset("INFPTcRWtbmkrO,.SdDYyn")
"""Classes of words that a correction is made of, as `shape_of` names them."""


@dataclass(frozen=True, slots=True)
class Amendment:
    """What was asked about, as it was meant."""

    practised: tuple[Practised, ...]
    is_sure: bool  # nothing is left to ask


def amend(
    text: str, asked: Sequence[Practised], names: Sequence[str], now: datetime, language: str
) -> Amendment | None:
    """What the message makes of the practice that was asked about; None where it says something else.

    `names` are the person's skills, `now` is on their own clock.
    """
    opening = _OPENING.match(text)
    if opening is None or len(text) > MAX_CHARS or "?" in text or not asked:
        return None
    rest = text[opening.end() :].strip()
    is_marked = any(opening.groups())
    right = _right(rest, names, now.date())
    if right is not None and (is_marked or right.skill is None):
        entries = _with(asked, right)
    elif right is None and (opening["meant"] or opening["not"] or (opening["no"] and "," in opening["no"])):
        named = rename(rest, asked[0], names, now, language) if len(asked) == 1 else None
        entries = None if named is None else (named,)
    else:
        return None
    if entries is None or not all(entry.skill and entry.minutes for entry in entries):
        return None
    is_open = any(entry.is_new or entry.is_near for entry in entries)
    return Amendment(entries, opening["yes"] is not None or (is_marked and not is_open))


def _right(rest: str, names: Sequence[str], today: date) -> Correction | None:
    """What is right instead, where the words say that and nothing more."""
    spelled = spell_correction(rest)
    if not _RIGHT.issuperset(shape_of(spelled, names)):
        return None
    try:
        right = read_correction(spelled, today, names)
    except LogLineError:
        return None
    return right if any(astuple(right)) else None


def _with(asked: Sequence[Practised], right: Correction) -> tuple[Practised, ...] | None:
    """Of several the one is meant whose skill is named."""
    named = [at for at, entry in enumerate(asked) if right.skill is not None and entry.skill == right.skill]
    if len(asked) > 1 and not named:
        return None
    at = named[0] if named else 0
    return (*asked[:at], asked[at].correct(right.minutes, right.skill, right.day), *asked[at + 1 :])


def rename(rest: str, entry: Practised, names: Sequence[str], now: datetime, language: str) -> Practised | None:
    """The entry, of another skill: what would be its name behind an amount; None where the words are no name."""
    if not _NAME.fullmatch(rest):
        return None
    heard = hear(f"30 min {rest}", names, now, language)
    if heard.notes or [bool(found.skill) for found in heard.practised] != [True]:
        return None
    (named,) = heard.practised
    return replace(entry, skill=named.skill, is_new=named.is_new, is_near=named.is_near)


def add_skill(text: str, entry: Practised, skills: Sequence[str]) -> Heard:
    """What was practised, by the answer to which skill it was: a name, and little else."""
    known = know(skills)
    said = clean(text[:MAX_HEARD_CHARS])
    words = words_of(said)
    found = [match for at in range(len(words)) if (match := known.find(words, at)) is not None]
    if len(found) == 1 and len(words) <= MAX_ANSWER_WORDS:
        return Heard(Certainty.LOG, (replace(entry, skill=found[0][0]),))
    name = said.strip(' .!,;:"“”«»')
    if found or not name or len(words) > MAX_ANSWER_WORDS or "?" in said:
        return Heard(Certainty.NOTHING)
    near = known.near(plain_of(name.casefold()))
    new = replace(entry, skill=near or name, is_new=near is None)
    return Heard(Certainty.ASK_NEW if near is None else Certainty.ASK_NEAR, (new,))


def add_amount(text: str, entry: Practised) -> Heard:
    """What was practised, by the answer to how long it was: an amount, and little else."""
    words = words_of(clean(text[:MAX_HEARD_CHARS]))
    chunks = chunks_of(words, Circumstances(ANY_DAY, know(()), DEFAULT))
    amounts = [chunk.minutes for chunk in chunks if chunk.role in AMOUNTS]
    if not amounts:  # "20"
        amounts = [chunk.minutes for chunk in chunks if chunk.role is WordRole.NUMBER and chunk.minutes]
        amounts = [minutes for minutes in amounts if LEAST <= minutes <= MOST_COUNTED]
    if (
        len(amounts) != 1
        or len(words) > MAX_ANSWER_WORDS
        or any(chunk.twist not in (None, Twist.DOUBT) or chunk.role is WordRole.QUESTION for chunk in chunks)
    ):
        return Heard(Certainty.NOTHING)
    return Heard(Certainty.LOG, (replace(entry, minutes=amounts[0]),))
