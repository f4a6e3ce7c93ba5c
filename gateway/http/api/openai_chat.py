"""`/v1/chat/completions` in front of the agent: OpenAI's clients talk to it as they do to a model.

A client sends the whole conversation each time, and the agent has it already: what the person said last is said, in
the session that begins with the same words or that `X-Tenk-Session` names. Decision 0029.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from aiohttp import web

from gateway.access.api_keys import Scope
from gateway.http.api.answer_format import in_form, wish_of
from gateway.http.api.chat import user_of
from gateway.http.api.conversations import Conversations
from gateway.http.api.openai_conversation import say, session_named
from gateway.http.api.openai_format import (
    AnsweredMessage,
    ChunkChoice,
    ChunkDelta,
    CompletionAnswer,
    CompletionChoice,
    CompletionChunk,
    CompletionRequest,
    ModelCard,
    ModelsAnswer,
    finish_of,
    first_words,
    to_usage,
    user_named,
    words_to_say,
)
from gateway.http.api.openai_stream import stream_answer, wait_settled
from gateway.http.api.problems import ApiProblem, ApiProblemAnswer, ApiRefusal
from gateway.http.api.routes import ApiRequest, ApiRoute
from gateway.http.api.turns import TurnAnswer

NO_USAGE = {"usage"}
"""Of every chunk but the one that has it."""


@dataclass(frozen=True, slots=True)
class OpenAiRoutes:
    """The handlers over the conversations of one gateway, whose agent is called `agent`."""

    conversations: Conversations
    agent: str
    now_s: Callable[[], float] = time.time

    async def models(self, call: ApiRequest) -> ModelsAnswer:
        """The agent, as a model that can be named."""
        return ModelsAnswer(data=(self._card(),))

    async def model(self, call: ApiRequest) -> ModelCard:
        """The agent."""
        if call.path["model"] != self.agent:
            raise ApiRefusal(404, "not_found", "there is no such model", "GET /v1/models lists the one there is.")
        return self._card()

    async def complete(self, call: ApiRequest) -> CompletionAnswer | web.StreamResponse:
        """Say what is new in a conversation, and answer as OpenAI does."""
        body = call.body
        assert isinstance(body, CompletionRequest), "its row says so"
        said, wanted = words_to_say(body), body.response_format
        said = replace(said, text=said.text + wish_of(wanted))
        session = session_named(call.headers, said, first_words(body.messages))
        asked = await say(self.conversations, call, said, user_of(call.key, user_named(body.user)), session)
        call.end_with_client()
        name = body.model or self.agent
        if body.stream:
            usage = body.stream_options is not None and bool(body.stream_options.include_usage)
            chunks = _Chunks(asked.handle, name, int(self.now_s()), usage=usage)
            return await stream_answer(call, self.conversations, asked, wanted, chunks)
        answer = await wait_settled(self.conversations, asked)
        message = AnsweredMessage(content=in_form(wanted, answer.answer))
        choice = CompletionChoice(message=message, finish_reason=finish_of(answer.reason))
        return CompletionAnswer(
            id=f"chatcmpl-{asked.handle}", created=int(self.now_s()), model=name, choices=(choice,),
            usage=to_usage(answer.usage),
        )  # fmt: skip

    def _card(self) -> ModelCard:
        return ModelCard(id=self.agent, created=0, owned_by="tenk-gateway")


class _Chunks:
    """One completion as a stream of chunks; a `StreamForm`."""

    def __init__(self, handle: str, model: str, created: int, *, usage: bool) -> None:
        """With `usage` a chunk says what was counted."""
        self._id = f"chatcmpl-{handle}"
        self._model = model
        self._created = created
        self._usage = usage

    def begin(self) -> bytes:
        """Return the chunk that says who speaks."""
        return self._line(ChunkDelta(role="assistant", content=""))

    def more(self, text: str) -> bytes:
        """Return a chunk of the answer."""
        return self._line(ChunkDelta(content=text))

    def end(self, answer: TurnAnswer, _told: str) -> bytes:
        """Return the reason of its end, what was counted, and the mark that ends a stream."""
        last = self._line(ChunkDelta(), finish_of(answer.reason))
        counted = self._chunk(()).model_copy(update={"usage": to_usage(answer.usage)})
        return last + (_line(counted.model_dump_json()) if self._usage else b"") + _line("[DONE]")

    def fail(self, problem: ApiProblem) -> bytes:
        """Return the problem."""
        return _line(ApiProblemAnswer(error=problem).model_dump_json(exclude_none=True))

    def _line(self, delta: ChunkDelta, reason: Literal["stop", "length"] | None = None) -> bytes:
        choice = ChunkChoice(delta=delta, finish_reason=reason)
        return _line(self._chunk((choice,)).model_dump_json(exclude=NO_USAGE))

    def _chunk(self, choices: tuple[ChunkChoice, ...]) -> CompletionChunk:
        return CompletionChunk(id=self._id, created=self._created, model=self._model, choices=choices)


def _line(data: str) -> bytes:
    return b"data: " + data.encode() + b"\n\n"


def openai_routes(handlers: OpenAiRoutes) -> tuple[ApiRoute, ...]:
    """The rows of the table."""
    return (
        ApiRoute(
            method="POST", path="/v1/chat/completions", scope=Scope.CHAT, tag="openai",
            summary="OpenAI's chat completions, answered by the agent.", handle=handlers.complete,
            body=CompletionRequest, answer=CompletionAnswer, may_stream=True, once=True,
        ),
        ApiRoute(
            method="GET", path="/v1/models", scope=Scope.CHAT, tag="openai", summary="The agent, as a model.",
            handle=handlers.models, answer=ModelsAnswer,
        ),
        ApiRoute(
            method="GET", path="/v1/models/{model}", scope=Scope.CHAT, tag="openai", summary="The agent.",
            handle=handlers.model, answer=ModelCard,
        ),
    )  # fmt: skip
