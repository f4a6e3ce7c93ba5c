"""A model's response is one of six kinds, a tagged union; `loop` and `recovery` decide what follows."""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from agent.transcript import ModelResponded, StopReason, ToolCall


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """A response that calls tools."""

    response: ModelResponded


@dataclass(frozen=True, slots=True)
class Text:
    """A response that answers."""

    response: ModelResponded


@dataclass(frozen=True, slots=True)
class Empty:
    """It says nothing, or only thinks aloud."""

    response: ModelResponded


@dataclass(frozen=True, slots=True)
class Truncated:
    """It was cut at the output cap; its last call, if any, may be half a call, so none of them runs."""

    response: ModelResponded


@dataclass(frozen=True, slots=True)
class Refused:
    """The provider's filter stopped it."""

    response: ModelResponded


@dataclass(frozen=True, slots=True)
class Malformed:
    """It says that it calls tools and names none."""

    response: ModelResponded


Response = ToolCalls | Text | Empty | Truncated | Refused | Malformed

_THINKING = re.compile(r"<(think|thinking)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)


def classify(response: ModelResponded) -> Response:
    """Return the one kind this response is of; a cut and a refusal count before what came with them."""
    if response.stop is StopReason.LENGTH:
        return Truncated(response)
    if response.stop is StopReason.REFUSED:
        return Refused(response)
    if response.tool_calls:
        return ToolCalls(response)
    if response.stop is StopReason.TOOLS:
        return Malformed(response)
    if not _THINKING.sub("", response.text).strip():
        return Empty(response)
    return Text(response)


def at_most(response: ModelResponded, calls: int) -> ModelResponded:
    """Return the response with its first calls; how many are left out stays with it, so that the model can be
    told (F37).
    """
    surplus = len(response.tool_calls) - calls
    if surplus <= 0:
        return response
    return replace(response, tool_calls=response.tool_calls[:calls], calls_left_out=response.calls_left_out + surplus)


def with_own_ids(
    response: ModelResponded, step: int, used: AbstractSet[str], turn_id: str, took_s: float | None = None
) -> ModelResponded:
    """Return the response as this step's, every call id present and seen for the first time (F36)."""
    taken = set(used)
    calls: list[ToolCall] = []
    for index, call in enumerate(response.tool_calls):
        id_ = call.id
        if not id_ or id_ in taken:
            id_ = f"call_{turn_id[-12:]}_{step}_{index}"
        taken.add(id_)
        calls.append(call if id_ == call.id else replace(call, id=id_))
    return replace(response, step=step, tool_calls=tuple(calls), took_s=took_s)
