"""A prompt is a list of sections in one fixed order, cut where its bytes begin to be of a person and a moment; pure."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import IntEnum

from agent.ports import Principal, SystemPrompt

PromptBuilder = Callable[[Principal, datetime, str], SystemPrompt]
"""(whom the turn acts for, aware UTC now, the channel's formatting hints) to the whole system prompt."""


class Section(IntEnum):
    """The sections of a prompt, in their order; those from `PERSON` on stand below the boundary."""

    IDENTITY = 0
    FIRST_RUN = 1
    PERSONA = 2
    TOOLS = 3  # words about them; the tools themselves travel beside the prompt, sorted
    SAFETY = 4
    SKILLS = 5
    MCP = 6
    WORKSPACE = 7
    PERSON = 8
    TIME = 9
    FORMATTING = 10
    PROJECT = 11
    MEMORY = 12
    REMINDER = 13  # critical rules stand at both ends


def compose(sections: Mapping[Section, str]) -> SystemPrompt:
    """Return a system prompt of these sections, empty ones left out; in which order they are given does not matter."""
    written = sorted([(section, kept) for section, text in sections.items() if (kept := text.strip())])
    return SystemPrompt(
        static="\n\n".join([text for section, text in written if section < Section.PERSON]),
        dynamic="\n\n".join([text for section, text in written if section >= Section.PERSON]),
    )
