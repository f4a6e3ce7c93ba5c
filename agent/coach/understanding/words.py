"""Cuts a message into words, mends slips in ordinary ones, finds phrases. Pure; what a word means is the tables'."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from agent.coach.understanding.english import ENGLISH
from agent.coach.understanding.spanish import SPANISH
from agent.coach.understanding.tables import LanguageTable
from agent.wellformed import normalize

_SHORTHAND = {
    "2day": "today", "2nite": "tonight", "2night": "tonight", "2moro": "tomorrow", "2mrw": "tomorrow",
    "2morrow": "tomorrow",
}  # fmt: skip
_WORD = re.compile(
    r"(?<!\S)\.[0-9]{1,2}\b|(?i:2(?:day|nite|night|moro|mrw|morrow))\b|[0-9]+(?:[.,][0-9]+)?|[^\W\d_]+(?:['’´][^\W\d_]+)*|\S"
)
_PLAIN = str.maketrans("áàâäéèêëíìîïóòôöúùûüñç", "aaaaeeeeiiiioooouuuunc")
_CLITIC = re.compile(r"([a-z]{2,12}(?:a|ie|ye)ndo)(?:l[aoe]s?|me|se|nos)")
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


# ---------------------------------------------------------------- slips in ordinary words

LEAST_MENDED = 5
"""Letters; a shorter word is too near too many."""

MOST_MENDED = 16
TWO_SLIPS = 2
LEAST_TWICE = 8
"""Letters of a word in which two slips are mended."""

_MENDED = (
    "today yesterday tomorrow tonight morning afternoon evening minute minutes hours practice practiced "
    "practised "
    "practicing practising rehearsed forgot forty fifty sixty seventy eighty ninety twenty thirty fifteen twelve "
    "eleven "
    "thirteen fourteen sixteen seventeen eighteen nineteen quarter "
    "minuto minutos practique practicando practicado treinta cuarenta cincuenta sesenta "
    "setenta ochenta "
    "noventa veinte quince veinticinco anteayer"
)
"""Beside the weekdays: ordinary words of a message about practice in which slips are common."""

_REAL = frozenset(
    [
        "thirsty",
        "forth",
        "forte",
        "forts",
        "fifth",
        "sixth",
        "seventh",
        "eighth",
        "sundae",
        "sundry",
        "mourning",
        "minuet",
        "minuets",
        "toady",
        "toddy",
        "practices",
        "practical",
        "vienes",
        "mates",
        "mares",
        "martas",
        "partes",
        "lunas",
        "sabido",
        "saldado",
        "estudio",
        "estudios",
        "studios",
        "jueces",
        "nueves",
        "minutas",
        "quinto",
        "quinces",
        "quartet",
        "quarters",
        "eventing",
        "ninetieth",
        "evenings",
        "mornings",
        "frida",
        "practicas",
        "practica",
        "practico",
        "horns",
        "house",
        "practicar",
        "practiques",
        "practiquen",
        "practicara",
        "practicase",
        "rehearses",
    ]
)
"""Words of their own that are one letter away from one of those."""


def _said_in(table: LanguageTable) -> Iterator[str]:
    """Every word of a table."""
    texts = (*table.phrases.values(), *table.twisted_phrases.values(), *table.roles.values(), *table.twists.values())
    words = (*table.numbers, *table.hours, *table.minutes, *table.half, *table.quarter, *table.weekdays, *table.months)
    named = (*table.days, *table.open_days, table.parts, table.times, table.periods, table.vague, *texts, *words)
    acts = (*table.acts, *table.acts.values())
    for text in (*named, *acts):
        yield from plain_of(text).replace(";", " ").split()


@cache
def _known_words() -> frozenset[str]:
    return frozenset(word for table in (ENGLISH, SPANISH) for word in _said_in(table)) | _REAL


def _shorter(word: str) -> Iterator[str]:
    """The word, and the word without each of its letters."""
    yield word
    for at in range(len(word)):
        yield word[:at] + word[at + 1 :]


@cache
def _slips() -> tuple[dict[str, frozenset[str]], dict[tuple[str, str], list[str]]]:
    """From each word with a letter less to what it may be; the long ones by their first letter and the last two."""
    weekdays = (plain_of(day) for table in (ENGLISH, SPANISH) for day in table.weekdays if len(day) > LEAST_MENDED)
    found: dict[str, set[str]] = {}
    by_ends: dict[tuple[str, str], list[str]] = {}
    for word in (*_MENDED.split(), *weekdays):
        for shorter in _shorter(word):
            found.setdefault(shorter, set()).add(word)
        if len(word) >= LEAST_TWICE:
            by_ends.setdefault((word[0], word[-2:]), []).append(word)
    return {shorter: frozenset(words) for shorter, words in found.items()}, by_ends


def mend_words(words: Sequence[Word], own: frozenset[str]) -> list[Word]:
    """The words, those with one slip in an ordinary word mended; `own` are words of the person's skills."""
    known = _known_words()
    return [word if word.plain in known or len(word.plain) < LEAST_MENDED else _mend(word, own) for word in words]


def _mend(word: Word, own: frozenset[str]) -> Word:
    clitic = _CLITIC.fullmatch(word.plain)
    if clitic is not None and clitic[1] in _known_words():  # "afinándolo"
        return replace(word, text=clitic[1], plain=clitic[1])
    if word.plain.endswith("in") and f"{word.plain}g" in _known_words() | own:  # "learnin"
        return replace(word, text=f"{word.plain}g", plain=f"{word.plain}g")
    if word.plain in own or not word.is_name or len(word.plain) > MOST_MENDED:
        return word
    said = word.plain
    slips, by_ends = _slips()
    meant = {right for shorter in _shorter(said) for right in slips.get(shorter, ())}
    right = [each for each in meant if each[0] == said[0] and letters_between(said, each) == 1]
    if not right and len(said) >= LEAST_TWICE:  # "practicara" is no slip: it ends otherwise
        right = [each for each in by_ends.get((said[0], said[-2:]), ()) if letters_between(said, each) == TWO_SLIPS]
    longest = max(right, key=len, default="")  # "minutso" may be minuto and minutos: the same
    return replace(word, text=longest, plain=longest) if right and all(map(longest.startswith, right)) else word


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
