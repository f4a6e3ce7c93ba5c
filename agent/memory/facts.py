"""Facts about a person with the times in which they hold; pure.

A fact says that a thing stands in a relation to another. If two facts contradict each other, one ends where the other
begins: at no time do both hold.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import lru_cache

from agent.wellformed import normalize

PERSON = "person"
"""Name of the person themselves in facts about them."""

MAX_NAME_CHARS = 80


class Relation(StrEnum):
    """The relations of facts."""

    LIVES_IN = "lives_in"
    WORKS_AT = "works_at"
    WORKS_AS = "works_as"
    STUDIES = "studies"
    IS_AGED = "is_aged"
    IS_CALLED = "is_called"
    PARTNER_IS = "partner_is"
    FAMILY_IS = "family_is"
    KNOWS = "knows"
    OWNS = "owns"
    PRACTISES = "practises"
    WANTS = "wants"
    LIKES = "likes"
    DISLIKES = "dislikes"
    CAN = "can"
    CANNOT = "cannot"
    PART_OF = "part_of"


SINGLE = frozenset(
    {Relation.LIVES_IN, Relation.WORKS_AT, Relation.WORKS_AS, Relation.IS_AGED, Relation.IS_CALLED, Relation.PARTNER_IS}
)
"""Relations in which a thing stands to one other at a time."""

OPPOSITES = {
    Relation.LIKES: Relation.DISLIKES,
    Relation.DISLIKES: Relation.LIKES,
    Relation.CAN: Relation.CANNOT,
    Relation.CANNOT: Relation.CAN,
}


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact as a conversation states it."""

    subject: str
    relation: Relation
    object: str
    since: datetime  # aware; the instant from which it holds, or at which it ended
    said_at: datetime  # aware
    holds: bool = True  # False: it ended
    confidence: float = 1.0  # 0 to 1


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that is kept."""

    subject: str
    relation: Relation
    object: str
    valid_from: datetime
    valid_to: datetime | None = None  # None: it holds
    mentions: int = 1
    confidence: float = 1.0  # mean of its mentions
    first_at: datetime | None = None  # when it was said first; None: at `valid_from`
    last_at: datetime | None = None
    score: float = 0.0  # see agent.memory.dreaming

    def holds_at(self, at: datetime) -> bool:
        return self.valid_from <= at and (self.valid_to is None or at < self.valid_to)


_ARTICLES = frozenset({"a", "an", "the", "el", "la", "los", "las", "un", "una"})


@lru_cache(4096)  # learning compares each statement with each fact
def normal_form(name: str) -> str:
    """Return the form in which two spellings of one name are equal: no case, accents, punctuation or first article."""
    apart = unicodedata.normalize("NFKD", normalize("NFC", name))
    plain = "".join(each for each in apart if not unicodedata.combining(each))
    words = "".join(each if each.isalnum() else " " for each in plain.casefold()).split()
    return " ".join(words[1:] if len(words) > 1 and words[0] in _ARTICLES else words)


def is_same(fact: Fact | Statement, other: Fact | Statement) -> bool:
    """Return True if both say the same thing, whenever it holds."""
    return _key(fact) == _key(other)


def _key(fact: Fact | Statement) -> tuple[str, Relation, str]:
    return normal_form(fact.subject), fact.relation, normal_form(fact.object)


def contradicts(fact: Fact | Statement, other: Fact | Statement) -> bool:
    """Return True if the two cannot hold at one time."""
    if normal_form(fact.subject) != normal_form(other.subject):
        return False
    same_object = normal_form(fact.object) == normal_form(other.object)
    if fact.relation is other.relation:
        return fact.relation in SINGLE and not same_object
    return OPPOSITES.get(fact.relation) is other.relation and same_object


def learn(known: Iterable[Fact], stated: Iterable[Statement]) -> list[Fact]:
    """Return the facts after these statements; a newer one that contradicts an older one ends it."""
    facts = list(known)
    for each in sorted(stated, key=lambda statement: statement.said_at):
        facts = _learn_statement(facts, each) if each.holds else _end(facts, each)
    return facts


def _learn_statement(facts: Sequence[Fact], stated: Statement) -> list[Fact]:
    """Return the facts with one more, or with one confirmed."""
    if any(is_same(each, stated) and each.holds_at(stated.since) for each in facts):
        return [
            _confirm(each, stated) if is_same(each, stated) and each.holds_at(stated.since) else each for each in facts
        ]
    ended = [_end_at(each, stated.since) if contradicts(each, stated) else each for each in facts]
    kept = [each for each in ended if each.valid_to is None or each.valid_to > each.valid_from]
    later = [each for each in kept if each.valid_from > stated.since]
    next_other = min((each.valid_from for each in later if contradicts(each, stated)), default=None)
    same = min((each for each in later if is_same(each, stated)), key=lambda each: each.valid_from, default=None)
    if same is not None and (next_other is None or same.valid_from <= next_other):
        return [replace(_confirm(each, stated), valid_from=stated.since) if each is same else each for each in kept]
    new = Fact(
        stated.subject,
        stated.relation,
        stated.object,
        stated.since,
        next_other,
        confidence=stated.confidence,
        first_at=stated.said_at,
        last_at=stated.said_at,
    )
    return [*kept, new]


def _confirm(fact: Fact, stated: Statement) -> Fact:
    mentions = fact.mentions + 1
    return replace(
        fact,
        mentions=mentions,
        confidence=fact.confidence + (stated.confidence - fact.confidence) / mentions,
        last_at=max(fact.last_at or stated.said_at, stated.said_at),
    )


def _end(facts: Sequence[Fact], stated: Statement) -> list[Fact]:
    ended = [_end_at(each, stated.since) if is_same(each, stated) else each for each in facts]
    return [each for each in ended if each.valid_to is None or each.valid_to > each.valid_from]


def _end_at(fact: Fact, at: datetime) -> Fact:
    return replace(fact, valid_to=at) if fact.holds_at(at) else fact
