"""What a message surely says of practice, or may say: the reading that the offline coach acts on. Pure.

It is a log only where nothing is left to doubt; what is nearly one is a question back. What the message asks for
besides is `intents`'.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from enum import StrEnum

from agent.coach.understanding import shapes
from agent.coach.understanding.chunk import Chunk
from agent.coach.understanding.chunks import NEWLINE, Circumstances, chunks_of
from agent.coach.understanding.entries import Practised
from agent.coach.understanding.skills import KnownSkills, know
from agent.coach.understanding.statements import Statement, find_inherited, find_lacking, find_statement, letters_of
from agent.coach.understanding.tables import Twist, WordRole
from agent.coach.understanding.words import Word, plain_of, words_of
from agent.language import DEFAULT
from agent.wellformed import clean

MAX_CHARS = 400
"""A longer message says more than one thing; it is not surely a log."""

MAX_WORDS = 90


class Certainty(StrEnum):
    """What is to be done about what was practised."""

    LOG = "log"
    ASK = "ask"  # of skills they have: shall I?
    ASK_NEW = "ask_new"  # a name that is new
    ASK_NEAR = "ask_near"  # a name that is nearly one of theirs
    ASK_SKILL = "ask_skill"  # surely practice; of what is not said
    ASK_AMOUNT = "ask_amount"  # surely practice; how long is not said, or not clearly
    NOTHING = "nothing"  # it says nothing of practice that was done


@dataclass(frozen=True, slots=True)
class Heard:
    """One message, understood as far as words go."""

    certainty: Certainty
    practised: tuple[Practised, ...] = ()
    notes: str = ""
    twist: Twist | None = None  # what it says instead, of a duration or a skill: a wish, a goal, a denial


_NO_QUESTION_BACK = (
    Twist.JOKE,
    Twist.REMINDER,
    Twist.REPORTED,
    Twist.HYPOTHETICAL,
    Twist.QUESTION,
    Twist.COMMAND,
    Twist.GOAL,
    Twist.WISH,
    Twist.FUTURE,
    Twist.NEGATED,
    Twist.HABIT,
    Twist.OTHERS,
    Twist.LASTS,
)
"""What a message can say instead of practice that was done; of several the first is answered."""

MAX_ANSWER_WORDS = 6
_ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)
_OF_PRACTICE = frozenset(
    {
        WordRole.AMOUNT,
        WordRole.AMOUNT_SHORT,
        WordRole.AMOUNT_CLOCK,
        WordRole.AMOUNT_VAGUE,
        WordRole.PRACTISED,
        WordRole.DID,
        WordRole.SPENT,
        WordRole.FITTED,
        WordRole.ACT,
        WordRole.PARTICIPLE,
        WordRole.PRACTISED_PARTICIPLE,
        WordRole.JUST_DONE,
        WordRole.WAS_AT_IT,
        WordRole.WENT,
        WordRole.DONE,
    }
)
_AMOUNTS = frozenset({WordRole.AMOUNT, WordRole.AMOUNT_SHORT, WordRole.AMOUNT_CLOCK})


@dataclass(frozen=True, slots=True)
class _Message:
    text: str
    words: Sequence[Word]
    chunks: Sequence[Chunk]
    skills: KnownSkills
    now: datetime

    def words_of(self, chunk: Chunk) -> str:
        """The words of a chunk as they were written."""
        return self.text[self.words[chunk.start].start : self.words[chunk.end - 1].end]


def hear(text: str, skills: Sequence[str], now: datetime, language: str) -> Heard:
    """What a message says of practice; `now` is the person's own, `language` theirs where the words tell none."""
    if len(text) > MAX_CHARS:
        return Heard(Certainty.NOTHING)
    said = clean(text.replace("\n", f" {NEWLINE} "))
    words = words_of(said)
    if len(words) > MAX_WORDS:
        return Heard(Certainty.NOTHING)
    known = know(skills)
    chunks = chunks_of(words, Circumstances(now, known, language))
    message = _Message(said, words, chunks, known, now)
    if shapes.BARE.fullmatch(letters_of(chunks)):
        amount = next(chunk for chunk in chunks if chunk.role in _AMOUNTS)
        return _lacking(message, "skill", Practised(amount.minutes, "", _day(message)))
    statement = find_statement(chunks, now, message.words_of)
    if statement is not None and statement.is_sure:
        return _sure(message, statement)
    return _unsure(message, statement)


def _sure(message: _Message, statement: Statement) -> Heard:
    practised = tuple(_with_near(message.skills, entry) for entry in statement.practised)
    if any(entry.is_new and entry.skill in dict(message.skills.names).values() for entry in practised):
        return Heard(Certainty.ASK_NEAR, practised)
    if any(entry.is_new for entry in practised):
        return Heard(Certainty.ASK_NEW, practised)
    return Heard(Certainty.LOG, practised, _notes(message, statement))


def _with_near(skills: KnownSkills, entry: Practised) -> Practised:
    """The entry of the skill that was probably meant, where it is nearly one of theirs."""
    near = skills.near(plain_of(entry.skill.casefold())) if entry.is_new else None
    return entry if near is None else replace(entry, skill=near)


