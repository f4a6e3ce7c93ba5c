"""The words of each language, read from its data file, and a message cut into tokens."""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agent.wellformed import normalize

Phrase = tuple[str, ...]
_TOKEN = re.compile(r"[0-9]+(?:[.,][0-9]+)*|[½¼¾]|[^\W\d_½¼¾]+(?:['’´][^\W\d_]+)*|\S")
_UNSEEN = "\ufe0f\u200d🏻🏼🏽🏾🏿♀♂"
_STRETCHED = re.compile(r"([a-z])\1{2,}")


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number or sign of a message."""

    text: str  # folded: lower case, no accents
    start: int
    end: int
    glued: bool  # no space before it

    @property
    def is_number(self) -> bool:
        """True if it is written in figures."""
        return "0" <= self.text[0] <= "9" and "0" <= self.text[-1] <= "9"

    @property
    def is_word(self) -> bool:
        """True if it is made of letters."""
        return self.text[0].isalpha()


def fold(text: str) -> str:
    """Return the text in lower case, without accents and without letters held down."""
    plain = "".join(each for each in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(each))
    return _STRETCHED.sub(r"\1", plain.replace("’", "'").replace("´", "'"))


def to_tokens(text: str) -> list[Token]:
    """Return the tokens of a text."""
    tokens: list[Token] = []
    for found in _TOKEN.finditer(text):
        if (said := found[0]) not in _UNSEEN:
            folded = said if said in "½¼¾" else fold(normalize("NFKC", said)).strip() or said
            tokens.append(Token(folded, found.start(), found.end(), bool(tokens) and tokens[-1].end == found.start()))
    return tokens


class Phrases:
    """Phrases of one or more words, found at a place in a message; the longest wins."""

    def __init__(self, phrases: Iterable[str] | Mapping[str, int]) -> None:
        """Take phrases: a mapping gives each one a number, a list numbers all of them 0."""
        values = phrases if isinstance(phrases, Mapping) else dict.fromkeys(phrases, 0)
        self._by_first: dict[str, list[tuple[Phrase, int]]] = {}
        for phrase, value in values.items():
            words = tuple(token.text for token in to_tokens(phrase))
            self._by_first.setdefault(words[0], []).append((words, value))
        for found in self._by_first.values():
            found.sort(key=lambda each: -len(each[0]))

    def at(self, tokens: Sequence[Token], place: int) -> tuple[int, int] | None:
        """Return the end and the number of the phrase that begins here, or None."""
        if 0 <= place < len(tokens):
            for words, value in self._by_first.get(tokens[place].text, ()):
                end = place + len(words)
                if tuple(token.text for token in tokens[place:end]) == words:
                    return end, value
        return None

    def end(self, tokens: Sequence[Token], place: int) -> int:
        """Return the end of the phrase that begins here, or the place itself."""
        found = self.at(tokens, place)
        return place if found is None else found[0]

    def find(self, tokens: Sequence[Token]) -> tuple[int, int] | None:
        """Return begin and end of the longest phrase in the message, the first of several, or None."""
        found = [(place, self.end(tokens, place)) for place in range(len(tokens))]
        begin, end = max(found, key=lambda each: each[1] - each[0], default=(0, 0))
        return (begin, end) if end > begin else None


@dataclass(frozen=True, slots=True)
class Language:
    """The data file of one language."""

    code: str
    lists: Mapping[str, Sequence[str]]  # phrases by what they are about
    groups: Mapping[str, Sequence[Sequence[str]]]  # in an order: weekdays, months; or words that are alike


@cache
def languages() -> tuple[Language, ...]:
    """Return every language that has a file here."""
    found = []
    for file in sorted(Path(__file__).parent.glob("*.toml")):
        data = tomllib.loads(file.read_text("utf-8"))
        lists = {name: values for name, values in data.items() if all(isinstance(each, str) for each in values)}
        groups = {name: values for name, values in data.items() if name not in lists}
        found.append(Language(file.stem, lists, groups))
    return tuple(found)


@cache
def phrases(name: str) -> Phrases:
    """Return the phrases of this name in all languages."""
    return Phrases([phrase for language in languages() for phrase in language.lists.get(name, ())])


@cache
def group_of(name: str) -> Phrases:
    """Return the phrases of these groups in all languages, each with the number of its group."""
    return Phrases(
        {
            each: number
            for language in languages()
            for number, group in enumerate(language.groups[name])
            for each in group
        }
    )


def alike(word: str) -> frozenset[str]:
    """Return the words that mean the same skill as this folded word, itself included."""
    return _groups_alike().get(word, frozenset({word}))


@cache
def _groups_alike() -> Mapping[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for group in (frozenset(map(fold, each)) for language in languages() for each in language.groups["alike"]):
        for word in group:
            found[word] = found.get(word, frozenset()) | group
    return found
