"""Graphs of LangGraph whose state has `messages`.

A graph with a checkpointer keeps the conversation under `thread_id`, goes on after a crash where it was, and asks the
person by `interrupt`. One without gets the whole conversation each time.
"""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Interrupt

from agent.bridges.port import Exchange, ForeignEvent, NeedsApproval, Responded, Returned
from agent.bridges.table import UnusableAgent, load_object
from agent.errors import FailureKind
from agent.models.openai_format import note_text, spoken_text
from agent.ports import ModelFailure, TextDelta, TextDiscarded
from agent.transcript import AssistantItem, NoteItem, ToolCall, ToolItem, Usage, UserItem

Graph = CompiledStateGraph[Any, Any, Any, Any]


def connect(name: str, place: str) -> "LangGraphAgent":
    """Return the graph at `MODULE:GRAPH`.

    Raises:
        UnusableAgent: there is no compiled graph with `messages`.
    """
    graph: Graph = load_object(place, CompiledStateGraph, "compiled graph of LangGraph")
    if "messages" not in graph.channels:
        raise UnusableAgent(f"the state of {place} has no `messages`, which LangGraph's MessagesState has")
    return LangGraphAgent(name, graph)


class LangGraphAgent:
    """A compiled graph."""

    steers = True

    def __init__(self, name: str, graph: Graph) -> None:
        self.name = name
        self.title = graph.name if graph.name != "LangGraph" else ""
        self.keeps_state = graph.checkpointer is not None
        self._graph = graph

    async def run(self, exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        """Yield the steps of a run of the graph; see `ForeignAgent`."""
        config = _config_of(exchange)
        held = await self._read_checkpoint(config)
        new = _new_messages(exchange, held)
        given: object = {"messages": new} if new else None
        if not new:
            state = await self._graph.aget_state(config)
            held = state.values["messages"]
            if state.interrupts:
                asked = _questions(state.interrupts, held)
                if not all(id_ in exchange.consents for id_, _ in asked.values()):
                    for event in _ask(asked):
                        yield event
                    return
                given = Command(resume=_answers(state.interrupts, asked, exchange.consents))
                for id_, call in asked.values():
                    if call is not None:
                        yield Returned(id_, "answered")
            elif exchange.consents:
                raise ModelFailure(FailureKind.SERVER, "its checkpointer has lost the question: use a durable one")
            elif not state.next:
                yield _answer(held)
                return
        seen = {message.id for message in (*held, *new)}
        async for event in self._stream(given, config, seen):
            yield event

    async def _read_checkpoint(self, config: RunnableConfig) -> list[AnyMessage]:
        """Return the messages of the thread's checkpoint, without what its last step had left to apply.

        New messages begin another step, and LangGraph then drops what was left.
        """
        saver = self._graph.checkpointer
        saved = await saver.aget_tuple(config) if isinstance(saver, BaseCheckpointSaver) else None
        found: list[AnyMessage] = [] if saved is None else saved.checkpoint["channel_values"].get("messages", [])
        return found

    async def _stream(
        self, given: object, config: RunnableConfig, seen: set[str | None]
    ) -> AsyncGenerator[ForeignEvent, None]:
        """Run the graph; yield its messages but those in `seen`, and at the end its answer or its questions."""
        said: list[AnyMessage] = []
        async for _, what in self._graph.astream(
            given, config, stream_mode=["messages", "updates"], durability="sync" if self.keeps_state else None
        ):
            if not isinstance(what, dict):  # mode "messages": a message and where it comes from
                if isinstance(what[0], AIMessageChunk) and (text := what[0].text):
                    yield TextDelta(text)
                continue
            if interrupts := what.get("__interrupt__"):
                if not self.keeps_state:
                    raise ModelFailure(FailureKind.SERVER, "the graph interrupts: compile it with a checkpointer")
                held = (await self._graph.aget_state(config)).values.get("messages", [])
                for event in _ask(_questions(interrupts, held)):
                    yield event
                return
            for message in _messages_in(what):
                if message.id in seen:
                    continue
                seen.add(message.id)
                if isinstance(message, AIMessage) and message.tool_calls:
                    yield _to_response(message)
                elif isinstance(message, AIMessage):
                    if said:
                        yield TextDiscarded()  # the last message is the answer
                    said.append(message)
                elif isinstance(message, ToolMessage):
                    yield Returned(message.tool_call_id, message.text, message.status == "error")
        yield _answer(said)


def _config_of(exchange: Exchange) -> RunnableConfig:
    return {"configurable": {"thread_id": exchange.conversation, **exchange.about}}


def _new_messages(exchange: Exchange, held: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages that the graph's thread lacks: all if it is empty, else this turn's and skipped calls."""
    ids = [f"{exchange.turn}/{number}" for number in range(len(exchange.said))]
    if not held:
        messages = list(_history(exchange))
        humans = [at for at, message in enumerate(messages) if isinstance(message, HumanMessage)]
        for at, id_ in zip(reversed(humans), reversed(ids), strict=False):
            messages[at].id = id_
        return messages
    known = {message.id for message in held}
    spoken = [_human(exchange, item, id_) for item, id_ in zip(exchange.said, ids, strict=True)]
    new = [message for message in spoken if message.id not in known]
    if not new:
        return []
    results = {item.call_id: item for item in exchange.items if isinstance(item, ToolItem)}
    skipped = [ToolMessage(results[id_].content, tool_call_id=id_) for id_ in _open_calls(held) if id_ in results]
    return [*skipped, *new]


def _human(exchange: Exchange, item: UserItem, id_: str | None = None) -> HumanMessage:
    seen = [{"type": "image_url", "image_url": {"url": url}} for url in exchange.picture_urls(item)]
    return HumanMessage([*seen, {"type": "text", "text": spoken_text(item)}] if seen else spoken_text(item), id=id_)


def _history(exchange: Exchange) -> Iterator[AnyMessage]:
    for item in exchange.items:
        match item:
            case UserItem():
                yield _human(exchange, item)
            case NoteItem():
                yield HumanMessage(note_text(item))
            case ToolItem():
                yield ToolMessage(item.content, tool_call_id=item.call_id, name=item.name)
            case AssistantItem():
                calls = [
                    {"name": call.name, "args": json.loads(call.arguments), "id": call.id, "type": "tool_call"}
                    for call in item.tool_calls
                ]
                yield AIMessage(item.text, tool_calls=calls)


def _messages_in(update: dict[str, object]) -> Iterator[BaseMessage]:
    """Yield the messages in what the nodes of a step returned."""
    for returned in update.values():
        for part in returned if isinstance(returned, list) else [returned]:
            found = part.get("messages", ()) if isinstance(part, dict) else ()
            for message in found if isinstance(found, list | tuple) else [found]:
                if isinstance(message, BaseMessage):
                    yield message


def _open_calls(held: Sequence[AnyMessage]) -> list[str]:
    """Return the ids of the calls of the last response that have no result."""
    done = {message.tool_call_id for message in held if isinstance(message, ToolMessage)}
    last = next((message for message in reversed(held) if isinstance(message, AIMessage)), None)
    return [] if last is None else [call["id"] or "" for call in last.tool_calls if call["id"] not in done]


# ---------------------------------------------------------------- interrupts

Questions = dict[str, tuple[str, ToolCall | None]]


def _questions(interrupts: Sequence[Interrupt], held: Sequence[AnyMessage]) -> Questions:
    """Return the call that each interrupt asks about by the interrupt's id, and the call itself if it is our own.

    A single question in a step with a single open call is about that; any other stands for a call of its own, so
    that an answer is never taken for another call's.
    """
    calls = _open_calls(held)
    if len(calls) == len(interrupts) == 1:
        return {interrupts[0].id: (calls[0], None)}
    return {
        each.id: (each.id, ToolCall(each.id, "interrupt", json.dumps({"value": each.value}, default=str)))
        for each in interrupts
    }


def _ask(questions: Questions) -> Iterator[ForeignEvent]:
    own = tuple(call for _, call in questions.values() if call is not None)
    if own:
        yield Responded("", own)
    for id_, call in questions.values():
        yield NeedsApproval(id_, may_remember=call is None)


def _answers(interrupts: Sequence[Interrupt], questions: Questions, consents: Mapping[str, bool]) -> dict[str, object]:
    return {each.id: _answer_to(each, consents[questions[each.id][0]]) for each in interrupts}


def _answer_to(interrupt: Interrupt, allowed: bool) -> object:
    """Return what an interrupt is resumed with: decisions for LangChain's middleware, else True or False."""
    value = interrupt.value
    if isinstance(value, dict) and (requests := value.get("action_requests")):
        return {"decisions": [{"type": "approve" if allowed else "reject"} for _ in requests]}
    return allowed


# ---------------------------------------------------------------- responses


def _to_response(message: AIMessage) -> Responded:
    calls = tuple(ToolCall(call["id"] or "", call["name"], json.dumps(call["args"])) for call in message.tool_calls)
    used = message.usage_metadata
    details = {} if used is None else used.get("input_token_details", {})
    usage = (
        Usage()
        if used is None
        else Usage(
            used["input_tokens"], used["output_tokens"], details.get("cache_read"), details.get("cache_creation")
        )
    )
    return Responded(str(message.text), calls, usage, message.response_metadata.get("model_name", ""))


def _answer(messages: Sequence[AnyMessage]) -> Responded:
    """Return the last message as the answer.

    Raises:
        ModelFailure: there is none.
    """
    last = messages[-1] if messages else None
    if not isinstance(last, AIMessage) or last.tool_calls:
        raise ModelFailure(FailureKind.SERVER, "the graph ended without an AIMessage")
    return _to_response(last)