def _notes(message: _Message, statement: Statement) -> str:
    """What stands behind one entry."""
    if len(statement.practised) != 1 or statement.end >= len(message.chunks):
        return ""
    rest = message.chunks[statement.end :]
    return (
        message.text[message.words[rest[0].start].start :]
        .replace(f" {NEWLINE}", "")
        .replace(NEWLINE, "")
        .strip(" ,.:;-–—()")
    )


def _unsure(message: _Message, statement: Statement | None) -> Heard:
    if statement is None or not all(entry.skill for entry in statement.practised):
        inherited = find_inherited(message.chunks, message.now, message.words_of)
        if inherited is not None and inherited[1]:
            return Heard(Certainty.LOG, (inherited[0],))
    twist = _twist_of(message.chunks)
    told_by_them = (
        statement is not None
        and statement.is_said
        and twist in (Twist.NEGATED, Twist.OTHERS, Twist.LASTS, Twist.FUTURE, Twist.WISH, Twist.HABIT)
    )
    lacking = find_lacking(message.chunks, message.now)
    if twist is not None and not told_by_them:
        heard = _of_other_clause(message, lacking, twist)
        return heard or Heard(Certainty.NOTHING, twist=twist)
    if any(chunk.role in _AMOUNTS and not chunk.minutes for chunk in message.chunks):
        return Heard(Certainty.NOTHING, twist=Twist.NEGATED)
    if statement is not None:
        new = any(entry.is_new for entry in statement.practised)
        return Heard(Certainty.ASK_NEW if new else Certainty.ASK, statement.practised)
    if lacking is not None:
        return _lacking(message, *lacking)
    amounts = [chunk for chunk in message.chunks if chunk.role in _AMOUNTS]
    skills = [chunk for chunk in message.chunks if chunk.role in (WordRole.SKILL, WordRole.ACT, WordRole.ACTING)]
    if len(amounts) == 1 and skills and not skills[0].is_new:
        return Heard(Certainty.ASK, (Practised(amounts[0].minutes, skills[0].skill, _day(message)),))
    return Heard(Certainty.NOTHING)


def _of_other_clause(message: _Message, lacking: tuple[str, Practised] | None, twist: Twist) -> Heard | None:
    """As "I wanted to practise guitar for an hour but did 20 min": of the one skill that is spoken of."""
    if lacking is None or lacking[0] == "amount" or twist not in (Twist.WISH, Twist.FUTURE):
        return None
    skills = {chunk.skill for chunk in message.chunks if chunk.role is WordRole.SKILL}
    if len(skills) != 1:
        return None
    return Heard(Certainty.ASK, (replace(lacking[1], skill=skills.pop()),))


def _lacking(message: _Message, lacks: str, entry: Practised) -> Heard:
    if lacks == "amount":
        return Heard(Certainty.ASK_AMOUNT, (replace(entry, minutes=None),))
    names = [skill for _, skill in message.skills.names]
    if len(names) == 1:
        return Heard(Certainty.ASK, (replace(entry, skill=names[0]),))
    return Heard(Certainty.ASK_SKILL if lacks == "skill" else Certainty.NOTHING, (entry,))


def _twist_of(chunks: Sequence[Chunk]) -> Twist | None:
    """What the message says instead of practice that was done."""
    twists = {chunk.twist for chunk in chunks if chunk.twist is not None}
    if any(chunk.role is WordRole.QUESTION for chunk in chunks):
        twists.add(Twist.QUESTION)
    if any(chunk.role is WordRole.QUOTE for chunk in chunks):
        twists.add(Twist.REPORTED)
    return next((twist for twist in _NO_QUESTION_BACK if twist in twists), None)


def _day(message: _Message) -> date:
    """The first day that is named, else today."""
    found = next(
        (chunk.day.day for chunk in message.chunks if chunk.day is not None and chunk.day.day is not None), None
    )
    return message.now.date() if found is None else found


def may_be_practice(text: str) -> bool:
    """Whether a message may be about practice that was done: only then the person's skills are needed to read it."""
    chunks = chunks_of(
        words_of(clean(text[:MAX_CHARS].replace("\n", f" {NEWLINE} "))), Circumstances(_ANY_DAY, know(()), DEFAULT)
    )
    return any(chunk.role in _OF_PRACTICE for chunk in chunks)


def add_skill(text: str, entry: Practised, skills: Sequence[str]) -> Heard:
    """What was practised, by the answer to which skill it was: a name, and little else."""
    known = know(skills)
    said = clean(text[:MAX_CHARS])
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
    words = words_of(clean(text[:MAX_CHARS]))
    chunks = chunks_of(words, Circumstances(_ANY_DAY, know(()), DEFAULT))
    amounts = [chunk.minutes for chunk in chunks if chunk.role in _AMOUNTS]
    if (
        len(amounts) != 1
        or len(words) > MAX_ANSWER_WORDS
        or any(chunk.twist is not None or chunk.role is WordRole.QUESTION for chunk in chunks)
    ):
        return Heard(Certainty.NOTHING)
    return Heard(Certainty.LOG, (replace(entry, minutes=amounts[0]),))


def shape_of(text: str, skills: Sequence[str], now: datetime, language: str = "en") -> str:
    """The roles of a message in a row."""
    return letters_of(
        chunks_of(words_of(clean(text.replace("\n", f" {NEWLINE} "))), Circumstances(now, know(skills), language))
    )
