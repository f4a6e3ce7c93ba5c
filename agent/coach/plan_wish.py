"""What somebody wants of a weekly plan: to see it, a new one, that of the next week, for one skill. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.coach.intents import Intent, read_request
from agent.coach.practice import Skill, name_key

MAX_CHARS = 400

_COMMAND = re.compile(r"\s*/plan(?:\s+|\Z)", re.IGNORECASE)
_NEW = frozenset(["new", "nuevo", "nueva", "otro", "another"])
_NEXT = frozenset(["next", "próxima", "proxima", "próximo", "proximo", "siguiente"])
_NEXT_WEEK = re.compile(
    r"\bnext week\b|\bpr[oó]xima semana\b|\bsemana (?:que viene|pr[oó]xima|siguiente)\b", re.IGNORECASE
)

_DAY = re.compile(r"\b(?:(?P<today>hoy|today)|(?P<tomorrow>(?<!la )ma[nñ]ana|tomorrow))\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PlanWish:
    """One wish about a plan."""

    shows: bool = False  # the one that is kept is wanted, if there is one
    is_next: bool = False  # of the next week
    skill: str | None = None  # for this skill alone, by name

    def of(self, skills: Sequence[Skill]) -> Sequence[Skill]:
        """The skills that the plan is for."""
        if self.skill is None:
            return skills
        return [skill for skill in skills if skill.name == self.skill]


def wants_next_week(text: str) -> bool:
    """Whether the words are about the next week."""
    return _NEXT_WEEK.search(text[:MAX_CHARS]) is not None


def day_asked(text: str) -> int | None:
    """The one day that the words are about: 0 today, 1 tomorrow; None: no single one."""
    found = _DAY.search(text[:MAX_CHARS])
    return None if found is None else int(found.lastgroup == "tomorrow")


def asks_for_plan(text: str) -> bool:
    """Whether a message asks in words for a plan to be written, and for nothing else."""
    return read_request(text).intent is Intent.PLAN


def read_wish(text: str, skills: Sequence[Skill]) -> PlanWish:
    """What `/plan ...`, or a wish in words, is about; alone `/plan` shows what is kept."""
    called = _COMMAND.match(text)
    words = name_key(text[called.end() if called else 0 :][:MAX_CHARS])
    listed = words.split()
    is_next = _NEXT_WEEK.search(words) is not None or bool(called and _NEXT.intersection(listed))
    is_new = not called or bool(_NEW.intersection(listed))
    rest = [word for word in listed if word not in _NEXT | _NEW] if called else listed
    skill = _find_skill(" ".join(rest), skills)
    return PlanWish(not is_new and not rest, is_next, skill)


def _find_skill(words: str, skills: Sequence[Skill]) -> str | None:
    """The skill that the words name; the longest of several; the only one whose name begins so."""
    found = [skill for skill in skills if f" {name_key(skill.name)} " in f" {words} "]
    if found:
        return max(found, key=lambda skill: len(skill.name)).name
    begun = [skill for skill in skills if words and name_key(skill.name).startswith(words)]
    return begun[0].name if len(begun) == 1 else None
