"""`/v1/chat/completions`: OpenAI's clients talk to the agent as to a model.

A client sends the whole conversation each time, but the agent remembers it. So only the person's last message is
passed on, in the session that `X-Tenk-Session` names or that begins with the same words. Decision 0029.
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
"""Usage in every chunk but the last."""


@dataclass(frozen=True, slots=True)
class OpenAiRoutes:
    """The handlers of the routes for OpenAI's chat clients; `agent` is the model's name."""

    conversations: Conversations
    agent: str
    now_s: Callable[[], float] = time.time

    async def models(self, call: ApiRequest) -> ModelsAnswer:
        """List the agent as the only model."""
        return ModelsAnswer(data=(self._card(),))

    async def model(self, call: ApiRequest) -> ModelCard:
        """Return the agent as a model."""
        if call.path["model"] != self.agent:
            raise ApiRefusal(404, "not_found", "there is no such model", "GET /v1/models lists the only one.")
        return self._card()

    async def complete(self, call: ApiRequest) -> CompletionAnswer | web.StreamResponse:
        """Pass on the new message of a conversation and answer like OpenAI."""
        body = call.body
        assert isinstance(body, CompletionRequest), "the route table names this model"
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
            id=f"chatcmpl-{asked.handle}",
            created=int(self.now_s()),
            model=name,
            choices=(choice,),
            usage=to_usage(answer.usage),
        )

    def _card(self) -> ModelCard:
        return ModelCard(id=self.agent, created=0, owned_by="tenk-gateway")


class _Chunks:
    """A `StreamForm`: one completion as a stream of chunks."""

    def __init__(self, handle: str, model: str, created: int, *, usage: bool) -> None:
        """Begin a completion; with `usage` its last chunk reports the tokens."""
        self._id = f"chatcmpl-{handle}"
        self._model = model
        self._created = created
        self._usage = usage

    def begin(self) -> bytes:
        """Return the first chunk, which has the role."""
        return self._line(ChunkDelta(role="assistant", content=""))

    def more(self, text: str) -> bytes:
        """Return a chunk of the answer."""
        return self._line(ChunkDelta(content=text))

    def end(self, answer: TurnAnswer, _told: str) -> bytes:
        """Return the end reason, the usage, and the end mark of the stream."""
        last = self._line(ChunkDelta(), finish_of(answer.reason))
        counted = self._chunk(()).model_copy(update={"usage": to_usage(answer.usage)})
        return last + (_line(counted.model_dump_json()) if self._usage else b"") + _line("[DONE]")

    def fail(self, problem: ApiProblem) -> bytes:
        return _line(ApiProblemAnswer(error=problem).model_dump_json(exclude_none=True))

    def _line(self, delta: ChunkDelta, reason: Literal["stop", "length"] | None = None) -> bytes:
        choice = ChunkChoice(delta=delta, finish_reason=reason)
        return _line(self._chunk((choice,)).model_dump_json(exclude=NO_USAGE))

    def _chunk(self, choices: tuple[ChunkChoice, ...]) -> CompletionChunk:
        return CompletionChunk(id=self._id, created=self._created, model=self._model, choices=choices)


def _line(data: str) -> bytes:
    return b"data: " + data.encode() + b"\n\n"


def openai_routes(handlers: OpenAiRoutes) -> tuple[ApiRoute, ...]:
    """Return the rows of the route table."""
    return (
        ApiRoute(
            method="POST",
            path="/v1/chat/completions",
            scope=Scope.CHAT,
            tag="openai",
            summary="OpenAI's chat completions, answered by the agent.",
            handle=handlers.complete,
            body=CompletionRequest,
            answer=CompletionAnswer,
            may_stream=True,
            once=True,
        ),
        ApiRoute(
            method="GET",
            path="/v1/models",
            scope=Scope.CHAT,
            tag="openai",
            summary="List the agent as a model.",
            handle=handlers.models,
            answer=ModelsAnswer,
        ),
        ApiRoute(
            method="GET",
            path="/v1/models/{model}",
            scope=Scope.CHAT,
            tag="openai",
            summary="Return the agent as a model.",
            handle=handlers.model,
            answer=ModelCard,
        ),
    )
