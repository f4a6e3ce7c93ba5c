"""A case: what a person says to an agent, the results that its tools give, and the rules that its answers keep."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal, Self

import regex
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, field_validator, model_validator

MAX_MESSAGES = 100
MAX_RULES = 50
MAX_FIXTURES = 1_000

Text = Annotated[str, Field(min_length=1, max_length=100_000)]
ToolName = Annotated[str, Field(pattern=r"^[\w:.-]{1,128}$")]


def _as_tuple(given: object) -> object:
    """Accept a single value in place of a list."""
    return given if isinstance(given, list | tuple) else (given,)


def _as_called(given: object) -> object:
    """Accept the name of a tool in place of a call."""
    found = given if isinstance(given, list | tuple) else (given,)
    return tuple({"tool": each} if isinstance(each, str) else each for each in found)


def _as_message(given: object) -> object:
    """Accept texts in place of messages."""
    if not isinstance(given, list | tuple):
        return given
    return tuple({"text": each} if isinstance(each, str) else each for each in given)


class CalledTool(BaseModel):
    """A call that a rule is about: of this tool, with at least these arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool: ToolName
    arguments: Mapping[str, JsonValue] = Field(default_factory=dict)
    """A part of the call's arguments."""


Texts = Annotated[tuple[Text, ...], BeforeValidator(_as_tuple), Field(max_length=MAX_RULES)]
Calls = Annotated[tuple[CalledTool, ...], BeforeValidator(_as_called), Field(max_length=MAX_RULES)]


class CaseRules(BaseModel):
    """Conditions for one turn, or for all turns of a case together."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    contains: Texts = ()
    """Texts in the answer, case and kinds of blanks aside."""
    not_contains: Texts = ()
    """Texts that are not in the answer."""
    matches: Texts = ()
    """Regular expressions, each found somewhere in the answer."""
    calls: Calls = ()
    """Calls that the agent makes."""
    does_not_call: Calls = ()
    """Calls that the agent does not make."""
    max_steps: int | None = Field(default=None, ge=0, le=10_000, strict=True)
    """Most responses of the model."""
    max_cost: float | None = Field(default=None, ge=0)
    """Most USD that the model's responses cost; one without a price breaks the rule."""
    max_seconds: float | None = Field(default=None, gt=0, le=3600)
    """Most seconds from the message to the end of its turn."""
    language: Annotated[str, Field(pattern=r"^[a-z]{2}$")] | None = None
    """Language of the answer, of those that the agent recognises."""

    @field_validator("matches")
    @classmethod
    def _can_be_compiled(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                regex.compile(pattern)
            except regex.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
        return patterns


class Message(BaseModel):
    """A message of the person, and the rules for the turn that answers it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Text
    at: datetime | None = None
    """The time when it is said; without an offset in the gateway's zone. None: the time of the message before."""
    rules: CaseRules = CaseRules()


class Fixture(BaseModel):
    """The result of a tool, in place of its run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool: ToolName
    arguments: Mapping[str, JsonValue] | None = None
    """A part of the call's arguments; None: any call."""
    result: JsonValue = None
    """Data of a call that succeeds."""
    error: Text | None = None
    """Message of a call that fails."""

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if self.error is not None and self.result is not None:
            raise ValueError("a fixture has a result or an error, not both")
        return self


class Case(BaseModel):
    """One case."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[\w][\w .-]{0,79}$")
    agent: str | None = Field(default=None, min_length=1, max_length=100)
    """One of the configuration's agents; None: the configuration's own."""
    model: str | None = Field(default=None, min_length=1, max_length=200)
    """Model that answers; None: the configuration's."""
    prompt: Text | None = None
    """Text in place of the agent's identity and persona; the other parts of its prompt stay."""
    date: datetime | None = None
    """Time when the first message is said, at which the agent's clock stands; None: now, and the clock runs."""
    language: Literal["en", "es"] | None = None
    """Language of the person; None: the configuration's."""
    before: tuple[Text, ...] = Field(default=(), max_length=MAX_MESSAGES)
    """Commands of the agent that make the state before the first message."""
    messages: Annotated[tuple[Message, ...], BeforeValidator(_as_message)] = Field(
        min_length=1, max_length=MAX_MESSAGES
    )
    fixtures: tuple[Fixture, ...] = Field(default=(), max_length=MAX_FIXTURES)
    """Results of tools. A tool that is named here never runs, nor does one with effects outside the database."""
    rules: CaseRules = CaseRules()
    """Rules for all turns together: their answers one below the other, their calls, their sums."""
    judge: Text | None = None
    """Question about the conversation that a model answers with yes; None: no model is asked."""

    @field_validator("before")
    @classmethod
    def _are_commands(cls, said: tuple[str, ...]) -> tuple[str, ...]:
        for text in said:
            if not text.startswith("/"):
                raise ValueError(f"{text[:80]!r} is no command: it has to begin with /")
        return said

    @model_validator(mode="after")
    def _passes_no_time_back(self) -> Self:
        stated = [each.at for each in self.messages if each.at is not None]
        times = [each.replace(tzinfo=None) for each in (self.date, *stated) if each is not None]
        if stated and self.date is None:
            raise ValueError("messages with `at` need a `date` for the first one")
        if times != sorted(times):
            raise ValueError("the times of the messages go back")
        return self
