"""Finds a person's skills among the words: by name, as a verb ("ran", "dibujé"), and nearly ("gutiar"). Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from agent.coach.practice import name_key
from agent.coach.understanding.english import ENGLISH
from agent.coach.understanding.spanish import SPANISH
from agent.coach.understanding.words import Word, letters_between, plain_of, words_of

_TABLES = (ENGLISH, SPANISH)
MAX_SKILLS = 200
MIN_NEAR_CHARS = 4
MIN_STEM_CHARS = 3
LEAST_SHORTENED = 6
_NO_ACT = frozenset({"told", "taught", "drove", "driven", "cut", "held", "bound"})
"""Forms that mean a skill only where the person has it."""


_IRREGULAR = {
    lemma: past.split()
    for lemma, past in {
        "run": "ran run", "swim": "swam swum", "sing": "sang sung", "draw": "drew drawn", "write": "wrote written",
        "ride": "rode ridden", "weave": "wove woven", "sew": "sewed sewn", "knit": "knit knitted", "read": "read",
        "speak": "spoke spoken", "build": "built", "shoot": "shot", "fight": "fought", "throw": "threw thrown",
        "spin": "spun", "fly": "flew flown", "dive": "dove dived", "swing": "swung", "bind": "bound", "blow": "blew",
        "cut": "cut", "dig": "dug", "slide": "slid", "drive": "drove driven", "grow": "grew grown", "bend": "bent",
        "tell": "told", "hold": "held", "ski": "skied", "skate": "skated", "sculpt": "sculpted", "teach": "taught",
    }.items()
}  # fmt: skip
"""English verbs of skills whose past is not made with "-ed": as in "sightreading", also behind another word."""

_STRONG = (
    ("hacer", "hice", "hecho"), ("ducir", "duje", "ducido"), ("poner", "puse", "puesto"), ("andar", "anduve", "andado"),
    ("scribir", "scribi", "scrito"), ("tener", "tuve", "tenido"), ("decir", "dije", "dicho"), ("ver", "vi", "visto"),
)  # fmt: skip
"""The ends of Spanish infinitives whose "I did" and "done" follow no rule."""

_NAMED_BY = (
    (r"a(?:cion|miento|do|da|je)s?$", ("ar",)),
    (r"i(?:miento|do|da)s?$", ("er", "ir")),
    (r"eos?$", ("ear",)),
    (r"(?<=[aei]r)$", ("",)),
)
"""The end of a Spanish name of a skill, and that of the infinitive it is made of."""

_SOFTENED = (("c", "qu"), ("g", "gu"), ("z", "c"))
_VOWELS = frozenset("aeiou")


def _stem(lemma: str) -> str:
    """What stands before "-ed" and "-ing": "danc", "jogg", "sew"."""
    if lemma.endswith("e"):
        return lemma[:-1]
    ends = lemma[-1] not in _VOWELS | {"w", "y", "x"} and lemma[-2:-1] in _VOWELS and lemma[-3:-2] not in _VOWELS
    return lemma + lemma[-1] if ends and sum(letter in _VOWELS for letter in lemma) == 1 else lemma


def _english_forms(lemma: str) -> tuple[list[str], list[str]]:
    """What somebody did, and the gerund: "swim" is swam, swum and swimming."""
    return _IRREGULAR.get(lemma, [f"{_stem(lemma)}ed"]), [f"{_stem(lemma)}ing"]


def _spanish_forms(infinitive: str) -> tuple[list[str], list[str]]:
    """What I did or have done, and the gerund with the infinitive: "nadar" is nadé, nadado, nadando."""
    stem, is_ar = infinitive[:-2], infinitive.endswith("ar")
    for end, did, done in _STRONG:
        if infinitive.endswith(end):
            before = infinitive[: -len(end)]
            return [before + did, before + done], [stem + ("ando" if is_ar else "iendo"), infinitive]
    if not is_ar:
        return [f"{stem}i", f"{stem}ido"], [stem + ("yendo" if stem[-1:] in _VOWELS else "iendo"), infinitive]
    soft = next((stem[:-1] + letter for hard, letter in _SOFTENED if stem.endswith(hard)), stem)
    return [f"{soft}e", f"{stem}ado"], [f"{stem}ando", infinitive]


def _verbs_of(name: str) -> Iterator[tuple[list[str], list[str]]]:
    """The forms of the verbs that a name itself tells: "dancing" is danced, "dibujar" dibujé and dibujando."""
    if name.endswith("ing") and len(name) > MIN_NEAR_CHARS:
        stem = name[:-3]
        single = stem[:-1] if stem[-1:] == stem[-2:-1] else stem
        for lemma in {stem, single, f"{stem}e"}:
            yield _IRREGULAR.get(lemma, [f"{stem}ed"]), []
    for ending, infinitives in _NAMED_BY:
        stem, ends = re.subn(ending, "", name)
        if ends and len(stem) >= MIN_STEM_CHARS:
            for infinitive in infinitives:
                yield _spanish_forms(stem + infinitive)


def _forms_of(name: str) -> tuple[list[str], list[str]]:
    """What somebody says who did this skill, and the gerunds of it: by its name and by the tables; no accents."""
    done, doing = [], []
    spoken = [_english_forms(lemma) for lemma in plain_of(ENGLISH.acts.get(name, "")).split()]
    spoken += [_spanish_forms(infinitive) for infinitive in _SPANISH_ACTS.get(name, "").split()]
    for past, gerunds in (*spoken, *_verbs_of(name)):
        done += past
        doing += gerunds
    return done, doing


_SPANISH_ACTS = {plain_of(name): plain_of(verbs) for name, verbs in SPANISH.acts.items()}
_NEW = {
    form: name
    for table in _TABLES
    for name in reversed(list(table.acts))
    for form in _forms_of(plain_of(name))[0]
    if form not in _NO_ACT
}
_NEW_ACTING = frozenset(form for table in _TABLES for name in table.acts for form in _forms_of(plain_of(name))[1])


@dataclass(frozen=True, slots=True)
class KnownSkills:
    """A person's skills, ready to be found."""

    by_first: Mapping[
        str, tuple[tuple[tuple[str, ...], str], ...]
    ]  # from a name's first word to names, the longest first
    acts: Mapping[str, str]  # from "ran" to the skill it is
    acting: Mapping[str, str]
    names: tuple[tuple[str, str], ...]  # without accents, and as the person spells it
    words: frozenset[str]  # that are in a name

    def find(self, words: Sequence[Word], at: int) -> tuple[str, int] | None:
        """The longest skill whose name begins here, and where it ends."""
        for name, skill in self.by_first.get(spelled_alike(words[at].plain), ()):
            end = _end_of(name, words, at)
            if end:
                return skill, end
        return None

    def act_of(self, stem: str) -> str | None:
        """The one skill whose name begins as this stem of a verb does: "surfe(é)" is surf, "boxe(é)" boxing's."""
        if len(stem) < MIN_NEAR_CHARS:
            return None
        short = stem[:-1] if len(stem) > MIN_NEAR_CHARS else stem
        found = {skill for name, skill in self.names if " " not in name and name.startswith(short)}
        return found.pop() if len(found) == 1 else None

    def near(self, word: str) -> str | None:
        """The one skill that this word was probably meant for; None where there is none or more than one."""
        if len(word) < MIN_NEAR_CHARS - 1 or len(word) > 40:
            return None
        found = {skill for name, skill in self.names if _is_near(word, name)}
        return found.pop() if len(found) == 1 else None


