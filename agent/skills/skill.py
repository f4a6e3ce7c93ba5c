"""A skill: a written procedure for the model, read from the text of a `SKILL.md`; pure.

The file begins with frontmatter, a YAML mapping between two lines of `---`; the rest is the body.
"""

import re
import shlex
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from agent.frontmatter import BadFrontmatter, read_frontmatter
from agent.permission_rules import BadRule, PermissionRule, Source, Verdict, parse_rule
from agent.wellformed import clean

MAX_PLACEHOLDERS = 100
"""Placeholders for arguments in one body."""

MAX_ARGUMENTS_CHARS = 4_000

_PLACEHOLDER = re.compile(r"\\?\$(?:ARGUMENTS\b|([1-9])(?!\d))")


class BadSkill(ValueError):
    """A skill cannot be used; the message says why."""


class SkillSource(StrEnum):
    """The source of a skill; of two skills with one name the one that comes first here is used."""

    MANAGED = "managed"  # a folder of the operator's that no other source overrides
    PROJECT = "project"  # a trusted workspace
    USER = "user"  # added with `tenk skills add`
    PLUGIN = "plugin"  # an installed package
    BUNDLED = "bundled"  # the agent's own


RANKS = {source: rank for rank, source in enumerate(SkillSource)}

Line = Annotated[str, Field(min_length=1, max_length=1024)]


class SkillHead(BaseModel):
    """The frontmatter of a `SKILL.md`. Keys of other programs are ignored; `-` in a key counts as `_`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")
    """The folder's name."""
    description: Line
    """One line that tells the model, and people, what it does."""
    summary: str = Field(default="", max_length=200)
    """Line for menus: text, or a key of the agent's catalogue; empty: the description."""
    when_to_use: str = Field(default="", max_length=1024)
    """Situations in which the model should use it."""
    allowed_tools: tuple[str, ...] = Field(default=(), max_length=50)
    """Permission rules of calls that need no approval for the rest of the turn."""
    model: str | None = Field(default=None, max_length=200)
    """Model for the rest of the turn; one that the tenant does not have is ignored."""
    enabled: bool = True
    """False: it is not used, and hides others of its name."""
    hidden: bool = False
    """True: it is in no list and no menu, but can be used by its name."""
    user_invocable: bool = False
    """True: people start it with a command of its name."""
    model_invocable: bool = True
    """False: the model cannot start it."""
    context: str = Field(default="", max_length=200)
    """`fork`: it runs in a task beside the conversation, if the agent can give tasks; else in the conversation."""

    @field_validator("description", "summary", "when_to_use")
    @classmethod
    def _is_one_line(cls, text: str) -> str:
        return clean(text)

    @field_validator("allowed_tools", mode="before")
    @classmethod
    def _may_be_one_text(cls, given: object) -> object:
        return tuple(re.split(r"[\s,]+", given.strip())) if isinstance(given, str) else given

    @field_validator("allowed_tools")
    @classmethod
    def _are_rules(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        try:
            allow_rules(texts)
        except BadRule as bad:
            raise ValueError(str(bad)) from None
        return texts


def allow_rules(texts: tuple[str, ...]) -> tuple[PermissionRule, ...]:
    """Return these texts as rules of the source `command` that allow.

    Raises:
        BadRule: one of them is not a rule.
    """
    return tuple(parse_rule(text, Verdict.ALLOW, Source.COMMAND) for text in texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSkill:
    """One skill, with the digest of its whole folder."""

    head: SkillHead
    body: str
    source: SkillSource
    digest: str = ""  # SHA-256 of all files of its folder, hexadecimal
    folder: Path | None = None  # with its files; None: there is no file beside its text

    @property
    def name(self) -> str:
        return self.head.name

    @property
    def is_forked(self) -> bool:
        """Return True if it wants to run in a task beside the conversation."""
        return self.head.context == "fork"

    @property
    def command(self) -> str:
        """Return the name of its command, without the slash."""
        return self.name.replace("-", "_")

    def fill_in(self, arguments: str) -> str:
        """Return the body with the arguments in place of `$ARGUMENTS`, and their words in place of `$1` to `$9`.

        A backslash before a placeholder keeps it as it is. A body without placeholders gets the arguments at its end.
        """
        words = _words_of(arguments)

        def fill(found: re.Match[str]) -> str:
            if found[0].startswith("\\"):
                return found[0][1:]
            return arguments if found[1] is None else dict(enumerate(words, 1)).get(int(found[1]), "")

        if arguments and not any(_placeholders(self.body)):
            return f"{_PLACEHOLDER.sub(fill, self.body)}\n\nArguments: {arguments}"
        return _PLACEHOLDER.sub(fill, self.body)


def _placeholders(body: str) -> list[str]:
    return [found[0] for found in _PLACEHOLDER.finditer(body) if not found[0].startswith("\\")]


def _words_of(arguments: str) -> list[str]:
    """Return the words, with quotes as in a shell; split at spaces if a quote is left open ("don't")."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()


def parse_skill(text: str, folder: str, source: SkillSource, digest: str = "") -> WrittenSkill:
    """Return the skill that this text describes; `folder` is the name of its folder.

    Raises:
        BadSkill: it is no skill.
    """
    try:
        found = read_frontmatter(text)
    except BadFrontmatter as bad:
        raise BadSkill(str(bad)) from None
    head = _read_head({"name": folder} | dict(found.values))
    body = found.body
    if head.name != folder:
        raise BadSkill(f"its name is {head.name!r}, but its folder is called {folder[:80]!r}")
    if not body:
        raise BadSkill("it has no text behind its frontmatter")
    if len(_placeholders(body)) > MAX_PLACEHOLDERS:
        raise BadSkill(f"it has more than {MAX_PLACEHOLDERS} placeholders for arguments")
    return WrittenSkill(head=head, body=body, source=source, digest=digest)


def _read_head(mapping: dict[str, object]) -> SkillHead:
    try:
        return SkillHead.model_validate(mapping)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise BadSkill(f"{key}: {first['msg'].removeprefix('Value error, ')}") from None
