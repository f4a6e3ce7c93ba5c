"""Words as full-text search compares them: without case and accents; pure."""

import re
import unicodedata
from dataclasses import dataclass

from agent.wellformed import normalize, well_formed

MAX_TEXT_CHARS = 20_000
"""Characters of a text that are searched."""

MAX_WORD_CHARS = 40
MAX_TERMS = 16
"""Words of a query that are searched for: the longest."""

LEAST_PREFIX_CHARS = 3
"""A shorter word of a query matches only itself; a longer one also every word that begins with it."""

STEM_CHARS = 7
"""Characters of a longer word of a query that count, so that other forms of it are found."""

_WORD = re.compile(r"[^\W_]+")
_STOP_WORDS = frozenset(
    _WORD.findall("""
    a about all an and any are as at be but by can did do does for from had has have he her him his how i if in
    is it its may me my not of on or our she so that the their them then they this to was we were what when
    where which who why will with you your al como con cual cuando de del donde el ella en era es esta este esto
    fue ha hay he la las le les lo los mas me mi mis muy no nos o para pero por porque que quien se ser si sin
    sobre son su sus te tu tus un una uno y ya yo
    """)
)
"""Words of English and Spanish, folded, that say nothing about a subject."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a query."""

    text: str  # folded: letters and digits only
    is_prefix: bool  # also matches words that begin with it

    def matches(self, word: str) -> bool:
        return word.startswith(self.text) if self.is_prefix else word == self.text


def fold(text: str) -> str:
    """Return the text in lower case and without accents."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", normalize("NFKC", text).casefold())
    return "".join(each for each in parts if not unicodedata.combining(each))


def words_of(text: str) -> list[str]:
    """Return the folded words of a text, each once, in order."""
    found = _WORD.findall(fold(well_formed(text[:MAX_TEXT_CHARS])))
    return list(dict.fromkeys(word[:MAX_WORD_CHARS] for word in found))


def terms_of(query: str) -> tuple[Term, ...]:
    """Return the words to search for, none that says nothing; a plural finds its singular, too."""
    telling = [word for word in words_of(query) if word not in _STOP_WORDS]
    longest = sorted(telling, key=len, reverse=True)[:MAX_TERMS]
    return tuple(dict.fromkeys(_term(word) for word in telling if word in longest))


def _term(word: str) -> Term:
    bare = word[:-1] if len(word) > LEAST_PREFIX_CHARS and word.endswith("s") else word
    return Term(bare[:STEM_CHARS], len(bare) >= LEAST_PREFIX_CHARS)


SNIPPET_CHARS = 240


def snippet(text: str, terms: tuple[Term, ...], most: int = SNIPPET_CHARS) -> str:
    """Return one line of the text around the place where most of these words stand together."""
    line = " ".join(text[:MAX_TEXT_CHARS].split())
    if len(line) <= most:
        return line
    places = [(each.start(), _find_terms(each[0], terms)) for each in re.finditer(r"\S+", line)]
    hits = [(start, found) for start, found in places if found]
    if not hits:
        return _cut_line(line, 0, most)
    best, most_found = hits[0][0], 0
    for start, _ in hits:
        together = {term for at, found in hits if start <= at < start + most // 2 for term in found}
        if len(together) > most_found:
            best, most_found = start, len(together)
    return _cut_line(line, max(0, best - most // 4), most)


def _find_terms(token: str, terms: tuple[Term, ...]) -> frozenset[Term]:
    words = _WORD.findall(fold(token))
    return frozenset(term for term in terms if any(term.matches(word) for word in words))


def _cut_line(line: str, start: int, most: int) -> str:
    """Return `most` characters from about `start`, between blanks if there are any."""
    begin = line.find(" ", start, start + 40) + 1 if start else 0
    begin = begin or start
    end = begin + most
    if end < len(line):
        end = max(line.rfind(" ", begin, end), begin + most // 2)
    return ("…" if begin else "") + line[begin:end].strip() + ("…" if end < len(line) else "")
