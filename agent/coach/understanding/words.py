"""Cuts a message into words, in one walk. Pure; what a word means is the tables'."""

import re
from dataclasses import dataclass

from agent.wellformed import normalize

_SHORTHAND = {
    "2day": "today", "2nite": "tonight", "2night": "tonight", "2moro": "tomorrow", "2mrw": "tomorrow",
    "2morrow": "tomorrow",
}  # fmt: skip
_WORD = re.compile(r"(?i:2(?:day|nite|night|moro|mrw|morrow))\b|[0-9]+(?:[.,][0-9]+)?|[^\W\d_]+(?:['’´][^\W\d_]+)*|\S")
_PLAIN = str.maketrans("áàâäéèêëíìîïóòôöúùûüñç", "aaaaeeeeiiiioooouuuunc")
_STRETCHED = re.compile(r"(\w)\1{2,}")
_UNSEEN = "\ufe0f\u200d🏻🏼🏽🏾🏿♀♂"


@dataclass(frozen=True, slots=True)
class Word:
    """One word, number or sign of a message."""

    text: str  # case-folded, as written else
    plain: str  # without accents and with no letter three times in a row
    start: int
    end: int

    def follows(self, other: "Word") -> bool:
        """Whether nothing stands between."""
        return self.start == other.end

    @property
    def is_number(self) -> bool:
        """Whether it is written in figures."""
        return "0" <= self.text[0] <= "9"

    @property
    def is_name(self) -> bool:
        """Whether it consists of letters."""
        return self.text[0].isalpha()


def plain_of(text: str) -> str:
    """Case-folded text without accents."""
    return text.translate(_PLAIN)


def _fold(said: str) -> str:
    return normalize("NFKC", said).casefold().replace("’", "'").replace("´", "'") or said


def words_of(text: str) -> list[Word]:
    """The words of a text, in order; the text has been cleaned."""
    found = []
    for match in _WORD.finditer(text):
        said = match[0]
        if said not in _UNSEEN:
            folded = _SHORTHAND.get(said.lower()) or (_fold(said) if said[0].isalpha() else said)
            found.append(Word(folded, _STRETCHED.sub(r"\1", plain_of(folded)), match.start(), match.end()))
    return found
