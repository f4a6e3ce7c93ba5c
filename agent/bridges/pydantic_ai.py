"""Agents of Pydantic AI: the history is ours, its tools with `requires_approval` ask the person.

An agent gets its person as `deps`, an `agent.ports.Principal`.
"""

from collections.abc import AsyncGenerator

from pydantic_ai import (
    BinaryContent,
    CallToolsNode,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolResultEvent,
    ModelRequestNode,
    PartDeltaEvent,
    PartStartEvent,
    TextPartDelta,
    ToolDenied,
)
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.run import AgentRun

from agent.bridges.port import Exchange, ForeignEvent, NeedsApproval, Responded, Returned, output_text
from agent.bridges.table import load_object
from agent.errors import FailureKind
from agent.models.openai_format import note_text, spoken_text
from agent.ports import ModelFailure, Principal, TextDelta
from agent.transcript import AssistantItem, NoteItem, ToolCall, ToolItem, Usage, UserItem

_KINDS: tuple[tuple[type[ModelAPIError], FailureKind], ...] = (
    (ModelQuotaExceededError, FailureKind.QUOTA),
    (ModelRateLimitError, FailureKind.RATE_LIMIT),
    (ModelAuthenticationError, FailureKind.AUTH),
    (ModelOverloadedError, FailureKind.OVERLOADED),
    (ModelContextWindowExceededError, FailureKind.CONTEXT),
)


def connect(name: str, place: str) -> "PydanticAgent":
    """Return the agent at `MODULE:AGENT`.

    Raises:
        UnusableAgent: there is no agent of Pydantic AI.
    """
    agent = load_object(place, AbstractAgent, "agent of Pydantic AI")  # type: ignore[type-abstract]  # only compared
    return PydanticAgent(name, agent)


class PydanticAgent:
    """An agent of Pydantic AI."""

    steers = True
    keeps_state = False

    def __init__(self, name: str, agent: "AbstractAgent[Principal, object]") -> None:
        self.name = name
        self.title = agent.name or ""
        self._agent = agent

    async def run(self, exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        """Yield the steps of a run over the whole history; see `ForeignAgent`."""
        try:
            async with self._agent.iter(
                None,
                message_history=history_of(exchange),
                deferred_tool_results=_results(exchange),
                deps=exchange.principal,
                instructions="\n\n".join(filter(None, (exchange.hints, exchange.memory))) or None,
                conversation_id=exchange.conversation or None,
            ) as run:
                async for event in _events(run):
                    yield event
        except ModelTimeoutError as late:
            raise ModelFailure(FailureKind.TIMEOUT, str(late)) from late
        except ModelAPIError as refused:
            kind = next((kind for error, kind in _KINDS if isinstance(refused, error)), FailureKind.SERVER)
            raise ModelFailure(kind, str(refused)) from refused


async def _events(run: "AgentRun[Principal, object]") -> AsyncGenerator[ForeignEvent, None]:
    async for node in run:
        if isinstance(node, ModelRequestNode):
            async with node.stream(run.ctx) as stream:
                async for event in stream:
                    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart) and event.part.content:
                        yield TextDelta(event.part.content)
                    elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                        yield TextDelta(event.delta.content_delta)
        elif isinstance(node, CallToolsNode):
            response = node.model_response
            if calls := tuple(_call(part) for part in response.parts if isinstance(part, ToolCallPart)):
                yield Responded(response.text or "", calls, _usage(response), response.model_name or "")
            async with node.stream(run.ctx) as returning:
                async for event in returning:
                    if isinstance(event, FunctionToolResultEvent):
                        yield Returned(event.part.tool_call_id, event.part.content, event.part.outcome != "success")
    assert run.result is not None, "it has ended"
    output = run.result.output
    if isinstance(output, DeferredToolRequests):
        for part in output.approvals:
            yield NeedsApproval(part.tool_call_id)
        return
    last = run.result.response
    yield Responded(output_text(output), (), _usage(last), last.model_name or "")


def history_of(exchange: Exchange) -> list[ModelMessage]:
    """Return the conversation as messages of Pydantic AI."""
    messages: list[ModelMessage] = []
    part: UserPromptPart | ToolReturnPart
    for item in exchange.items:
        match item:
            case UserItem():
                seen = [BinaryContent(content, media_type=mime) for mime, content in exchange.pictures_of(item)]
                part = UserPromptPart([*seen, spoken_text(item)] if seen else spoken_text(item))
            case NoteItem():
                part = UserPromptPart(note_text(item))
            case ToolItem():
                part = ToolReturnPart(item.name, item.content, item.call_id)
            case AssistantItem():
                said = [TextPart(item.text)] if item.text.strip() else []
                calls = [ToolCallPart(call.name, call.arguments, call.id) for call in item.tool_calls]
                messages.append(ModelResponse([*said, *calls]))
                continue
        if messages and isinstance(before := messages[-1], ModelRequest):
            messages[-1] = ModelRequest([*before.parts, part])
        else:
            messages.append(ModelRequest([part]))
    return messages


def _results(exchange: Exchange) -> DeferredToolResults | None:
    if not exchange.consents:
        return None
    return DeferredToolResults(approvals={id_: allowed or ToolDenied() for id_, allowed in exchange.consents.items()})


def _call(part: ToolCallPart) -> ToolCall:
    return ToolCall(part.tool_call_id, part.tool_name, part.args_as_json_str())


def _usage(response: ModelResponse) -> Usage:
    used = response.usage
    if not used.input_tokens and not used.output_tokens:
        return Usage()
    return Usage(used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens)
