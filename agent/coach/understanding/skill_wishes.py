"""Reads what somebody wants done to a skill: "rename guitar to acoustic guitar", "archiva el piano". Pure.

The verb comes first, and nothing may be left over; `/skill` takes the name first, see `agent.coach.skill_words`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from agent.coach.practice import COLOUR_NAMES
from agent.coach.understanding.skills import know
from agent.coach.understanding.words import words_of
from agent.wellformed import clean

MAX_CHARS = 200


class SkillVerb(StrEnum):
    """What is wanted of a skill."""

    ARCHIVE = "archive"
    RESTORE = "restore"
    RENAME = "rename"
    MERGE = "merge"
    COLOUR = "colour"


@dataclass(frozen=True, slots=True)
class WishedSkill:
    """One wish about one skill."""

    verb: SkillVerb
    skill: str  # as the person spells it, where they have it; else as it is written
    value: str = ""  # the new name, the skill it goes into, or "#rrggbb"
    is_known: bool = True  # one of those they have


_POLITE = (
    r"(?:[\W_]|please\b|por favor\b|porfa\b|hey\b|oye\b|ok\b|coach\b|can you\b|could you\b|i want to\b|puedes\b"
    r"|quiero\b){0,6}+"
)
_THE = re.compile(r"(?:(?:the|my|el|la|los|las|mi|a|al)\s+)?(?:(?:skill|habilidad)\s+)?(?:de\s+)?", re.IGNORECASE)
_VERBS = {
    SkillVerb.ARCHIVE: "archive; put away; archiva; archivar; archívame",
    SkillVerb.RESTORE: "restore; unarchive; bring back; restaura; restaurar; recupera; recuperar; desarchiva"
    "; desarchivar",
    SkillVerb.RENAME: "rename; renombra; renombrar; change the name of; cambia el nombre de; cambia el nombre a"
    "; cambiar el nombre de; cámbiale el nombre a",
    SkillVerb.MERGE: "merge; combine; join; une; unir; fusiona; fusionar; junta; juntar; combina; combinar",
    SkillVerb.COLOUR: "make; paint; color; colour; recolor; recolour; pinta; pon; change the colour of"
    "; change the color of; cambia el color de",
}


def _begins(phrases: str) -> re.Pattern[str]:
    """Any of these phrases at the start, however its words are spaced, with or without accents."""
    spaced = (r"\s+".join(phrase.split()).replace("á", "[aá]").replace("í", "[ií]") for phrase in phrases.split(";"))
    return re.compile(rf"{_POLITE}(?:{'|'.join(spaced)})\s+", re.IGNORECASE)


_BEGINS = tuple((verb, _begins(phrases)) for verb, phrases in _VERBS.items())
_LINK = re.compile(r"(?:to|into|with|and|as|in|a|con|en|como|por|de|y)\s+", re.IGNORECASE)
_ENDS = re.compile(r"(?:skill\b|please\b|por favor\b|porfa\b|now\b|ahora\b|[\s.!,]){0,6}", re.IGNORECASE)
_PARTED = re.compile(
    r"(?P<name>\S.{0,60}?)\s+(?:to|into|with|and|as|a|con|en|como|por|y)\s+(?P<value>\S.{0,99})", re.IGNORECASE
)
MAX_NAME_WORDS = 3
"""Of a name that nobody knows: a longer one is a sentence about something else."""

_ALONE = frozenset({SkillVerb.ARCHIVE, SkillVerb.RESTORE})
_QUOTES = " \"'“”«»"
_HEX = re.compile(r"#[0-9a-f]{6}")


def may_be_skill_wish(text: str) -> bool:
    """Whether a message begins as such a wish: only then the person's skills are needed to read it."""
    said = clean(text[: MAX_CHARS + 1])
    return len(said) <= MAX_CHARS and any(begins.match(said) for _, begins in _BEGINS)


def read_skill_wish(text: str, names: Sequence[str]) -> WishedSkill | None:
    """The wish; None where a message is none, or says more than that."""
    said = clean(text[: MAX_CHARS + 1])
    if len(said) > MAX_CHARS or "?" in said or "\n" in said:
        return None
    for verb, begins in _BEGINS:
        found = begins.match(said)
        if found is not None:
            return _of_verb(verb, said[found.end() :].strip(), names)
    return None


def _of_verb(verb: SkillVerb, rest: str, names: Sequence[str]) -> WishedSkill | None:
    skill, behind = _take_name(rest, names)
    if verb in _ALONE:
        if skill and _ENDS.fullmatch(behind):
            return WishedSkill(verb, skill)
        name = _bare(_THE.sub("", rest, count=1))
        is_name = not skill and 0 < len(name.split()) <= (MAX_NAME_WORDS if verb is SkillVerb.RESTORE else 1)
        return WishedSkill(verb, name, is_known=False) if is_name else None
    if not skill and verb in (SkillVerb.RENAME, SkillVerb.MERGE):
        return _of_unknown(verb, rest, names)
    link = _LINK.match(behind)
    value = _bare(behind[link.end() :] if link is not None else behind)
    if not skill or not value or (link is None and verb is not SkillVerb.COLOUR):
        return None
    if verb is SkillVerb.MERGE:
        into, left = _take_name(value, names)
        return WishedSkill(verb, skill, into) if into and _ENDS.fullmatch(left) else None
    if verb is SkillVerb.COLOUR:
        colour = COLOUR_NAMES.get(value.casefold(), value.casefold())
        return WishedSkill(verb, skill, colour) if _HEX.fullmatch(colour) else None
    return WishedSkill(verb, skill, value)


def _of_unknown(verb: SkillVerb, rest: str, names: Sequence[str]) -> WishedSkill | None:
    """Of a name that is none of those in use: it may be put away. Whether there is one, whoever does it knows."""
    parted = _PARTED.fullmatch(_THE.sub("", rest, count=1))
    if parted is None or len(parted["name"].split()) > MAX_NAME_WORDS:
        return None
    name, value = _bare(parted["name"]), _bare(parted["value"])
    if verb is SkillVerb.MERGE:
        into, left = _take_name(value, names)
        value = into if _ENDS.fullmatch(left) else ""
    return WishedSkill(verb, name, value, is_known=False) if name and value else None


def _take_name(text: str, names: Sequence[str]) -> tuple[str, str]:
    """The skill that the text begins with, articles aside, and what stands behind it; "" where it begins with none."""
    known = know(names)
    for said in (text.lstrip(_QUOTES), _THE.sub("", text, count=1).lstrip(_QUOTES)):
        words = words_of(said)
        found = known.find(words, 0) if words else None
        if found is not None:
            return found[0], said[words[found[1] - 1].end :].strip(_QUOTES)
    return "", text


def _bare(text: str) -> str:
    """Without signs and politeness around."""
    text = text.strip(" .!,;:\"'“”«»")
    return re.sub(r"[\s,]{1,3}(?:please|por favor|porfa)$", "", text, flags=re.IGNORECASE).strip(" .!,;:\"'“”«»")
