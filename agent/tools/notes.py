"""Two tools for a model's own work: `think`, a note to itself, and `todo`, a list that its person sees tick.

Neither changes anything. The list of a turn is the result of its last `todo` in the journal.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from agent.catalogue import escape
from agent.tools.base import Effect, Tool, ToolContext, tool, tools_of
from agent.tools.notes_config import NotesConfig
from agent.wellformed import clean


class Thought(BaseModel):
    """The arguments of `think`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    thought: str = Field(max_length=8_000)


class StepState(StrEnum):
    """The state of one step."""

    OPEN = "open"
    DOING = "doing"
    DONE = "done"


class TodoStep(BaseModel):
    """One step of the work."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    text: Annotated[str, Field(min_length=1, max_length=100)]
    state: StepState = StepState.OPEN


class TodoList(BaseModel):
    """The arguments of `todo`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    steps: tuple[TodoStep, ...] = Field(min_length=1, max_length=15)


MARKS: Mapping[StepState, str] = {StepState.OPEN: "☐", StepState.DOING: "▸", StepState.DONE: "☑"}


class Notes:
    """The tools."""

    @tool(Thought, effect=Effect.NONE, concurrency_safe=True, says="tool.think", own_words=True)
    async def think(self, context: ToolContext, arguments: Thought) -> object:
        """Write a note to yourself, to weigh results and rules before you act. Nothing happens."""
        return {}

    @tool(TodoList, effect=Effect.NONE, own_words=True)
    async def todo(self, context: ToolContext, arguments: TodoList) -> object:
        """Keep a list of the steps of longer work: give the whole list each time a step begins or is done. The person
        sees it while you work.
        """
        context.pin("tool.todo", steps=list_text(arguments.steps))
        return {"left": sum(step.state is not StepState.DONE for step in arguments.steps)}


def list_text(steps: Sequence[TodoStep]) -> str:
    """Return the steps as Markdown, one a line."""
    return "\n".join(f"- {MARKS[step.state]} {escape(clean(step.text))}" for step in steps)


def note_tools(config: NotesConfig) -> tuple[Tool, ...]:
    """Return the tools that are switched on."""
    return tuple(each for each in tools_of(Notes()) if getattr(config, each.name))
