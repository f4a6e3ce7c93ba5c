"""The skills that one person can use, and their list in the prompt; pure."""

import re
from collections.abc import Iterable, Sequence

from agent.skills.skill import RANKS, WrittenSkill
from agent.wellformed import cut_text

MAX_LISTED = 15
"""Skills that a prompt lists; the model finds the others by `skill_search`."""

MAX_FOUND = 5
MAX_LINE_CHARS = 400

_WORDS = re.compile(r"\w+")


class Library:
    """Skills by name; of several with one name, that of the highest source."""

    def __init__(self, skills: Iterable[WrittenSkill]) -> None:
        self._by_name: dict[str, WrittenSkill] = {}
        for skill in sorted(skills, key=lambda skill: RANKS[skill.source]):
            self._by_name.setdefault(skill.name, skill)
        self.skills = tuple(skill for skill in self._by_name.values() if skill.head.enabled)

    def find(self, name: str) -> WrittenSkill | None:
        """Return the skill with this name, or with this name of a command."""
        found = self._by_name.get(name) or next((skill for skill in self.skills if skill.command == name), None)
        return found if found is not None and found.head.enabled else None

    @property
    def offered(self) -> Sequence[WrittenSkill]:
        """Return the skills that the model may start, those of higher sources first."""
        return [skill for skill in self.skills if skill.head.model_invocable and not skill.head.hidden]

    def search(self, words: str) -> Sequence[WrittenSkill]:
        """Return the offered skills that share most words with the text."""
        wanted = set(_WORDS.findall(words.casefold()))
        scored = [(len(wanted & set(_WORDS.findall(_line_of(skill).casefold()))), skill) for skill in self.offered]
        ranked = sorted(scored, key=lambda pair: -pair[0])
        return [skill for score, skill in ranked if score][:MAX_FOUND]


def _line_of(skill: WrittenSkill) -> str:
    when = f" Use it when: {skill.head.when_to_use}" if skill.head.when_to_use else ""
    return f"{skill.name}: {skill.head.description}{when}"


def describe(skill: WrittenSkill) -> str:
    """Return a skill in one bounded line: name, description, when to use it."""
    return cut_text(_line_of(skill), MAX_LINE_CHARS)


SKILLS_TITLE = """\
# Skills

Written procedures for you; not the skills that a person learns. Before you do what one of them is for, load it by \
`skill(name, arguments)`, then follow it."""

OWN_TITLE = """\
# Skills of this person's workspace

Load one by `skill(name, arguments)` before you do what it is for; it goes before another of its name."""

HOW_TO_WRITE = """\
If a person wants a new skill, write `skills/NAME/SKILL.md` in their folder: the lines `---`, `name: NAME` (a-z, 0-9, \
-), `description: one line`, `when_to_use: one line`, `user_invocable: true` (then /NAME starts it), `---`, then the \
steps in Markdown; $ARGUMENTS stands for what it is about. It works once the operator has trusted it: tell them so."""

MORE = "There are {n} more: `skill_search(words)` finds them."


def list_skills(title: str, skills: Sequence[WrittenSkill], most: int = MAX_LISTED) -> str:
    """Return the list of these skills for the prompt, "" if there are none."""
    if not skills:
        return ""
    lines = [f"- {describe(skill)}" for skill in skills[:most]]
    rest = [MORE.format(n=len(skills) - most)] if len(skills) > most else []
    return "\n".join([title, "", *lines, *rest])
