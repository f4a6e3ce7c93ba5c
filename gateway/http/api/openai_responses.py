"""`/v1/responses`: OpenAI's newer protocol for the same agent, for text, with and without a stream.

Source: platform.openai.com/docs/api-reference/responses (November 2026), and the models of the package `openai` 3.51.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import time
from typing import Any, Literal

import orjson
from aiohttp import web
from pydantic import Field, JsonValue

from gateway.access.api_keys import Scope
from gateway.http.api.answer_format import in_form, wish_of
from gateway.http.api.chat import user_of
from gateway.http.api.conversations import Conversations
from gateway.http.api.openai_conversation import say, session_named
from gateway.http.api.openai_format import (
    MAX_MESSAGES,
    CompletionMessage,
    JsonSchema,
    Lenient,
    ResponseFormat,
    finish_of,
    first_words,
    last_words,
    refuse_unsupported,
    user_named,
)
from gateway.http.api.openai_stream import stream_answer, wait_settled
from gateway.http.api.problems import ApiProblem, ApiRefusal
from gateway.http.api.routes import ApiModel, ApiRequest, ApiRoute
from gateway.http.api.sse import to_event
from gateway.http.api.turns import TurnAnswer

_ID = re.compile(r"resp_(c-[0-9a-f]{16}-[0-9a-f]{16})[^.]*\.([A-Za-z0-9._-]{1,48})")


class TextFormat(Lenient):
    """The requested format of the answer."""

    type: str = Field("text", max_length=64)
    schema_: dict[str, JsonValue] = Field(default_factory=dict, alias="schema")


class TextOptions(Lenient):
    """Options for the answer's text."""

    format: TextFormat | None = None


class ResponseRequest(Lenient):
    """A request for a response. Only its new message goes to the agent, which remembers the rest."""

    model: str = Field("", max_length=200, description="Any name; the gateway's agent answers.")
    input: str | tuple[CompletionMessage, ...] = Field(
        max_length=2_000_000, description="Text, or the whole conversation."
    )
    previous_response_id: str | None = Field(None, max_length=200, description="Continue after this response.")
    stream: bool | None = False
    text: TextOptions | None = None
    user: str | None = Field(None, max_length=512, description="The user of your program who asks. Default: `main`.")
    tools: tuple[dict[str, object], ...] | None = Field(None, description="Must be empty: the agent has its own tools.")


class OutputText(ApiModel):
    """The text of a message."""

    type: Literal["output_text"] = "output_text"
    text: str
    annotations: tuple[str, ...] = ()


class OutputMessage(ApiModel):
    """The agent's answer."""

    id: str
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"
    status: Literal["in_progress", "completed", "incomplete"] = "completed"
    content: tuple[OutputText, ...]


class InputDetails(ApiModel):
    """Details of the input tokens."""

    cached_tokens: int = 0


class OutputDetails(ApiModel):
    """Details of the output tokens."""

    reasoning_tokens: int = 0


class ResponseUsage(ApiModel):
    """Tokens, 0 if they were not counted."""

    input_tokens: int
    input_tokens_details: InputDetails = InputDetails()
    output_tokens: int
    output_tokens_details: OutputDetails = OutputDetails()
    total_tokens: int


class IncompleteDetails(ApiModel):
    """The reason of an incomplete answer."""

    reason: Literal["max_output_tokens"] = "max_output_tokens"


class ResponseAnswer(ApiModel):
    """A response."""

    id: str = Field(description="Send it as `previous_response_id` to continue after it.")
    object: Literal["response"] = "response"
    created_at: int
    status: Literal["in_progress", "completed", "incomplete"]
    model: str
    output: tuple[OutputMessage, ...] = ()
    parallel_tool_calls: bool = False
    tool_choice: Literal["none"] = "none"
    tools: tuple[str, ...] = ()
    error: None = None
    incomplete_details: IncompleteDetails | None = None
    previous_response_id: str | None = None
    usage: ResponseUsage | None = None


@dataclass(frozen=True, slots=True)
class ResponseRoutes:
    """The handler of `/v1/responses`; `agent` is the model's name."""

    conversations: Conversations
    agent: str
    now_s: Callable[[], float] = time

    async def respond(self, call: ApiRequest) -> ResponseAnswer | web.StreamResponse:
        """Pass on the new message of a conversation and answer like OpenAI."""
        body = call.body
        assert isinstance(body, ResponseRequest), "the route table names this model"
        if body.tools:
            raise refuse_unsupported("tools", "the agent has its own tools", "Leave `tools` out.")
        messages = _messages_of(body)
        earlier, session = _behind(body)
        said, wanted = last_words(messages, earlier), _format_of(body)
        said = replace(said, text=said.text + wish_of(wanted))
        session = session or session_named(call.headers, said, first_words(messages))
        asked = await say(self.conversations, call, said, user_of(call.key, user_named(body.user)), session)
        call.end_with_client()
        begun = ResponseAnswer(
            id=f"resp_{asked.handle}.{session}",
            created_at=int(self.now_s()),
            status="in_progress",
            model=body.model or self.agent,
            previous_response_id=body.previous_response_id,
        )
        if body.stream:
            return await stream_answer(call, self.conversations, asked, wanted, _Events(begun))
        answer = await wait_settled(self.conversations, asked)
        return _finish(begun, answer, in_form(wanted, answer.answer))


