"""`/v1/chat/completions` in front of the agent: OpenAI's clients talk to it as they do to a model.

A client sends the whole conversation each time, and the agent has it already: what the person said last is said, in
the session that begins with the same words or that `X-Tenk-Session` names. Decision 0038.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from aiohttp import web

from gateway.access.api_keys import Scope
from gateway.http.api.answer_format import in_form, wish_of
from gateway.http.api.chat import raise_problem, user_of
from gateway.http.api.conversations import Asked, Conversations, Tell
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
    ResponseFormat,
    finish_of,
    first_words,
    more_of,
    to_usage,
    user_named,
    words_to_say,
)
from gateway.http.api.problems import ApiProblemAnswer, ApiRefusal
from gateway.http.api.routes import ApiRequest, ApiRoute
from gateway.http.api.sse import EventStream
from gateway.http.api.turns import TurnAnswer

LONGEST_S = 600.0
"""A client of OpenAI's waits so long where nobody told it otherwise (openai 3.51, `DEFAULT_TIMEOUT`)."""
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
            chunks = _Chunks(asked.handle, name, int(self.now_s()), wanted)
            return await chunks.stream(call, self.conversations, asked, usage=usage)
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
    """One completion as a stream."""

    def __init__(self, handle: str, model: str, created: int, wanted: ResponseFormat | None) -> None:
        self._id = f"chatcmpl-{handle}"
        self._model = model
        self._created = created
        self._wanted = wanted
        self._told = ""
        self._speaks = False

    async def stream(
        self, call: ApiRequest, conversations: Conversations, asked: Asked, *, usage: bool
    ) -> web.StreamResponse:
        """The answer piece by piece, as it is written.

        Raises:
            ApiRefusal: there is none, and nothing of it was written: the client gets the status that says so.
        """
        stream = EventStream(call.stream, asyncio.get_running_loop().time)

        async def tell(text: str) -> None:
            # It is checked before it is told, holds nothing new, or is asked again and on its way to where it was.
            if wish_of(self._wanted) or self._told.startswith(text):
                await stream.stay_alive()
            else:
                await self._tell(stream, text)

        try:
            answer = await wait_settled(conversations, asked, tell)
            text = in_form(self._wanted, answer.answer)
        except ApiRefusal as refusal:
            if not stream.has_begun:
                raise
            await stream.write(_line(ApiProblemAnswer(error=refusal.problem).model_dump_json(exclude_none=True)))
            return await stream.begin()
        if not self._told.startswith(text):
            await self._tell(stream, text)
        await self._begin(stream)
        await self._end(stream, answer, usage=usage)
        return await stream.begin()

    async def _tell(self, stream: EventStream, text: str) -> None:
        await self._begin(stream)
        await self._write(stream, ChunkDelta(content=more_of(self._told, text)))
        self._told = text

    async def _begin(self, stream: EventStream) -> None:
        """Who speaks, once, before the first word."""
        if not self._speaks:
            self._speaks = True
            await self._write(stream, ChunkDelta(role="assistant", content=""))

    async def _end(self, stream: EventStream, answer: TurnAnswer, *, usage: bool) -> None:
        last = ChunkChoice(delta=ChunkDelta(), finish_reason=finish_of(answer.reason))
        await stream.write(_line(self._chunk((last,)).model_dump_json(exclude=NO_USAGE)))
        if usage:
            counted = self._chunk(()).model_copy(update={"usage": to_usage(answer.usage)})
            await stream.write(_line(counted.model_dump_json()))
        await stream.write(_line("[DONE]"))

    async def _write(self, stream: EventStream, delta: ChunkDelta) -> None:
        await stream.write(_line(self._chunk((ChunkChoice(delta=delta),)).model_dump_json(exclude=NO_USAGE)))

    def _chunk(self, choices: tuple[ChunkChoice, ...]) -> CompletionChunk:
        return CompletionChunk(id=self._id, created=self._created, model=self._model, choices=choices)


def _line(data: str) -> bytes:
    return b"data: " + data.encode() + b"\n\n"


async def wait_settled(conversations: Conversations, asked: Asked, tell: Tell | None = None) -> TurnAnswer:
    """Return the answer; `tell` hears of it while it grows.

    Raises:
        ApiRefusal: there is none, or none yet.
    """
    answer = await conversations.wait(asked, LONGEST_S, tell)
    raise_problem(answer)
    if not answer.is_settled:
        raise _late(asked)
    return answer


def _late(asked: Asked) -> ApiRefusal:
    return ApiRefusal(
        504, "turn_not_done", "the agent still works on it", "Fetch it from /v1/sessions/{session}/turns/{turn}.",
        turn=asked.handle,
    )  # fmt: skip


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
