"""The coach's instructions: the same bytes for everybody first, then the person, their date and the channel's hints."""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib.resources import files

from agent.coach.practice import LEVELS
from agent.context.person import describe_person, tell_date
from agent.context.sections import Section
from agent.ports import Principal

_REMINDER = (
    "Keep to this: numbers only from tool results or the person's words; all tools in one response; at most 300 words; "
    "only this person's data."
)


def _read_section(name: str) -> str:
    return files("agent.coach").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")


def coach_prompt(principal: Principal, now: datetime, hints: str = "") -> Mapping[Section, str]:
    """Return the sections of the prompt for one person's turn; `hints` say how the channel wants text formatted."""
    return {
        **_static(),
        Section.PERSON: describe_person(principal),
        Section.TIME: tell_date(principal, now),
        Section.FORMATTING: hints,
        Section.REMINDER: _REMINDER,
    }


@cache
def _static() -> Mapping[Section, str]:
    return {
        Section.IDENTITY: _read_section("identity"),
        Section.PERSONA: _read_section("persona").format(levels=_levels()),
        Section.SAFETY: _read_section("safety"),
    }


def _levels() -> str:
    return ", ".join(f"{level.emoji} {level.name} from {level.from_minutes // 60:,} h" for level in LEVELS)
