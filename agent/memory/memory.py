"""A memory: one fact about a person or their work that later conversations should know; pure."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

MEMORY = "memory"
"""Name of the tool; an agent without it neither recalls nor remembers."""

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
"""Form of a name, which is also the name of its file."""

MAX_DESCRIPTION_CHARS = 150
MAX_BODY_CHARS = 4_000
"""Five recalled memories are at most a sixth of what one tool may return."""


class MemoryType(StrEnum):
    """The types of memories."""

    USER = "user"  # who the person is, what they like and can do
    FEEDBACK = "feedback"  # how they want to be helped
    PROJECT = "project"  # what they work on, until when, and under which constraints
    REFERENCE = "reference"  # where something is to be found


REASONED = frozenset({MemoryType.FEEDBACK, MemoryType.PROJECT})
"""Types whose body has to say why, and how to apply it."""


class MemoryOrigin(StrEnum):
    """The origins of what a memory says."""

    SAID = "said"  # the model wrote down what the person said
    OUTSIDE = "outside"  # the model wrote it after it had read texts of others; the person was asked
    CONSOLIDATED = "consolidated"  # made of a conversation after it ended
    PERSON = "person"  # the person wrote or corrected it
    OPERATOR = "operator"  # an operator imported it


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHead:
    """The part of a memory that an index and a manifest show."""

    name: str  # unique for a person and agent
    type: MemoryType
    description: str  # one line that tells if it matters to a message
    updated_at: datetime  # aware UTC


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(MemoryHead):
    """A whole memory."""

    body: str  # Markdown
    origin: MemoryOrigin
    source: str = ""  # key of the call, command or event that wrote it last
    created_at: datetime
    revision: int = 1  # one more with each change
