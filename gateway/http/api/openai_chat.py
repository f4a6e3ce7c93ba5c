"""`/v1/chat/completions` in front of the agent: OpenAI's clients talk to it as they do to a model.

A client sends the whole conversation each time, and the agent has it already: what the person said last is said, in
the session that begins with the same words or that `X-Tenk-Session` names. Decision 0038.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web

from channels.bounded_dict import BoundedDict
from gateway.access.api_keys import Scope
from gateway.http.api.chat import raise_problem, user_of
from gateway.http.api.conversations import Asked, Conversations, new_handle
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
    fingerprint,
    finish_of,
    more_of,
    session_of,
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

RETRIED = "X-Stainless-Retry-Count"
"""How OpenAI's clients say that they ask the same once more."""

KNOWN_REQUESTS = 4_096
"""Requests of which a retry is known, in memory: after a restart an Idempotency-Key does it."""


@dataclass(frozen=True, slots=True)
class OpenAiRoutes:
    """The handlers over the conversations of one gateway, whose agent is called `agent`."""

    conversations: Conversations
    agent: str
    now_s: Callable[[], float] = time.time
    _handles: BoundedDict[str, str] = field(default_factory=lambda: BoundedDict(KNOWN_REQUESTS))

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
        text = words_to_say(body)
        user, session = (
            user_of(call.key, user_named(body.user)),
            session_of(body, call.headers.get("X-Tenk-Session")),
        )
        handle = self._handle(call, body, f"{call.key.id}:{user}:{session}")
        asked = Asked(key_id=call.key.id, user=user, session=session, handle=handle)
        await self.conversations.say(asked, text, call.locale)
        call.end_with_client()
        name = body.model or self.agent
        if body.stream:
            usage = body.stream_options is not None and bool(body.stream_options.include_usage)
            return await _Chunks(asked.handle, name, int(self.now_s())).stream(
                call, self.conversations, asked, usage=usage
            )
        answer = await self.conversations.wait(asked, LONGEST_S)
        raise_problem(answer)
        if not answer.is_settled:
            raise _late(asked)
        message = AnsweredMessage(content=answer.answer)
        choice = CompletionChoice(message=message, finish_reason=finish_of(answer.reason))
        return CompletionAnswer(
            id=f"chatcmpl-{asked.handle}", created=int(self.now_s()), model=name, choices=(choice,),
            usage=to_usage(answer.usage),
        )  # fmt: skip

    def _handle(self, call: ApiRequest, body: CompletionRequest, place: str) -> str:
        """The same for a client's own retry, and for the same Idempotency-Key."""
        if call.idempotency_key is not None:
            return new_handle(call.idempotency_key)
        request = f"{place}:{fingerprint(body)}"
        retried = call.headers.get(RETRIED, "0") != "0"
        handle = (self._handles.get(request) if retried else None) or new_handle(None)
        self._handles[request] = handle
        return handle

    def _card(self) -> ModelCard:
        return ModelCard(id=self.agent, created=0, owned_by="tenk-gateway")


class _Chunks:
    """One completion as a stream."""

    def __init__(self, handle: str, model: str, created: int) -> None:
        self._id = f"chatcmpl-{handle}"
        self._model = model
        self._created = created
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
            if self._told.startswith(text):  # nothing new, or asked again and on its way to where it was
                await stream.stay_alive()
            else:
                await self._begin(stream)
                await self._write(stream, ChunkDelta(content=more_of(self._told, text)))
                self._told = text

        try:
            answer = await conversations.wait(asked, LONGEST_S, tell)
            raise_problem(answer)
            if not answer.is_settled:
                raise _late(asked)
        except ApiRefusal as refusal:
            if not stream.has_begun:
                raise
            await stream.write(_line(ApiProblemAnswer(error=refusal.problem).model_dump_json(exclude_none=True)))
            return await stream.begin()
        await tell(answer.answer)
        await self._begin(stream)
        await self._end(stream, answer, usage=usage)
        return await stream.begin()

    async def _begin(self, stream: EventStream) -> None:
        """Who speaks, once, before the first word."""
        if not self._speaks:
            self._speaks = True
            await self._write(stream, ChunkDelta(role="assistant", content=""))

    async def _end(self, stream: EventStream, answer: TurnAnswer, *, usage: bool) -> None:
        last = ChunkChoice(delta=ChunkDelta(), finish_reason=finish_of(answer.reason))
        await stream.write(_line(self._chunk((last,)).model_dump_json(exclude_none=True)))
        if usage:
            counted = self._chunk(()).model_copy(update={"usage": to_usage(answer.usage)})
            await stream.write(_line(counted.model_dump_json(exclude_none=True)))
        await stream.write(_line("[DONE]"))

    async def _write(self, stream: EventStream, delta: ChunkDelta) -> None:
        await stream.write(_line(self._chunk((ChunkChoice(delta=delta),)).model_dump_json(exclude_none=True)))

    def _chunk(self, choices: tuple[ChunkChoice, ...]) -> CompletionChunk:
        return CompletionChunk(id=self._id, created=self._created, model=self._model, choices=choices)


def _line(data: str) -> bytes:
    return b"data: " + data.encode() + b"\n\n"


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
