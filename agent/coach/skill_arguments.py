"""The arguments of `/skill`: a name, an action and its value. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.coach.entry_arguments import spelled_hours, take_skill
from agent.coach.practice import COLOUR_NAMES, Skill, SkillEdit
from agent.wellformed import clean

MAX_CHARS = 400

_VERBS = {
    "archive": "archive archivar archiva hide",
    "restore": "restore restaurar restaura recuperar unarchive",
    "rename": "rename renombrar renombra name nombre",
    "merge": "merge unir une fusionar join",
    "colour": "colour color",
    "emoji": "emoji icon icono",
    "goal": "goal meta objetivo",
    "week": "week weekly semana semanal",
}
_BY_WORD = {word: verb for verb, words in _VERBS.items() for word in words.split()}
_LINKS = frozenset(["to", "into", "with", "as", "a", "con", "en", "como", "="])
_NONE = frozenset(["off", "none", "no", "ninguna", "ninguno", "nada", "0"])


@dataclass(frozen=True, slots=True)
class SkillWish:
    """The parsed arguments of `/skill`."""

    skill: Skill | None  # None: no skill of that name
    edit: SkillEdit | None = None
    merge_into: str | None = None  # name or id of another skill
    is_read: bool = True  # False: what follows the name is not understood; True without a wish: only to look


def read_skill_wish(text: str, skills: Sequence[Skill]) -> SkillWish:
    """Parse `NAME archive|restore|rename NEW|merge OTHER|colour C|emoji E|goal 500h|week 5h`, also with NAME second."""
    text = clean(text[:MAX_CHARS])
    first, _, behind = text.partition(" ")
    found = take_skill(text, skills)
    if found is None and first.casefold() in _BY_WORD and (named := take_skill(behind, skills)) is not None:
        found = named[0], f"{first} {named[1]}".strip()
    if found is None:
        return SkillWish(None)
    skill, rest = found
    if not rest:
        return SkillWish(skill)
    word, _, value = rest.partition(" ")
    verb, value = _BY_WORD.get(word.casefold()), _without_link(value.strip())
    if verb == "merge" and value:
        into = take_skill(value, skills)
        return SkillWish(skill, merge_into=into[0].id if into is not None and not into[1] else value)
    edit = _read_edit(verb, value)
    return SkillWish(skill, edit, is_read=edit is not None)


def _without_link(value: str) -> str:
    first, _, rest = value.partition(" ")
    return rest.strip() if first.casefold() in _LINKS and rest.strip() else value


def _read_edit(verb: str | None, value: str) -> SkillEdit | None:
    match verb:
        case "archive" | "restore" if not value:
            return SkillEdit(archived=verb == "archive")
        case "rename" if value:
            return SkillEdit(name=value)
        case "colour" if value:
            return SkillEdit(colour=COLOUR_NAMES.get(value.casefold(), value))
        case "emoji" if value:
            return SkillEdit(emoji=value)
        case "goal" | "week" if value:
            minutes = 0 if value.casefold() in _NONE else spelled_hours(value)
            if minutes is not None:
                return SkillEdit(weekly_minutes=minutes) if verb == "week" else SkillEdit(goal_minutes=minutes)
    return None
