"""Events of a turn, out of the updates that an ACP agent sends while it answers a prompt; pure."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from acp.schema import (
    AgentMessageChunk,
    AllowedOutcome,
    ContentToolCallContent,
    DeniedOutcome,
    EmbeddedResourceContentBlock,
    PermissionOption,
    PromptResponse,
    RequestPermissionResponse,
    ResourceContentBlock,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
)
from pydantic import BaseModel, JsonValue

from agent.bridges.port import Exchange, ForeignEvent, NeedsApproval, Responded, Returned
from agent.errors import FailureKind
from agent.models.failures import failure
from agent.ports import TextDelta
from agent.transcript import AssistantItem, ToolCall

SessionUpdate = AgentMessageChunk | ToolCallStart | ToolCallProgress
"""The updates of a session that a turn needs: neither thoughts, plans nor modes are shown."""

MOST_CALLS = 100
"""Calls that have begun and not ended."""

CANCELLED = RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))

_FIELDS = ("title", "kind", "status", "content", "raw_input", "raw_output")


def asked_calls(exchange: Exchange) -> list[ToolCall]:
    """Return the calls about which the person was asked."""
    calls = [call for item in exchange.items if isinstance(item, AssistantItem) for call in item.tool_calls]
    return [call for call in calls if call.id in exchange.consents]


@dataclass(frozen=True, slots=True)
class PermissionAsked:
    """The agent's question if it may make a call; it waits for the answer."""

    call: ToolCallUpdate
    options: Sequence[PermissionOption]
    answer: "asyncio.Future[RequestPermissionResponse]"

    def reply(self, allowed: bool) -> None:
        """Choose the option that allows the call once, or one that rejects it; without such an option, cancel."""
        kinds = ("allow_once",) if allowed else ("reject_once", "reject_always")
        chosen = next((option for kind in kinds for option in self.options if option.kind == kind), None)
        outcome = chosen and AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        self.answer.set_result(RequestPermissionResponse(outcome=outcome) if outcome else CANCELLED)


@dataclass
class _Call:
    """A call as far as it is reported."""

    text: str  # said before it
    title: str = ""
    kind: str = "other"
    status: str = "pending"
    content: Sequence[BaseModel] = ()  # what it will do; when it has ended, its result
    raw_input: object = None
    raw_output: object = None
    asked: PermissionAsked | None = None
    id: str = ""  # in the journal; "": it is not journaled
    journaled: str = ""  # arguments in the journal
    consent: bool | None = None  # the person's answer; None: they were not asked

    @property
    def has_begun(self) -> bool:
        """Return True if it is known well enough for the journal."""
        return self.asked is not None or self.raw_input is not None or self.status != "pending"

    @property
    def has_ended(self) -> bool:
        return self.status in {"completed", "failed"}

    @property
    def arguments(self) -> str:
        """Return what is known of the call before it runs as JSON."""
        content = [] if self.has_ended else [each.model_dump(mode="json", exclude_none=True) for each in self.content]
        known = {"title": self.title, "input": self.raw_input, "content": content}
        return json.dumps({name: value for name, value in known.items() if value}, sort_keys=True)

    @property
    def result(self) -> Returned:
        """Return its end as an event."""
        shown = "\n".join(filter(None, map(_text_of, self.content))) or self.raw_output or self.status
        return Returned(self.id, shown, failed=self.status == "failed")


