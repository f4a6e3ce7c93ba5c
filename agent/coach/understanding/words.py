"""Cuts a message into words, finds phrases. Pure; what a word means is the tables'."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from agent.wellformed import normalize

_SHORTHAND = {
    "2day": "today", "2nite": "tonight", "2night": "tonight", "2moro": "tomorrow", "2mrw": "tomorrow",
    "2morrow": "tomorrow",
}  # fmt: skip
_WORD = re.compile(
    r"(?<!\S)\.[0-9]{1,2}\b|(?i:2(?:day|nite|night|moro|mrw|morrow))\b|[0-9]+(?:[.,][0-9]+)?|[^\W\d_]+(?:['’´][^\W\d_]+)*|\S"
)
_PLAIN = str.maketrans("áàâäéèêëíìîïóòôöúùûüñç", "aaaaeeeeiiiioooouuuunc")
_STRETCHED = re.compile(r"(\w)\1{2,}")
NOT_ASKED = re.compile(
    r"\b(?:no idea|not sure|don't know|dunno|forgot|can't remember|don't remember|didn't (?:time|count)) how (?:long"
    r"|much)\b"
    r"|\b(?:ni idea|no se|no recuerdo|no me acuerdo|no conte|no medi|no me fije)(?: de)? cuant|\ben cuanto\b"
    r"|\bcuanto antes\b"
    r"|\b(?:asked|asks|wants? to know|pregunt\w+|quiere saber)\b"
)
"""Where "how long" stands and nothing is asked of us."""

_UNSEEN = "\ufe0f\u200d🏻🏼🏽🏾🏿♀♂"


@dataclass(frozen=True, slots=True)
class Word:
    """One word, number or sign of a message."""

    text: str  # case-folded, as written else
    plain: str  # without accents and with no letter three times in a row
    start: int
    end: int
    is_capital: bool = False  # its first letter is

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


_TELLING = re.compile(
    r"\W{0,9}(?:(?:hey|hi|hello|ok|okay|so|well|coach|hola|oye|ey|buenas|bueno|mira|pues|dear|profe|bro|man)\W{1,3}){0,3}"
    r"(?:(?:i(?:'m| am)? )?(?:just |also |really |very |so |quickly ){0,2}"
    r"(?:(?:want(?:ed)?|would like|need(?:ed)?|happy|glad|pleased|proud|delighted|here|writing) (?:just )?to )?"
    r"(?:(?:let(?:ting)? you know|tell(?:ing)? you|inform(?:ing)? you|updat(?:e|ing) you)"
    r"|(?<= to )(?:report|say|announce|confess|admit|mention|share))(?: that| about)?"
    r"|(?:te|le|les|os) (?:aviso|informo|cuento|comento|digo|reporto|confirmo|confieso|dicto|escribo)"
    r"(?: (?:de )?que| para decirte que| porque voy \w{1,12})?"
    r"|(?:solo |nom[aá]s |nada m[aá]s )?(?:quiero|quer[ií]a|quisiera|vengo a|paso a|paso para|para|pa) "
    r"(?:(?:contar|avisar|informar|comentar|reportar)(?:te|le)?|decirte|decirle|que sepas)(?: (?:de )?que)?"
    r"|(?:i |yo |me |se me |also |y |and ){0,3}(?:forgot|olvid[eéó]|pas[oóé])(?: to| de)? "
    r"(?:(?:tell you|log|say|mention|put|add|enter|write|record|report|note)"
    r"(?: (?:it|this|that|down|in|about|earlier)){0,3}"
    r"|(?:decir|contar|anotar|apuntar|registrar|poner|avisar|mencionar|comentar)(?:te|lo|la|los|telo)?(?: que)?)"
    r"|me (?:alegra|complace) (?:informar|contar|decir)(?:te|le)?(?: que)?)[\s,:]{1,3}",
    re.IGNORECASE,
)
"""That something is told, before what is told: "just letting you know", "te aviso que"."""


def without_telling(text: str) -> str:
    """The text without the words that only say that something is told."""
    return _TELLING.sub("", text.replace("’", "'"), count=1) if _TELLING.match(text.replace("’", "'")) else text


def words_of(text: str) -> list[Word]:
    """The words of a text, in order; the text has been cleaned."""
    return list(_cut_words(text))


@lru_cache(maxsize=4)  # one message is read for several things
def _cut_words(text: str) -> tuple[Word, ...]:
    found = []
    for match in _WORD.finditer(text):
        said = match[0]
        if said not in _UNSEEN:
            said = f"0{said}" if said[0] == "." and len(said) > 1 else said  # ".5 hr"
            folded = _SHORTHAND.get(said.lower()) or (_fold(said) if said[0].isalpha() else said)
            plain = _STRETCHED.sub(r"\1", plain_of(folded))
            found.append(Word(folded, plain, match.start(), match.end(), said[0].isupper()))
    return tuple(found)


# ---------------------------------------------------------------- phrases

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


def letters_between(word: str, other: str) -> int:
    """How many letters are to be added, left out, changed or swapped with the next to get to the other."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(word, 1):
        following = [at]
        for to, wanted in enumerate(other, 1):
            cost = min(row[to] + 1, following[to - 1] + 1, row[to - 1] + (letter != wanted))
            if at > 1 and to > 1 and letter == other[to - 2] and word[at - 2] == wanted:
                cost = min(cost, before[to - 2] + 1)
            following.append(cost)
        before, row = row, following
    return row[-1]