def _messages_of(body: ResponseRequest) -> tuple[CompletionMessage, ...]:
    if isinstance(body.input, str):
        return (CompletionMessage(role="user", content=body.input),)
    if len(body.input) > MAX_MESSAGES:
        raise ApiRefusal(422, "bad_request", f"over {MAX_MESSAGES} messages", "Send fewer.", param="input")
    return body.input


def _behind(body: ResponseRequest) -> tuple[str | None, str | None]:
    """Return the id of the previous message and its session, from `previous_response_id`."""
    if body.previous_response_id is None:
        return None, None
    found = _ID.fullmatch(body.previous_response_id)
    if found is None:
        raise ApiRefusal(
            400,
            "bad_request",
            "there is no such response",
            "Send the id of a response of this gateway.",
            param="previous_response_id",
        )
    return found[1], found[2]


def _format_of(body: ResponseRequest) -> ResponseFormat | None:
    if body.text is None or body.text.format is None:
        return None
    schema = JsonSchema(schema=body.text.format.schema_)
    return ResponseFormat(type=body.text.format.type, json_schema=schema)


def _finish(begun: ResponseAnswer, answer: TurnAnswer, text: str) -> ResponseAnswer:
    given, written = answer.usage.input_tokens or 0, answer.usage.output_tokens or 0
    cut = finish_of(answer.reason) == "length"
    return begun.model_copy(
        update={
            "status": "incomplete" if cut else "completed",
            "incomplete_details": IncompleteDetails() if cut else None,
            "output": (_message(begun, text, cut=cut),),
            "usage": ResponseUsage(input_tokens=given, output_tokens=written, total_tokens=given + written),
        }
    )


def _message(begun: ResponseAnswer, text: str, *, cut: bool = False) -> OutputMessage:
    status: Literal["completed", "incomplete"] = "incomplete" if cut else "completed"
    return OutputMessage(id=_message_id(begun), status=status, content=(OutputText(text=text),))


def _message_id(begun: ResponseAnswer) -> str:
    return f"msg_{begun.id.removeprefix('resp_')}"


class _Events:
    """A `StreamForm`: one response as a stream of events."""

    def __init__(self, begun: ResponseAnswer) -> None:
        self._begun = begun
        self._sequence = 0
        self._at = {"item_id": _message_id(begun), "output_index": 0, "content_index": 0}

    def begin(self) -> bytes:
        """Return the events that begin the response, its message and its text."""
        begun = {"response": self._begun.model_dump(mode="json")}
        item = OutputMessage(id=_message_id(self._begun), status="in_progress", content=())
        return (
            self._event("response.created", begun)
            + self._event("response.in_progress", begun)
            + self._event("response.output_item.added", {"output_index": 0, "item": item.model_dump(mode="json")})
            + self._event("response.content_part.added", {**self._at, "part": _part("")})
        )

    def more(self, text: str) -> bytes:
        """Return the event with a new piece of the text."""
        return self._event("response.output_text.delta", {**self._at, "delta": text, "logprobs": []})

    def end(self, answer: TurnAnswer, told: str) -> bytes:
        """Return the events that end the text, its message and the response."""
        ended = _finish(self._begun, answer, told)
        item = {"output_index": 0, "item": ended.output[0].model_dump(mode="json")}
        return (
            self._event("response.output_text.done", {**self._at, "text": told, "logprobs": []})
            + self._event("response.content_part.done", {**self._at, "part": _part(told)})
            + self._event("response.output_item.done", item)
            + self._event(f"response.{ended.status}", {"response": ended.model_dump(mode="json")})
        )

    def fail(self, problem: ApiProblem) -> bytes:
        return self._event("error", {"code": problem.code, "message": problem.message, "param": None})

    def _event(self, kind: str, fields: Mapping[str, Any]) -> bytes:
        event = {"type": kind, "sequence_number": self._sequence, **fields}
        self._sequence += 1
        return to_event(kind, orjson.dumps(event))


def _part(text: str) -> dict[str, Any]:
    return OutputText(text=text).model_dump(mode="json")


def response_routes(handlers: ResponseRoutes) -> tuple[ApiRoute, ...]:
    """Return the row of the route table."""
    return (
        ApiRoute(
            method="POST",
            path="/v1/responses",
            scope=Scope.CHAT,
            tag="openai",
            summary="OpenAI's responses, answered by the agent.",
            handle=handlers.respond,
            body=ResponseRequest,
            answer=ResponseAnswer,
            may_stream=True,
            once=True,
        ),
    )