@dataclass
class PromptProgress:
    """The answer to a prompt so far.

    Calls that run at the same time are journaled one after another, since a response in the journal ends the calls of
    the one before.
    """

    exchange: Exchange
    state: JsonValue  # kept with each response
    asks: bool = False
    """True after a call that needs approval."""
    _text: list[str] = field(default_factory=list)  # since the last call
    _calls: dict[str, _Call] = field(default_factory=dict)  # those that have not ended, by the agent's ids
    _open: _Call | None = None  # in the journal, without a result

    def __post_init__(self) -> None:
        self._steps = sum(isinstance(item, AssistantItem) for item in self.exchange.items)
        self._answered = {
            (call.name, call.arguments): (call.id, self.exchange.consents[call.id])
            for call in asked_calls(self.exchange)
        }

    def take(self, reported: SessionUpdate | PermissionAsked) -> Iterator[ForeignEvent]:
        """Take what the agent reports; yield what it means for the turn, until it asks."""
        match reported:
            case AgentMessageChunk():
                self._text.append(_words(reported.content))
                yield TextDelta(self._text[-1])
                return
            case PermissionAsked():
                self._note(reported.call).asked = reported
            case _:
                self._note(reported)
        yield from self._journal()

    def finish(self, ended: PromptResponse) -> Iterator[ForeignEvent]:
        """Yield the rest of the calls and the answer.

        Raises:
            ModelFailure: it stopped without one.
        """
        for call in self._calls.values():
            call.asked = None
            if not call.has_ended:
                call.status, call.content, call.raw_output = "failed", (), "it did not say how this ended"
        yield from self._journal()
        text = "".join(self._text)
        if ended.stop_reason != "end_turn" and not (ended.stop_reason == "refusal" and text):
            raise failure(FailureKind.SERVER, f"it stopped before its answer was complete: {ended.stop_reason}")
        yield Responded(text, state=self.state)

    def _note(self, reported: ToolCallStart | ToolCallProgress | ToolCallUpdate) -> _Call:
        call = self._calls.get(reported.tool_call_id)
        if call is None:
            if len(self._calls) == MOST_CALLS:
                raise failure(FailureKind.SERVER, f"it made {MOST_CALLS} calls without an end")
            call = self._calls[reported.tool_call_id] = _Call("".join(self._text))
            self._text.clear()
        for name in _FIELDS:
            if (value := getattr(reported, name)) is not None:
                setattr(call, name, value)
        return call

    def _journal(self) -> Iterator[ForeignEvent]:
        """Yield the calls that can be journaled by now."""
        while (call := self._open or self._next()) is not None:
            if call is not self._open:
                yield from self._begin(call)
            if call.asked is not None:
                yield from self._ask(call, call.asked)
            if self.asks or not call.has_ended:
                return
            yield call.result
            self._open = None
            self._calls = {id_: each for id_, each in self._calls.items() if each is not call}

    def _next(self) -> _Call | None:
        return next((call for call in self._calls.values() if call.has_begun), None)

    def _begin(self, call: _Call) -> Iterator[ForeignEvent]:
        """Yield the call, unless it is one that the journal has with the person's answer."""
        self._open, call.journaled = call, call.arguments
        call.id, call.consent = self._answered.pop((call.kind, call.journaled), ("", None))
        if not call.id:
            self._steps += 1
            call.id = f"{self.exchange.turn}/{self._steps}"
            yield Responded(call.text, (ToolCall(call.id, call.kind, call.journaled),), state=self.state)
            call.text = ""

    def _ask(self, call: _Call, asked: PermissionAsked) -> Iterator[ForeignEvent]:
        if call.arguments != call.journaled:
            yield Returned(call.id, "it was changed before it ran", failed=True)
            yield from self._begin(call)
        if call.consent is None:
            self.asks = True
            yield NeedsApproval(call.id, may_remember=False)
            return
        asked.reply(call.consent)
        call.asked = call.consent = None


def _words(block: object) -> str:
    """Return the text of a block of content; of a file its address."""
    match block:
        case TextContentBlock():
            return block.text
        case ResourceContentBlock():
            return block.uri
        case EmbeddedResourceContentBlock():
            return getattr(block.resource, "text", block.resource.uri)
        case _:
            return f"[{getattr(block, 'type', 'file')}]"


def _text_of(content: BaseModel) -> str:
    """Return the text of a part of a call's result; of a changed file its path."""
    if isinstance(content, ContentToolCallContent):
        return _words(content.content)
    return getattr(content, "path", "")
