"""The tool `memory`, by which a model writes down what later conversations should know."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Protocol

from pydantic import BaseModel, ConfigDict, Field

from agent.calendar import today_of
from agent.memory.dates import find_relative_date
from agent.memory.files import BadMemory, check_body, visible_text
from agent.memory.memory import MAX_BODY_CHARS, MAX_DESCRIPTION_CHARS, Memory, MemoryOrigin, MemoryType
from agent.ports import Change, LocalEffect
from agent.tools.base import Effect, Tool, ToolContext, ToolError, tool, tools_of
from agent.wellformed import clean

MAX_ASKED_CHARS = 280
"""Longest text of a memory that the person is asked about first, so that the question shows all of it."""


class MemoryAction(StrEnum):
    """The actions of the tool."""

    SAVE = "save"
    CHANGE = "change"
    FORGET = "forget"


class MemoryCall(BaseModel):
    """The arguments of `memory`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    action: MemoryAction
    name: Annotated[
        str,
        Field(
            pattern=r"^[a-z0-9][a-z0-9-]{0,63}$",
            description="Short name in lower case, words joined by '-'; of an existing memory to change or forget it.",
        ),
    ]
    type: MemoryType | None = Field(
        None,
        description="user: who they are; feedback: how they want to be helped; project: what they work on, until when, "
        "under which constraints; reference: where something is found.",
    )
    description: str | None = Field(
        None, max_length=MAX_DESCRIPTION_CHARS, description="One line that tells later if it matters to a message."
    )
    body: str | None = Field(
        None,
        max_length=MAX_BODY_CHARS,
        description='The fact itself. For feedback and project also a line "Why: ..." and a line "How to apply: ...".',
    )


class MemoryWriter(Protocol):
    """Functions that change a person's memories, in the transaction of a `Change`.

    Each returns data for the model, and raises ToolError if it cannot be done.
    """

    def save(self, change: Change, memory: Memory) -> Mapping[str, object]:
        """Add a memory."""
        ...

    def change(self, change: Change, memory: Memory) -> Mapping[str, object]:
        """Change the memory of this name."""
        ...

    def forget(self, change: Change, name: str) -> Mapping[str, object]:
        """Delete the memory of this name."""
        ...


class MemoryTools:
    """The tool of one tenant."""

    def __init__(self, writer: MemoryWriter) -> None:
        self._writer = writer

    def _check(self, context: ToolContext, arguments: MemoryCall) -> None:
        """Refuse what must not be kept."""
        if context.principal.in_group:
            raise ToolError("In a group nothing is remembered or forgotten: ask the person to say it in a direct chat.")
        if arguments.action is not MemoryAction.FORGET:
            _check_words(context, arguments)

    def _permit(self, context: ToolContext, arguments: MemoryCall) -> str:
        """Ask the person if others' words may have led to this call."""
        return "ask" if context.has_read_others() else "passthrough"

    @tool(
        MemoryCall,
        effect=Effect.LOCAL,
        says="tool.memory",
        own_words=True,
        asks_each_time=True,
        validate=_check,
        permission=_permit,
    )
    async def memory(self, context: ToolContext, arguments: MemoryCall) -> LocalEffect:
        """Remember for later conversations with this person: save a new memory, change one, or forget one. Save what
        they tell of themselves, their goals and constraints, what helped them, and how they want to be helped; not what
        other data of yours has already, nor what only matters now. Change a memory that is no longer right instead of
        saving a second one. Write absolute dates. Never save passwords or keys.
        """
        if arguments.action is MemoryAction.FORGET:
            return LocalEffect(self._writer.forget, arguments.name)
        type_, description, body = _words_of(arguments)
        memory = Memory(
            name=arguments.name,
            type=type_,
            description=clean(description),
            body=visible_text(body),
            origin=MemoryOrigin.OUTSIDE if context.has_read_others() else MemoryOrigin.SAID,
            source=context.call_key,
            created_at=context.now,
            updated_at=context.now,
        )
        write = self._writer.save if arguments.action is MemoryAction.SAVE else self._writer.change
        return LocalEffect(write, memory)


def _words_of(arguments: MemoryCall) -> tuple[MemoryType, str, str]:
    """Return type, description and text of a memory.

    Raises:
        ToolError: one of them is missing.
    """
    if arguments.type is None or not arguments.description or not arguments.body:
        raise ToolError(f"To {arguments.action.value} a memory, give its type, description and body.")
    return arguments.type, arguments.description, arguments.body


def _check_words(context: ToolContext, arguments: MemoryCall) -> None:
    type_, description, body = _words_of(arguments)
    try:
        check_body(type_, body)
    except BadMemory as bad:
        raise ToolError(f"It was not kept: {bad}.") from None
    if found := find_relative_date(f"{description}\n{body}"):
        today = _day(context)
        raise ToolError(f"It was not kept: write a date in place of {found!r}, which means nothing later. {today}")
    if context.has_read_others() and len(body) > MAX_ASKED_CHARS:
        raise ToolError(
            f"Texts of others were read in this conversation, so the person is asked first and has to read all of it: "
            f"say it in at most {MAX_ASKED_CHARS} characters."
        )


def _day(context: ToolContext) -> str:
    now: datetime = context.now
    return f"Today is {today_of(context.principal, now):%A %Y-%m-%d}."


def memory_tools(writer: MemoryWriter) -> tuple[Tool, ...]:
    """Return the tool."""
    return tools_of(MemoryTools(writer))
