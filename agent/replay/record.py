"""The calls of a recorded turn, and tools that answer from them instead of running."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.journal import whole_result
from agent.tools.base import Tool, ToolContext, ToolError
from agent.tools.schema import Arguments, BadArguments, read, to_json
from agent.transcript import NO_RESULT, WITHHELD, CallOutcome, JournalEvent, ModelResponded, ToolReturned
from agent.wellformed import read_object

NOT_RECORDED = (
    "This call is not in the record, so it was not run and there is no result. Go on with the results that you have."
)
"""The result of a call that the record does not have."""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call and its result."""

    name: str
    arguments: str  # JSON as the model wrote it
    content: str  # JSON object {"success", "data", "error"}, as hooks left it, before it was shortened
    outcome: CallOutcome = CallOutcome.DONE


def recorded_calls(turn_id: str, events: Sequence[JournalEvent]) -> tuple[RecordedCall, ...]:
    """Return the calls of a turn in the order in which the model made them."""
    returned = {event.call_key: event for event in events if isinstance(event, ToolReturned)}
    calls: list[RecordedCall] = []
    for response in (event for event in events if isinstance(event, ModelResponded)):
        for index, call in enumerate(response.tool_calls):
            key = f"{turn_id}/{response.step}/{index}"
            raw = returned.get(key)
            content = whole_result(events, key) or (NO_RESULT if raw is None else WITHHELD)
            outcome = CallOutcome.UNKNOWN if raw is None else raw.outcome
            calls.append(RecordedCall(call.name, call.arguments, content, outcome))
    return tuple(calls)


class RecordedResults:
    """The results of recorded calls for another run: the n-th of equal calls gets the n-th result.

    Two calls are equal if their tools are the same and their arguments are, after the tool's schema has read both.
    """

    def __init__(self, calls: Iterable[RecordedCall]) -> None:
        self._left = list(calls)
        self.missing: set[str] = set()
        """The keys of calls that the record does not have."""

    def answer_for(self, tools: Sequence[Tool]) -> tuple[Tool, ...]:
        """Return the tools as the model sees them; each answers from the record, and none runs."""
        return tuple(self._answering(tool) for tool in tools)

    def _answering(self, tool: Tool) -> Tool:
        async def answer(context: ToolContext, arguments: Arguments) -> object:
            return self._answer(tool, context.call_key, arguments)

        return replace(
            tool,
            run=answer,
            read_only=False,  # calls run after their response and in order, so that the n-th call is the n-th
            validate=None,
            permission=None,
            backfill=None,
            output_schema=None,
        )

    def _answer(self, tool: Tool, call_key: str, arguments: Arguments) -> object:
        found = self.take(tool, arguments)
        if found is None:
            self.missing.add(call_key)
            raise ToolError(NOT_RECORDED)
        result = read_object(found.content) or {}
        data = result.get("data")
        if result.get("success"):
            return data
        raise ToolError(str(result.get("error")), data if isinstance(data, Mapping) else None)

    def take(self, tool: Tool, arguments: Arguments) -> RecordedCall | None:
        """Return the recorded call that answers this one, which is used up; None if there is none."""
        wanted = canonical(arguments)
        found = next((call for call in self._left if _is_of(call, tool) and arguments_of(call, tool) == wanted), None)
        if found is not None:
            self._left.remove(found)
        return found


def _is_of(call: RecordedCall, tool: Tool) -> bool:
    return call.name == tool.name or call.name in tool.aliases


def arguments_of(call: RecordedCall, tool: Tool) -> str | None:
    """Return the arguments of a recorded call; None if the tool's schema does not take them."""
    try:
        return canonical(read(call.arguments, tool.arguments)[0])
    except BadArguments:
        return None


def canonical(arguments: Arguments) -> str:
    """Return arguments as JSON text that is the same for equal ones."""
    return json.dumps(json.loads(to_json(arguments)), sort_keys=True)
