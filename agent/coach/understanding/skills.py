"""Finds a person's skills among the words: by name, as a verb ("ran", "dibujé"), and nearly ("gutiar"). Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.coach.practice import name_key
from agent.coach.understanding.english import ENGLISH
from agent.coach.understanding.spanish import SPANISH
from agent.coach.understanding.words import Word, letters_between, plain_of, words_of

_TABLES = (ENGLISH, SPANISH)
MAX_SKILLS = 200
MIN_NEAR_CHARS = 4
MIN_STEM_CHARS = 3


_ENDINGS = (
    ("ando", r"(?:ar|acion|ado|ada|aje)$", ("e", "ado"), "ar"),
    ("iendo", r"(?:er|ir|ido|ida)$", ("i", "ido"), "ir"),
)
"""Of Spanish names of skills: the ending of the gerund, of the name, of "I did" and "I have done", of "to do"."""


def _derive(name: str) -> tuple[list[str], list[str]]:
    """The past forms and the gerund that the name itself tells: "dancing" is danced, "dibujar" dibujé and dibujando."""
    if name.endswith("ing"):
        return [f"{name[:-3]}ed"], []
    for gerund, ending, past, infinitive in _ENDINGS:
        stem, found = re.subn(ending, "", name)
        if found and len(stem) >= MIN_STEM_CHARS:
            return [stem + end for end in past], [stem + gerund, stem + infinitive]
    return [], []


def _forms(tables: Sequence[Mapping[str, str]]) -> dict[str, frozenset[str]]:
    """For each name of a skill the verbs that mean doing it, all without accents."""
    return {plain_of(name): frozenset(plain_of(forms).split()) for table in tables for name, forms in table.items()}


_ACTS = _forms([table.acts for table in _TABLES])
_ACTING = _forms([table.acting for table in _TABLES])
_NEW = {
    form: name
    for table in _TABLES
    for name, forms in reversed(list(table.acts.items()))
    for form in (*plain_of(forms).split(), *_derive(plain_of(name))[0])
}


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
        for name, skill in self.by_first.get(words[at].plain, ()):
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
        if len(word) < MIN_NEAR_CHARS or len(word) > 40:
            return None
        found = {skill for name, skill in self.names if _is_near(word, name)}
        return found.pop() if len(found) == 1 else None


def know(skills: Sequence[str]) -> KnownSkills:
    """The skills of these names."""
    by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    acts: dict[str, str] = {}
    acting: dict[str, str] = {}
    names = []
    for skill in sorted(skills[:MAX_SKILLS], key=len, reverse=True):
        words = tuple(word.plain for word in words_of(name_key(skill)))
        if not words:
            continue
        by_first.setdefault(words[0], []).append((words, skill))
        joined = " ".join(words)
        names.append((joined, skill))
        done, doing = _derive(joined) if len(words) == 1 else ([], [])
        for form in (*_ACTS.get(joined, ()), *done):
            acts.setdefault(form, skill)
        for form in (*_ACTING.get(joined, ()), *doing):
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


def _end_of(name: Sequence[str], words: Sequence[Word], at: int) -> int:
    """Where this name ends that begins here, hyphens aside; 0 where another word stands between."""
    for part in name:
        if at < len(words) and words[at].text == "-" and part != "-":
            at += 1
        if at >= len(words) or words[at].plain != part:
            return 0
        at += 1
    return at


def _is_near(word: str, name: str) -> bool:
    """Whether a word is a slip of this name, or a part of it."""
    if " " in name:
        return word in name.split()
    if (
        len(name) >= 5
        and len(word) >= 5
        and (name.startswith(word) or word.startswith(name))
        and abs(len(name) - len(word)) <= 2
    ):
        return True
    allowed = 1 if len(name) < 8 else 2
    return abs(len(word) - len(name)) <= allowed and name[:1] == word[:1] and letters_between(word, name) <= allowed
