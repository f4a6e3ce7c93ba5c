"""Agents of the OpenAI Agents SDK: the history is ours, its tools with `needs_approval` ask the person.

Tools get their person as the run's context, an `agent.ports.Principal`.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Container, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, cast

from agents import (
    Agent,
    HandoffOutputItem,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    RunItemStreamEvent,
    Runner,
    RunState,
    StreamEvent,
    Tool,
    ToolCallOutputItem,
    TResponseInputItem,
    UserError,
    set_tracing_disabled,
)
from agents.items import ModelResponse, TResponseOutputItem
from agents.run import CallModelData, ModelInputData
from agents.testing import ScriptedModel, function_call
from openai import APIConnectionError, APIStatusError, APITimeoutError
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseRefusalDeltaEvent,
    ResponseTextDeltaEvent,
)

from agent.bridges.port import Exchange, ForeignEvent, NeedsApproval, Responded, Returned, output_text
from agent.bridges.table import load_object
from agent.errors import FailureKind
from agent.models.failures import failure, from_answer
from agent.models.openai_format import note_text, spoken_text
from agent.ports import Principal, TextDelta
from agent.transcript import AssistantItem, NoteItem, ToolCall, ToolItem, Usage, UserItem

set_tracing_disabled(disabled=True)  # tracing sends what people write to a server; the agent's module may enable it


def connect(name: str, place: str) -> "OpenAIAgent":
    """Return the agent at `MODULE:AGENT`.

    Raises:
        UnusableAgent: there is no agent of the OpenAI Agents SDK.
    """
    return OpenAIAgent(name, load_object(place, Agent, "agent of the OpenAI Agents SDK"))


class OpenAIAgent:
    """An agent of the OpenAI Agents SDK, and those to which it hands off."""

    steers = True
    keeps_state = False

    def __init__(self, name: str, agent: Agent[Principal]) -> None:
        self.name = name
        self.title = agent.name
        self._agent = agent

    async def run(self, exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        """Yield the steps of a run over the whole history; see `ForeignAgent`."""
        try:
            async with aclosing(self._run(exchange)) as events:
                async for event in events:
                    yield event
        except APITimeoutError as late:
            raise failure(FailureKind.TIMEOUT, str(late)) from late
        except APIConnectionError as cut:
            raise failure(FailureKind.NETWORK, str(cut)) from cut
        except APIStatusError as refused:
            body = json.dumps({"error": refused.body}, default=str)
            raise from_answer(refused.status_code, refused.response.headers, body, datetime.now(UTC)) from refused

    async def _run(self, exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        handed_to = str(exchange.state(self.name))
        agent, held_back = _agents_by_name(self._agent).get(handed_to, self._agent), _HeldBack()
        given = await _apply_answers(agent, exchange) if exchange.consents else history_of(exchange)
        result = Runner.run_streamed(
            agent,
            given,
            context=exchange.principal,
            max_turns=None,  # the turn's own limits hold
            hooks=held_back,
            run_config=_config(exchange),
        )
        last: Response | None = None  # not yet reported
        async with aclosing(cast("AsyncGenerator[StreamEvent, None]", result.stream_events())) as stream:
            try:
                async for event in stream:
                    if isinstance(event, RunItemStreamEvent):
                        if isinstance(event.item, ToolCallOutputItem | HandoffOutputItem):
                            raw = cast("dict[str, Any]", event.item.raw_item)
                            yield Returned(raw["call_id"], _result(raw["output"]))
                        continue
                    match getattr(event, "data", None):  # of the model's stream
                        case ResponseTextDeltaEvent(delta=text) | ResponseRefusalDeltaEvent(delta=text):
                            yield TextDelta(text)
                        case ResponseCompletedEvent(response=last):
                            if calls := _calls(last.output):
                                state = self._state(result.current_agent)
                                yield Responded(last.output_text, calls, _usage(last), last.model, state)
                                last = None
                                held_back.released.set()
            finally:
                result.cancel()
                assert result.run_loop_task is not None, "it has begun"
                await asyncio.wait([result.run_loop_task])  # its tools end, too
        for item in result.interruptions:
            yield NeedsApproval(item.call_id or "")
        if result.interruptions:
            return
        usage, model = (Usage(), "") if last is None else (_usage(last), last.model)
        yield Responded(output_text(result.final_output), (), usage, model, self._state(result.last_agent))

    def _state(self, agent: Agent[Principal]) -> str | None:
        """Return the name of the agent with which the conversation goes on."""
        return agent.name if self._agent.handoffs else None


class _HeldBack(RunHooks[Principal]):
    """Hooks that hold a response's calls back until the response is journaled."""

    def __init__(self) -> None:
        self.released = asyncio.Event()

    async def on_llm_end(
        self, context: RunContextWrapper[Principal], agent: Agent[Principal], response: ModelResponse
    ) -> None:
        if _calls(response.output):
            await self.released.wait()
            self.released.clear()


