"""The tools by which a model uses skills: `skill` loads one, `skill_search` finds one that the prompt does not list."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from agent.permission_rules import BadRule
from agent.ports import Principal
from agent.skills.library import MAX_LISTED, Library, describe
from agent.skills.skill import MAX_ARGUMENTS_CHARS, WrittenSkill, allow_rules
from agent.tools.base import Effect, Tool, ToolContext, ToolError, TurnGrant, tool, tools_of

SKILL = "skill"
SKILL_SEARCH = "skill_search"

LibraryOf = Callable[[Principal], Library]
"""Returns the skills that a person can use now."""


RunInFork = Callable[[ToolContext, WrittenSkill, str], Awaitable[object | None]]
"""Gives the text of a skill to a task beside the conversation; returns its result, as the tool `skill` has to return
it, or None if the agent can give no tasks.
"""


async def run_in_no_fork(_context: ToolContext, _skill: WrittenSkill, _text: str) -> None:
    """Return None: the agent can give no tasks."""


class WhichSkill(BaseModel):
    """The arguments of `skill`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(max_length=64)
    arguments: str = Field("", max_length=MAX_ARGUMENTS_CHARS, description="What it is about, in the person's words.")


class SkillQuery(BaseModel):
    """The arguments of `skill_search`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    query: str = Field(max_length=500, description="Words of what should be done.")


def read_grant(data: Mapping[str, object]) -> TurnGrant:
    """Return what the result of `skill` changes for the rest of its turn."""
    allowed, model = data.get("allowed_tools"), data.get("model")
    try:
        rules = allow_rules(tuple(map(str, allowed))) if isinstance(allowed, list) else ()
    except BadRule:
        rules = ()
    return TurnGrant(rules, model if isinstance(model, str) else None)


class SkillTools:
    """The tools of one tenant's skills."""

    def __init__(self, library_of: LibraryOf, run_in_fork: RunInFork = run_in_no_fork, started: str = "") -> None:
        """Take the name of the skill that the person started with a command (`started`); the model may load it."""
        self._library_of = library_of
        self._run_in_fork = run_in_fork
        self._started = started

    @tool(WhichSkill, effect=Effect.NONE, says="tool.skill", grants=read_grant)
    async def skill(self, context: ToolContext, arguments: WhichSkill) -> object:
        """Load one of your skills, a written procedure, and follow it."""
        library = self._library_of(context.principal)
        found = library.find(arguments.name.strip().lower())
        if found is None:
            names = ", ".join(skill.name for skill in library.offered[:MAX_LISTED]) or "none"
            raise ToolError(f"There is no skill {arguments.name!r}. There are: {names}.")
        if not found.head.model_invocable and found.name != self._started:
            raise ToolError(f"Only the person can start {found.name}, with /{found.command}.")
        text = found.fill_in(arguments.arguments)
        if found.is_forked and (forked := await self._run_in_fork(context, found, text)) is not None:
            return forked
        result: dict[str, object] = {"skill": found.name, "instructions": text}
        if found.head.allowed_tools:
            result["allowed_tools"] = list(found.head.allowed_tools)
        if found.head.model is not None:
            result["model"] = found.head.model
        return result

    @tool(SkillQuery, effect=Effect.NONE, concurrency_safe=True)
    async def skill_search(self, context: ToolContext, arguments: SkillQuery) -> Mapping[str, object]:
        """Find a skill of yours that is not listed."""
        found = self._library_of(context.principal).search(arguments.query)
        if not found:
            raise ToolError("No skill has these words. Try others, or go on without one.")
        return {"skills": [describe(skill) for skill in found]}


def skill_tools(library_of: LibraryOf, *, searchable: bool, run_in_fork: RunInFork = run_in_no_fork) -> Sequence[Tool]:
    """Return `skill`, and `skill_search` if more skills may exist than a prompt lists."""
    made = tools_of(SkillTools(library_of, run_in_fork))
    return tuple(each for each in made if searchable or each.name == SKILL)


def with_started(
    tools: Sequence[Tool], library_of: LibraryOf, started: str, run_in_fork: RunInFork = run_in_no_fork
) -> tuple[Tool, ...]:
    """Return the tools with a `skill` that loads the started skill, too."""
    run = SkillTools(library_of, run_in_fork, started).skill
    return tuple(replace(each, run=run) if each.name == SKILL and each.grants is read_grant else each for each in tools)
