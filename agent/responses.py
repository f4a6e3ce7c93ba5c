"""The six kinds of a model's response as a tagged union; `loop` and `recovery` act on them."""

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
    """A response without text, or only with thinking."""

    response: ModelResponded


@dataclass(frozen=True, slots=True)
class Truncated:
    """A response that was cut at the output cap; its last call may be incomplete, so none of them runs."""

    response: ModelResponded


@dataclass(frozen=True, slots=True)
class RefusedAnswer:
    """A response that the provider's filter stopped."""

    response: ModelResponded


@dataclass(frozen=True, slots=True)
class Malformed:
    """A response that announces tool calls and has none."""

    response: ModelResponded


Response = ToolCalls | Text | Empty | Truncated | RefusedAnswer | Malformed

_THINKING = re.compile(r"<(think|thinking)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)


def classify(response: ModelResponded) -> Response:
    """Return the kind of this response; a cut or a refusal goes before the rest of its content."""
    if response.stop is StopReason.LENGTH:
        return Truncated(response)
    if response.stop is StopReason.REFUSED:
        return RefusedAnswer(response)
    if response.tool_calls:
        return ToolCalls(response)
    if response.stop is StopReason.TOOLS:
        return Malformed(response)
    if not _THINKING.sub("", response.text).strip():
        return Empty(response)
    return Text(response)


def at_most(response: ModelResponded, calls: int) -> ModelResponded:
    """Return the response with its first calls and the number of those left out, of which the model is told (F37)."""
    surplus = len(response.tool_calls) - calls
    if surplus <= 0:
        return response
    return replace(response, tool_calls=response.tool_calls[:calls], calls_left_out=response.calls_left_out + surplus)


def with_own_ids(
    response: ModelResponded, step: int, used: AbstractSet[str], turn_id: str, took_s: float | None = None
) -> ModelResponded:
    """Return the response with this step's number and unique ids of all its calls (F36)."""
    taken = set(used)
    calls: list[ToolCall] = []
    for index, call in enumerate(response.tool_calls):
        id_ = call.id
        if not id_ or id_ in taken:
            id_ = f"call_{turn_id[-12:]}_{step}_{index}"
        taken.add(id_)
        calls.append(call if id_ == call.id else replace(call, id=id_))
    return replace(response, step=step, tool_calls=tuple(calls), took_s=took_s)