class _NothingRuns(RunHooks[Principal]):
    """Hooks that let no tool run."""

    async def on_tool_start(self, context: RunContextWrapper[Principal], agent: Agent[Principal], tool: Tool) -> None:
        raise UserError(f"the tool {tool.name} does not ask for approval any more")


async def _apply_answers(agent: Agent[Principal], exchange: Exchange) -> RunState[Principal]:
    """Return the state of a run that made the calls about which the person was asked, with their answers."""
    asked = [
        function_call(call.name, call.arguments, call_id=call.id)
        for item in exchange.items
        if isinstance(item, AssistantItem)
        for call in item.tool_calls
        if call.id in exchange.consents
    ]
    result = await Runner.run(
        agent,
        history_of(exchange, exchange.consents),
        context=exchange.principal,
        hooks=_NothingRuns(),
        run_config=RunConfig(model=ScriptedModel([asked])),  # no model is asked: this response was made before
    )
    state: RunState[Principal] = result.to_state()
    for item in result.interruptions:
        answer = state.approve if exchange.consents.get(item.call_id or "") else state.reject
        answer(item)
    return state


def _config(exchange: Exchange) -> RunConfig:
    def add_instructions(call: CallModelData[Any]) -> ModelInputData:
        words = (call.model_data.instructions, exchange.hints, exchange.memory)
        return ModelInputData(call.model_data.input, "\n\n".join(filter(None, words)) or None)

    return RunConfig(call_model_input_filter=add_instructions, tool_not_found_behavior="return_error_to_model")


def _agents_by_name(first: Agent[Principal]) -> dict[str, Agent[Principal]]:
    """Return the agent and those to which it can hand off, directly or by others."""
    found: dict[str, Agent[Principal]] = {}
    waiting = [first]
    while waiting:
        agent = waiting.pop()
        if agent.name not in found:
            found[agent.name] = agent
            waiting += [target for handoff in agent.handoffs if (target := _target(handoff)) is not None]
    return found


def _target(handoff: object) -> Agent[Principal] | None:
    """Return the agent to which this hands off; None if only its own function knows."""
    if isinstance(handoff, Agent):
        return handoff
    reference = getattr(handoff, "_agent_ref", None)
    return None if reference is None else reference()


def history_of(exchange: Exchange, but: Container[str] = ()) -> list[TResponseInputItem]:
    """Return the conversation as input items, without the calls whose ids are in `but`."""
    given: list[dict[str, object]] = []
    for item in exchange.items:
        match item:
            case UserItem():
                given.append({"role": "user", "content": _content(item, exchange.picture_urls(item))})
            case NoteItem():
                given.append({"role": "user", "content": note_text(item)})
            case ToolItem():
                given.append({"type": "function_call_output", "call_id": item.call_id, "output": item.content})
            case AssistantItem():
                if item.text.strip():
                    given.append({"role": "assistant", "content": item.text})
                given.extend(
                    {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
                    for call in item.tool_calls
                    if call.id not in but
                )
    return cast("list[TResponseInputItem]", given)


def _content(item: UserItem, urls: Sequence[str]) -> object:
    seen = [{"type": "input_image", "detail": "auto", "image_url": url} for url in urls]
    return [*seen, {"type": "input_text", "text": spoken_text(item)}] if seen else spoken_text(item)


def _calls(output: Sequence[TResponseOutputItem]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(item.call_id, item.name, item.arguments)
        for item in output
        if isinstance(item, ResponseFunctionToolCall)
    )


def _result(output: object) -> str:
    """Return what a tool told the model as text; of a picture or a file its kind."""
    if not isinstance(output, list):
        return str(output)
    return "\n".join(part.get("text", f"({part['type']})") for part in output)


def _usage(response: Response) -> Usage:
    used = response.usage
    if used is None or not used.total_tokens:
        return Usage()
    return Usage(used.input_tokens, used.output_tokens, used.input_tokens_details.cached_tokens)