def know(skills: Sequence[str]) -> KnownSkills:
    """The skills of these names."""
    return _know(tuple(skills[:MAX_SKILLS]))


@lru_cache(maxsize=4)  # one message is read for several things
def _know(skills: tuple[str, ...]) -> KnownSkills:
    by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    acts: dict[str, str] = {}
    acting: dict[str, str] = {}
    names = []
    for skill in sorted(skills, key=len, reverse=True):
        words = tuple(word.plain for word in words_of(name_key(skill)))
        if not words:
            continue
        by_first.setdefault(spelled_alike(words[0]), []).append((words, skill))
        joined = " ".join(words)
        names.append((joined, skill))
        done, doing = _forms_of(joined) if len(words) == 1 else ([], [])
        for form in done:
            acts.setdefault(form, skill)
        for form in doing:
            acting.setdefault(form, skill)
    return KnownSkills(
        {first: tuple(found) for first, found in by_first.items()},
        acts,
        acting,
        tuple(names),
        frozenset(word for name, _ in names for word in name.split()),
    )


def new_skill_of(word: str) -> str | None:
    """The usual name of the skill that a verb means: "ran" is running."""
    return _NEW.get(word)


def spelled_alike(word: str) -> str:
    """The word in one of its spellings on both sides of the Atlantic: "watercolour", "jewelry", "modelling"."""
    return word.replace("our", "or").replace("ellery", "elry").replace("lling", "ling") if len(word) > 5 else word


def is_acting(word: str) -> bool:
    """Whether it is the gerund or the infinitive of a verb that means some skill."""
    return word in _NEW_ACTING


def _end_of(name: Sequence[str], words: Sequence[Word], at: int) -> int:
    """Where this name ends that begins here, hyphens aside; 0 where another word stands between."""
    for part in name:
        if at < len(words) and words[at].text == "-" and part != "-":
            at += 1
        if at >= len(words) or spelled_alike(words[at].plain) != spelled_alike(part):
            return 0
        at += 1
    return at


def _is_near(word: str, name: str) -> bool:
    """Whether a word is a slip of this name, or a part of it."""
    if " " in name:
        return len(word) >= MIN_NEAR_CHARS and word in name.split()
    if len(word) < MIN_NEAR_CHARS or len(name) >= 2 * len(word):
        return name[:-1] == word or (len(name) >= LEAST_SHORTENED and name.startswith(word))  # "sax"
    if (
        len(name) >= 5
        and len(word) >= 5
        and (name.startswith(word) or word.startswith(name))
        and abs(len(name) - len(word)) <= 2
    ):
        return True
    allowed = 1 if len(name) < 8 else 2
    return abs(len(word) - len(name)) <= allowed and name[:1] == word[:1] and letters_between(word, name) <= allowed
