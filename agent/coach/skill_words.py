"""The arguments of `/skill`: whose name, what is to be done, and with what. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.coach.changes import EditSkill, MergeSkills
from agent.coach.entry_words import spelled_hours, take_skill
from agent.coach.practice import COLOUR_NAMES, Skill
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
    """What `/skill` asks for."""

    skill: Skill | None  # None: no skill of that name
    change: EditSkill | MergeSkills | None = None  # None: only to look, or not understood
    is_read: bool = True  # False: what follows the name is not understood


def read_skill_wish(text: str, skills: Sequence[Skill]) -> SkillWish:
    """`NAME archive|restore|rename NEW|merge OTHER|colour C|emoji E|goal 500h|week 5h`."""
    found = take_skill(clean(text[:MAX_CHARS]), skills)
    if found is None:
        return SkillWish(None)
    skill, rest = found
    if not rest:
        return SkillWish(skill)
    word, _, value = rest.partition(" ")
    change = _change(skill, _BY_WORD.get(word.casefold()), _without_link(value.strip()), skills)
    return SkillWish(skill, change, change is not None)


def _without_link(value: str) -> str:
    first, _, rest = value.partition(" ")
    return rest.strip() if first.casefold() in _LINKS and rest.strip() else value


def _change(skill: Skill, verb: str | None, value: str, skills: Sequence[Skill]) -> EditSkill | MergeSkills | None:
    if verb in {"archive", "restore"}:
        return EditSkill(skill.id, archived=verb == "archive") if not value else None
    if not value or verb is None:
        return None
    if verb == "merge":
        into = take_skill(value, skills)
        return MergeSkills(skill.id, into[0].id if into is not None and not into[1] else value)
    if verb in {"goal", "week"}:
        return _goal(skill, verb, value)
    colour = COLOUR_NAMES.get(value.casefold(), value)
    fields = {"rename": EditSkill(skill.id, name=value), "colour": EditSkill(skill.id, colour=colour)}
    return fields.get(verb, EditSkill(skill.id, emoji=value))


def _goal(skill: Skill, verb: str, value: str) -> EditSkill | None:
    minutes = 0 if value.casefold() in _NONE else spelled_hours(value)
    if minutes is None:
        return None
    return EditSkill(skill.id, weekly_minutes=minutes) if verb == "week" else EditSkill(skill.id, goal_minutes=minutes)
