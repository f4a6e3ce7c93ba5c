"""Memory files: Markdown with frontmatter, in which memories are shown, edited, exported and imported; pure."""

import json
import re
import unicodedata
from datetime import UTC, date, datetime, time
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from agent.frontmatter import BadFrontmatter, read_frontmatter
from agent.memory.memory import MAX_BODY_CHARS, MAX_DESCRIPTION_CHARS, REASONED, Memory, MemoryOrigin, MemoryType
from agent.plain_errors import words_of_problem
from agent.wellformed import JOINERS, UNSEEN, clean, normalize

MAX_FILE_BYTES = 64_000
EXTENSION = ".md"
KEPT = f"{JOINERS}\t"

_WHY = re.compile(r"^\W*why\W*:", re.IGNORECASE | re.MULTILINE)
_HOW = re.compile(r"^\W*how to apply\W*:", re.IGNORECASE | re.MULTILINE)


class BadMemory(ValueError):
    """A text is no memory; the message says why."""

    def __init__(self, why: str, line: int = 1) -> None:
        """Take the reason, and the line of the file that it is about."""
        super().__init__(why)
        self.line = line


class MemoryFields(BaseModel):
    """The frontmatter of a memory file. Other keys are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")
    description: Annotated[str, Field(min_length=1, max_length=MAX_DESCRIPTION_CHARS)]
    type: MemoryType
    created: datetime | None = None
    updated: datetime | None = None
    origin: MemoryOrigin | None = None

    @field_validator("description")
    @classmethod
    def _is_one_line(cls, text: str) -> str:
        return clean(text)

    @field_validator("created", "updated", mode="before")
    @classmethod
    def _may_be_a_date(cls, given: object) -> object:
        if isinstance(given, date) and not isinstance(given, datetime):
            given = datetime.combine(given, time())
        return given.replace(tzinfo=given.tzinfo or UTC) if isinstance(given, datetime) else given


def write_memory(memory: Memory) -> str:
    """Return the text of a memory's file."""
    head = {
        "name": memory.name,
        "description": json.dumps(memory.description, ensure_ascii=False),
        "type": memory.type.value,
        "created": _instant(memory.created_at),
        "updated": _instant(memory.updated_at),
        "origin": memory.origin.value,
    }
    lines = "\n".join(f"{key}: {value}" for key, value in head.items())
    return f"---\n{lines}\n---\n\n{memory.body}\n"


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_memory(text: str, now: datetime, name: str | None = None) -> Memory:
    """Return the memory that a file's text describes.

    `name` is the name of the file without its extension. Instants that are missing or in the future are `now`.

    Raises:
        BadMemory: it describes none.
    """
    try:
        found = read_frontmatter(text)
    except BadFrontmatter as bad:
        raise BadMemory(str(bad), bad.line) from None
    given = {} if name is None else {"name": name}
    try:
        fields = MemoryFields.model_validate(given | dict(found.values))
    except ValidationError as error:
        problem = error.errors()[0]
        key = str(problem["loc"][0])
        raise BadMemory(f"{key}: {words_of_problem(problem)}", found.lines.get(key, 1)) from None
    if name not in (None, fields.name):
        raise BadMemory(f"its name is {fields.name!r}, but its file is called {name!r}", found.lines.get("name", 1))
    body = visible_text(found.body)
    check_body(fields.type, body)
    return Memory(
        name=fields.name,
        type=fields.type,
        description=fields.description,
        body=body,
        origin=fields.origin or MemoryOrigin.OPERATOR,
        created_at=_past(fields.created, now),
        updated_at=_past(fields.updated, now),
    )


def _past(given: datetime | None, now: datetime) -> datetime:
    return now if given is None else min(now, given.replace(tzinfo=given.tzinfo or UTC).astimezone(UTC))


def visible_text(text: str) -> str:
    """Return the text of a memory without characters that no one sees, so that a person reads all that a model does."""
    lines = (line.rstrip() for line in normalize("NFC", text).splitlines())
    kept = ("".join(c for c in line if c in KEPT or unicodedata.category(c) not in UNSEEN) for line in lines)
    return "\n".join(kept).strip()


def check_body(type_: MemoryType, body: str) -> None:
    """Check the text of a memory: its length, and that feedback and projects say why and how to apply them.

    Raises:
        BadMemory: it lacks something.
    """
    if not body.strip():
        raise BadMemory("it has no text behind its frontmatter")
    if len(body) > MAX_BODY_CHARS:
        raise BadMemory(f"its text has {len(body):,} characters; at most {MAX_BODY_CHARS:,} are kept")
    if type_ not in REASONED:
        return
    for pattern, label in ((_WHY, "Why:"), (_HOW, "How to apply:")):
        if pattern.search(body) is None:
            raise BadMemory(f'a memory of the type {type_.value} needs a line that begins with "{label}"')
