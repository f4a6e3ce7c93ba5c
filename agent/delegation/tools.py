"""The tools by which a model gives tasks to agents, writes to them and stops them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Protocol

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from agent.delegation.agent_types import GENERAL
from agent.delegation.tasks import GivenTask
from agent.ports import Change, LocalEffect
from agent.tools.base import Awaited, Effect, ToolContext, ToolError, tool

MAX_PROMPT_CHARS = 50_000
MAX_MESSAGE_CHARS = 10_000

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class TaskGiven(BaseModel):
    """The arguments of `agent`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    description: Words = Field(max_length=100, description="The task in three to six words.")
    prompt: Words = Field(
        max_length=MAX_PROMPT_CHARS, description="The whole task: what is known, what is wanted, in which form."
    )
    subagent_type: str = Field(GENERAL, max_length=64, description="Name of an agent.")
    model: str | None = Field(None, max_length=200, description="Another model, by name.")
    run_in_background: bool = Field(False, description="Go on at once; the result comes later as a task notification.")


class MessageTo(BaseModel):
    """The arguments of `send_message`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    to: str = Field(
        max_length=64, description='A running task of yours; from a task "parent" or a task beside it; "*": all.'
    )
    text: Words = Field(max_length=MAX_MESSAGE_CHARS)


class OwnTask(BaseModel):
    """The arguments of `task_stop`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    task: str = Field(max_length=64)


class TaskDesk(Protocol):
    """The tasks of a tenant. Its changes are local effects, which raise ToolError if they are refused."""

    @property
    def types(self) -> Mapping[str, str]:
        """Return the types of agents with their descriptions."""
        ...

    @property
    def models(self) -> Sequence[str]:
        """Return the names of the models that a task may have."""
        ...

    async def result_of(self, call_key: str) -> Mapping[str, object] | None:
        """Return the result of the task that a call has begun; None if it runs, or was not begun."""
        ...

    def begin(self, change: Change, task: GivenTask) -> Mapping[str, object]:
        """Begin a task, once for each call key."""
        ...

    def send(self, change: Change, to: str, text: str) -> Mapping[str, object]:
        """Send a message to a running task of the caller, to its parent or to a task beside it; `*`: to all."""
        ...

    def stop(self, change: Change, label: str) -> Mapping[str, object]:
        """Stop a running task of the caller."""
        ...


class DelegationTools:
    """The tools of one tenant's tasks."""

    def __init__(self, desk: TaskDesk) -> None:
        self._desk = desk

    @tool(TaskGiven, effect=Effect.LOCAL, read_only=True, concurrency_safe=True, says="tool.agent")
    async def agent(self, context: ToolContext, arguments: TaskGiven) -> object:
        """Give a task to an agent of its own and get its result. Several calls in one response run side by side."""
        types, models = self._desk.types, self._desk.models
        if arguments.subagent_type not in types:
            raise ToolError(f"There is no agent {arguments.subagent_type!r}. There are: {', '.join(types)}.")
        if arguments.model is not None and arguments.model not in models:
            raise ToolError(f"There is no model {arguments.model!r}. There are: {', '.join(models)}.")
        task = GivenTask(
            description=arguments.description,
            prompt=arguments.prompt,
            type=arguments.subagent_type,
            model=arguments.model,
            in_background=arguments.run_in_background,
        )
        begin = LocalEffect(self._desk.begin, task)
        if arguments.run_in_background:
            return begin
        ended = await self._desk.result_of(context.call_key)
        return Awaited(begin) if ended is None else ended

    @tool(MessageTo, effect=Effect.LOCAL, says="tool.send_message")
    async def send_message(self, context: ToolContext, arguments: MessageTo) -> LocalEffect:
        """Send a message to a running task; from a task to the agent that gave it, or to the tasks beside it. It is
        read between two steps.
        """
        return LocalEffect(self._desk.send, arguments.to, arguments.text)

    @tool(OwnTask, effect=Effect.LOCAL, says="tool.task_stop")
    async def task_stop(self, context: ToolContext, arguments: OwnTask) -> LocalEffect:
        """Stop a running task of yours. What it has done so far stays."""
        return LocalEffect(self._desk.stop, arguments.task)
