"""The sections of a prompt in one fixed order; those that depend on person and time come last; pure."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import IntEnum

from agent.ports import Principal, SystemPrompt


class Section(IntEnum):
    """The sections of a prompt in their order; those from `PERSON` on are dynamic."""

    IDENTITY = 0
    PERSONA = 1
    TOOLS = 2  # text about tools; the tools themselves are sent beside the prompt, sorted
    SAFETY = 3
    SKILLS = 4
    MCP = 5
    WORKSPACE = 6
    PERSON = 7
    TIME = 8
    FORMATTING = 9
    PROJECT = 10  # instructions and skills of the person's workspaces
    MEMORY = 11
    REMINDER = 12  # critical rules are repeated at the end


PromptBuilder = Callable[[Principal, datetime, str], Mapping[Section, str]]
"""(person for whom the turn runs, aware UTC now, the channel's formatting hints) to the sections of the prompt."""

AddSections = Callable[[Principal], Mapping[Section, str]]
"""Sections of optional capabilities for this person; they stand behind the agent's own of the same kind."""


def add_nothing(_principal: Principal) -> Mapping[Section, str]:
    """Return no section: the agent has no optional capability."""
    return {}


def join_sections(*parts: Mapping[Section, str]) -> dict[Section, str]:
    """Return all sections; texts of one section stand in the order of the parts."""
    joined: dict[Section, str] = {}
    for part in parts:
        for section, text in part.items():
            joined[section] = f"{joined[section]}\n\n{text}" if section in joined else text
    return joined


def compose(sections: Mapping[Section, str]) -> SystemPrompt:
    """Join these sections to a system prompt in their fixed order, without empty ones."""
    written = sorted([(section, kept) for section, text in sections.items() if (kept := text.strip())])
    return SystemPrompt(
        static="\n\n".join([text for section, text in written if section < Section.PERSON]),
        dynamic="\n\n".join([text for section, text in written if section >= Section.PERSON]),
    )
