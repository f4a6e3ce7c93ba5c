"""Agent definitions: Markdown files, one an agent. Frontmatter describes it, the body is its prompt."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from agent.frontmatter import BadFrontmatter, read_frontmatter
from agent.permission_rules import Mode
from agent.plain_errors import hint_at, words_of_problem
from agent.skills.folders import BadFile, file_names, read_text
from agent.wellformed import clean, well_formed

MAX_DEFINITION_BYTES = 64_000
MAX_DEFINITIONS = 100
"""Files of one folder; more are an error."""

Line = Annotated[str, Field(min_length=1, max_length=1024)]
ToolPattern = Annotated[str, Field(pattern=r"^[\w*?\[\]!.:-]{1,128}$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition:
    """One agent as its file describes it. None: as the tenant's settings say."""

    name: str  # part of session keys; unique in a tenant
    description: str  # one line for people and for a model that delegates to it
    prompt: str
    tools: tuple[str, ...] | None = None  # names or patterns like mcp__github__*; (): no tools; None: all of the tenant
    model: str | None = None  # name of one of the tenant's models
    mode: Mode | None = None
    steps: int | None = None  # maximum model responses of a turn
    path: Path = Path()
    lines: Mapping[str, int] = field(default_factory=dict, compare=False)  # by key of the frontmatter

    def place(self, key: str = "name") -> str:
        """Return `file:line` of a key."""
        return f"{self.path}:{self.lines.get(key, 1)}"

    def has_tool(self, name: str) -> bool:
        """Return True if the agent gets the tool of this name."""
        return self.tools is None or any(fnmatchcase(name, pattern) for pattern in self.tools)


@dataclass(frozen=True, slots=True)
class FoundDefinitions:
    """The agents of one folder, and what is wrong with its files."""

    agents: tuple[AgentDefinition, ...] = ()  # sorted by name
    flaws: tuple[str, ...] = ()  # a line each: file, line number, reason


class DefinitionHead(BaseModel):
    """The frontmatter of a definition. `-` in a key counts as `_`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")
    description: Line
    tools: tuple[ToolPattern, ...] | None = Field(default=None, max_length=200)
    model: str | None = Field(default=None, min_length=1, max_length=200)
    permission_mode: Mode | None = None
    steps: int | None = Field(default=None, ge=1, le=1000, strict=True)

    @field_validator("description")
    @classmethod
    def _is_one_line(cls, text: str) -> str:
        return clean(text)

    @field_validator("tools", mode="before")
    @classmethod
    def _may_be_one_text(cls, given: object) -> object:
        return tuple(given.replace(",", " ").split()) if isinstance(given, str) else given


class BadDefinition(ValueError):
    """A file describes no agent; the message has a line for each reason, with file and line number."""


def parse_definition(text: str, path: Path) -> AgentDefinition:
    """Return the agent that this text describes; without a name it is called as its file.

    Raises:
        BadDefinition: it describes none.
    """
    try:
        found = read_frontmatter(text)
    except BadFrontmatter as bad:
        raise BadDefinition(f"{path}:{bad.line}: {bad}") from None
    try:
        head = DefinitionHead.model_validate({"name": path.stem} | dict(found.values))
    except ValidationError as error:
        raise BadDefinition("\n".join(_explain(error, path, found.lines))) from None
    if not found.body:
        raise BadDefinition(f"{path}:1: it has no text behind its frontmatter: the prompt is missing")
    return AgentDefinition(
        name=head.name,
        description=head.description,
        prompt=found.body,
        tools=head.tools,
        model=head.model,
        mode=head.permission_mode,
        steps=head.steps,
        path=path,
        lines=found.lines,
    )


def _explain(error: ValidationError, path: Path, lines: Mapping[str, int]) -> Iterable[str]:
    """Yield a line for each wrong key, with the nearest right one."""
    for problem in error.errors():
        key = str(problem["loc"][0])
        place = f"{path}:{lines.get(key, 1)}: {clean(key)[:80]}"
        given = str(problem["input"])[:80]
        if problem["type"] == "extra_forbidden":
            yield f"{place}: there is no such key{hint_at(key, DefinitionHead.model_fields)}"
        elif problem["type"] == "enum":
            yield f"{place}: there is no mode {given!r}{hint_at(given, [mode.value for mode in Mode])}"
        else:
            yield f"{place}: {words_of_problem(problem)}"


def wrong_names(agents: Iterable[AgentDefinition], product: str, models: Sequence[str]) -> Iterator[str]:
    """Yield a line for each agent that has the product's name, and for each model that is none of these."""
    for agent in agents:
        if agent.name == product:
            yield f"{agent.place()}: name: {agent.name!r} is the name of the tenant's own agent (agent.product)"
        if models == ["offline"]:
            yield f"{agent.place()}: the agent {agent.name!r} needs a model: set model.name"
        elif agent.model is not None and agent.model not in models:
            hint = hint_at(agent.model, models)
            yield f"{agent.place('model')}: model: there is no model {agent.model!r} in [model]{hint}"


def read_definitions(folder: Path) -> FoundDefinitions:
    """Return the agents of the `.md` files in this folder, sorted by name; none if it does not exist. It blocks."""
    try:
        files = file_names(folder, (".md",), MAX_DEFINITIONS)
    except (FileNotFoundError, NotADirectoryError):
        return FoundDefinitions()
    except OSError as error:
        return FoundDefinitions(flaws=(f"{folder}: it cannot be read: {error.strerror}",))
    if len(files) > MAX_DEFINITIONS:
        return FoundDefinitions(flaws=(f"{folder}: it has more than {MAX_DEFINITIONS} agents",))
    agents: dict[str, AgentDefinition] = {}
    flaws: list[str] = []
    for name in files:
        path = folder / name
        try:
            made = parse_definition(read_text(path, folder, MAX_DEFINITION_BYTES), path)
        except BadDefinition as bad:
            flaws.append(str(bad))
        except BadFile as bad:
            flaws.append(f"{well_formed(str(path))}:1: {bad}")
        else:
            if (other := agents.setdefault(made.name, made)) is not made:
                flaws.append(f"{made.place()}: the agent {made.name!r} is described already in {other.place()}")
    return FoundDefinitions(tuple(agents[name] for name in sorted(agents)), tuple(flaws))
