"""Dreaming: some time after a conversation, the facts about a person are scored, merged and bounded; pure.

No model is asked, so the same facts at the same time always give the same result.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache

from agent.memory.facts import OPPOSITES, SINGLE, Fact, contradicts, normal_form
from agent.memory.memory import Memory

FREQUENCY, RELEVANCE, RECENCY, FRESHNESS = 0.30, 0.35, 0.20, 0.15
"""Weights of a score's parts."""

OFTEN = 10
"""Mentions from which a fact counts as mentioned most often."""

RECENT = timedelta(days=14)
"""Age of the last mention that halves its part."""

FRESH = timedelta(days=90)
"""Age of the first mention that halves its part."""

MAX_FACTS = 500
"""Facts that an agent keeps of one person; those with the lowest scores go."""


def score_of(fact: Fact, now: datetime) -> float:
    """Return the worth of a fact from 0 to 1: how often and how surely it was said, how lately, and since when."""
    frequency = min(1.0, math.log1p(fact.mentions) / math.log1p(OFTEN))
    recency = _half_life(now - (fact.last_at or fact.valid_from), RECENT)
    freshness = _half_life(now - (fact.first_at or fact.valid_from), FRESH)
    return FREQUENCY * frequency + RELEVANCE * fact.confidence + RECENCY * recency + FRESHNESS * freshness


def _half_life(age: timedelta, half: timedelta) -> float:
    """Return 1 for no age, also for an instant that lies ahead since a clock was set back."""
    return float(0.5 ** (max(timedelta(0), age) / half))


def dream(facts: Iterable[Fact], now: datetime, most: int = MAX_FACTS) -> list[Fact]:
    """Return at most `most` facts, merged and scored: the best first, and those that ended last."""
    merged = _merge_until_settled(facts)
    scored = [replace(each, score=round(score_of(each, now), 4)) for each in merged]
    scored.sort(key=lambda each: (each.valid_to is not None, -each.score, each.subject, each.relation, each.object))
    return scored[:most]


def find_repeated(memories: Sequence[Memory]) -> list[str]:
    """Return the names of memories that a newer one of the same type and description repeats; the newest come first."""
    seen: set[tuple[str, str]] = set()
    names = []
    for each in memories:
        key = each.type.value, _loose_form(each.description)
        names += [each.name] if key in seen else []
        seen.add(key)
    return names


def _merge_until_settled(facts: Iterable[Fact]) -> list[Fact]:
    """Merge until nothing changes: a fact that was joined to an earlier one may contradict what stands between."""
    merged = _merge(facts)
    while (again := _merge(merged)) != merged:
        merged = again
    return merged


def _merge(facts: Iterable[Fact]) -> list[Fact]:
    """Merge the facts that say the same in other words, and end those that contradict a newer one."""
    related: dict[tuple[str, ...], list[Fact]] = {}
    for fact in sorted(facts, key=lambda each: (each.valid_from, each.first_at or each.valid_from)):
        related[_topic(fact)] = _add(related.get(_topic(fact), []), fact)
    return [fact for kept in related.values() for fact in kept]


def _topic(fact: Fact) -> tuple[str, ...]:
    """Return a key that facts share if they can say the same, or contradict each other."""
    subject, relation, object_ = _loose_key(fact)
    if fact.relation in SINGLE:
        return subject, relation
    return subject, min(relation, OPPOSITES.get(fact.relation, fact.relation)), object_


def _add(kept: list[Fact], fact: Fact) -> list[Fact]:
    """Return the facts of a topic with a newer one."""
    others = [each.valid_from for each in kept if contradicts(each, fact) and not _is_alike(each, fact)]
    alike = (each for each in reversed(kept) if _is_alike(each, fact) and _meet(each, fact))
    same = next((each for each in alike if all(at < each.valid_from for at in others)), None)
    if same is not None:
        return [_join(each, fact) if each is same else each for each in kept]
    return [*filter(None, (_end_before(each, fact) for each in kept)), fact]


def _meet(earlier: Fact, later: Fact) -> bool:
    return earlier.valid_to is None or later.valid_from <= earlier.valid_to


def _end_before(earlier: Fact, later: Fact) -> Fact | None:
    """End a fact where one begins that contradicts it; None if nothing of it is left."""
    if not contradicts(earlier, later) or not _meet(earlier, later):
        return earlier
    return replace(earlier, valid_to=later.valid_from) if later.valid_from > earlier.valid_from else None


def _join(fact: Fact, other: Fact) -> Fact:
    """Return one fact of two that say the same, in the words that were used more often."""
    words = other if other.mentions > fact.mentions else fact
    mentions = fact.mentions + other.mentions
    ends = (fact.valid_to, other.valid_to)
    return replace(
        words,
        valid_from=min(fact.valid_from, other.valid_from),
        valid_to=None if None in ends else max(each for each in ends if each is not None),
        mentions=mentions,
        confidence=(fact.confidence * fact.mentions + other.confidence * other.mentions) / mentions,
        first_at=min(each.first_at or each.valid_from for each in (fact, other)),
        last_at=max(each.last_at or each.valid_from for each in (fact, other)),
    )


def _is_alike(fact: Fact, other: Fact) -> bool:
    return _loose_key(fact) == _loose_key(other)


def _loose_key(fact: Fact) -> tuple[str, str, str]:
    return _loose_form(fact.subject), fact.relation, _loose_form(fact.object)


@lru_cache(4096)  # as of `normal_form`
def _loose_form(name: str) -> str:
    """Return the normal form without plurals and the order of words."""
    return " ".join(sorted(word.removesuffix("s") if len(word) > 3 else word for word in normal_form(name).split()))
