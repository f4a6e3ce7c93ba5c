"""The tool `memory`: bad input is refused with what to do, and what others said is asked first."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from agent.memory.memory import Memory, MemoryOrigin
from agent.memory.tools import MemoryCall, memory_tools
from agent.ports import Change, LocalEffect, Principal
from agent.tools.base import Effect, ToolContext, ToolError

NOW = datetime(2026, 11, 28, 23, 30, tzinfo=UTC)
ADA = Principal("ada", "default", timezone="Asia/Tokyo")
SAVE = {
    "action": "save",
    "name": "mornings",
    "type": "user",
    "description": "Practises best in the morning",
    "body": "Mornings are best.",
}


class NotedWrites:
    """A writer that notes what it is asked for."""

    def save(self, change: Change, memory: Memory) -> Mapping[str, object]:
        return {"saved": memory}

    def change(self, change: Change, memory: Memory) -> Mapping[str, object]:
        return {"changed": memory}

    def forget(self, change: Change, name: str) -> Mapping[str, object]:
        return {"forgotten": name}


(TOOL,) = memory_tools(NotedWrites())


def context(principal: Principal = ADA, *, others: bool = False) -> ToolContext:
    return ToolContext(principal, NOW, "turn/0/0", has_read_others=lambda: others)


async def written(context: ToolContext, **changed: Any) -> Mapping[str, Any]:
    arguments = MemoryCall(**{**SAVE, **changed})
    assert TOOL.validate is not None
    TOOL.validate(context, arguments)
    effect = await TOOL.run(context, arguments)
    assert isinstance(effect, LocalEffect)
    assert Effect.LOCAL is TOOL.effect
    result = effect.run(Change(None, context.principal, context.call_key, NOW))
    assert isinstance(result, Mapping)
    return result


async def test_a_memory_is_written_with_its_origin() -> None:
    memory = (await written(context()))["saved"]
    assert (MemoryOrigin.SAID, "turn/0/0", NOW) == (memory.origin, memory.source, memory.created_at)
    assert MemoryOrigin.OUTSIDE is (await written(context(others=True), action="change"))["changed"].origin
    assert {"forgotten": "mornings"} == await written(
        context(), action="forget", type=None, description=None, body=None
    )


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"body": None}, "give its type, description and body"),
        ({"type": "feedback"}, 'needs a line that begins with "Why:"'),
        ({"type": "project", "body": "Bach.\nWhy: fun."}, 'needs a line that begins with "How to apply:"'),
        ({"body": "The concert is tomorrow."}, "in place of 'tomorrow'"),
        ({"body": "The concert is next Friday."}, "in place of 'next Friday'"),
        ({"description": "Started two weeks ago"}, "Today is Sunday 2026-11-29."),
        ({"body": "El concierto es la próxima semana."}, "in place of 'próxima semana'"),
        ({"body": "Empezó ayer."}, "in place of 'ayer'"),
    ],
)
async def test_what_means_nothing_later_is_refused(changed: Mapping[str, Any], why: str) -> None:
    with pytest.raises(ToolError, match=why):
        await written(context(), **changed)


@pytest.mark.parametrize("body", ["Practica mejor por la mañana.", "Wakes at 6; the concert is on 2027-06-01."])
async def test_words_that_keep_their_meaning_are_kept(body: str) -> None:
    assert body == (await written(context(), body=body))["saved"].body


async def test_in_a_group_nothing_is_written() -> None:
    group = Principal("ada", "default", in_group=True)
    with pytest.raises(ToolError, match="In a group nothing is remembered"):
        await written(context(group), action="forget")


async def test_what_others_may_have_said_is_asked_whole_and_each_time() -> None:
    arguments = MemoryCall(**SAVE)
    assert TOOL.permission is not None
    assert ["passthrough", "ask"] == [TOOL.permission(context(others=others), arguments) for others in (False, True)]
    assert TOOL.asks_each_time
    with pytest.raises(ToolError, match="at most 280 characters"):
        await written(context(others=True), body="x" * 281)
