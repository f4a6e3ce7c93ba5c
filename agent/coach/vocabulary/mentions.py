"""The person's skills in a message, by their names or by words like them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from agent.coach.vocabulary.words import Token, alike, phrases, to_tokens

LIKE = 78
"""Least likeness, 0 to 100, at which two words may be the same name."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A skill in a message."""

    skill: str
    first: int
    end: int
    is_exact: bool


def find_mentions(tokens: Sequence[Token], skills: Sequence[str], taken: Iterable[int] = ()) -> list[Mention]:
    """Return the skills that are named, in order: those by their name, else those by a word like it."""
    free, found = set(range(len(tokens))) - set(taken), list[Mention]()
    for skill in sorted(skills, key=lambda each: -len(each)):
        name = tuple(token.text for token in to_tokens(skill))
        for at in range(len(tokens) - len(name) + 1):
            place = range(at, at + len(name))
            if name and free.issuperset(place) and name == tuple(token.text for token in tokens[at : at + len(name)]):
                free.difference_update(place)
                found.append(Mention(skill, at, at + len(name), True))
    for at in sorted(free):
        near = _nearest(tokens[at].text, skills) if tokens[at].is_word else None
        if near is not None and all(near != each.skill for each in found):
            found.append(Mention(near, at, at + 1, False))
    return sorted(found, key=lambda each: each.first)


def _nearest(word: str, skills: Sequence[str]) -> str | None:
    """Return the skill that this one word may mean."""
    if len(word) < 3 or phrases("fillers").at(to_tokens(word), 0) or phrases("ends").at(to_tokens(word), 0):
        return None
    meant = alike(word)
    named = [(skill, to_tokens(skill)) for skill in skills]
    scores = [(max(_likeness(word, meant, each.text) for each in name), skill) for skill, name in named if name]
    best = max(scores, default=(0.0, ""))
    return best[1] if best[0] >= LIKE else None


def _likeness(word: str, meant: frozenset[str], name: str) -> float:
    if name in meant:
        return 100.0
    if min(len(word), len(name)) < 4:
        return 0.0
    names = (each for each in {name, *alike(name)} if word[0] == each[0] or len(word) > 5)
    return max((fuzz.ratio(word, each) for each in names), default=0.0)
