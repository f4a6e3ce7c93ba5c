"""Finds several words that mean something only together, by the first of them. Pure."""

from collections.abc import Mapping, Sequence

from agent.coach.understanding.words import Word, plain_of

Phrases = Mapping[str, Sequence[tuple[tuple[str, ...], int]]]
"""From a first word to the phrases that begin with it, the longest first, each with its value."""


def phrases_by_first_word(values: Mapping[str, int]) -> Phrases:
    """These phrases, ready to be found."""
    found: dict[str, list[tuple[tuple[str, ...], int]]] = {}
    for phrase, value in sorted(values.items(), key=lambda item: -len(item[0].split())):
        words = tuple(plain_of(phrase).split())
        found.setdefault(words[0], []).append((words, value))
    return found


def phrase_end(phrases: Phrases, words: Sequence[Word], at: int) -> tuple[int, int] | None:
    """The value of the longest phrase that begins here, and where it ends."""
    if at >= len(words):
        return None
    for phrase, value in phrases.get(words[at].plain, ()):
        end = at + len(phrase)
        if end <= len(words) and all(word.plain == said for word, said in zip(words[at:end], phrase, strict=True)):
            return value, end
    return None
