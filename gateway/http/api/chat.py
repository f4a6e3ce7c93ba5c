"""The chat routes of programs: send a message, fetch answers, list sessions."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import orjson
from aiohttp import web
from pydantic import Field

from channels.api.adapter import address_of_session
from channels.turn_steps import TurnStep
from gateway.access.api_keys import OWNER_USER, Scope
from gateway.http.api.conversations import Asked, Conversations, new_handle
from gateway.http.api.problems import ApiRefusal, Code
from gateway.http.api.routes import NAME, ApiModel, ApiRequest, ApiRoute, WhoseQuery
from gateway.http.api.server import to_json
from gateway.http.api.sse import EventStream, to_event
from gateway.http.api.turns import TurnAnswer, TurnsAnswer
from gateway.store import api_turns
from gateway.store.api_keys import ApiKey
from gateway.store.engine import Store

MAX_MESSAGE_CHARS = 100_000
DEFAULT_USER = "main"
MOST_WAIT_S = 300.0


class ChatRequest(ApiModel):
    """A message to the agent."""

    message: str = Field(min_length=1, max_length=MAX_MESSAGE_CHARS, description="Plain text; commands begin with /.")
    user: str | None = Field(None, pattern=NAME, description="The user of your program who writes. Default: `main`.")
    session: str = Field("main", pattern=NAME, description="The conversation. The agent remembers each one separately.")
    stream: bool = Field(False, strict=True, description="Answer as server-sent events: turn, delta, replace, done.")
    steps: bool = Field(
        False,
        strict=True,
        description="With `stream`, also the events tool_call, tool_result, tasks, usage and turn_end.",
    )
    wait_s: float = Field(
        120.0,
        ge=0,
        le=MOST_WAIT_S,
        strict=True,
        description="Seconds to wait for the answer; then 202, while the turn goes on.",
    )


class SessionsQuery(WhoseQuery):
    """The person, and the number of entries to list."""

    limit: int = Field(50, ge=1, le=200)


class HeardSessionAnswer(ApiModel):
    """A conversation over the API."""

    session: str
    heard_at: datetime = Field(description="Time of the last message, accurate to an hour.")


class SessionsAnswer(ApiModel):
    """Conversations, the most recently used first."""

    sessions: tuple[HeardSessionAnswer, ...]


class CommandAnswer(ApiModel):
    """A command: a message that begins with `/` and its name."""

    name: str
    summary: str
    options: tuple[str, ...] = Field(description="The names of what may follow it.")


class CommandsAnswer(ApiModel):
    """The commands of a member."""

    commands: tuple[CommandAnswer, ...]


class Delta(ApiModel):
    """A piece of an answer: appended to the earlier text (`delta`), or in place of it (`replace`)."""

    text: str


def user_of(key: ApiKey, named: str | None) -> str:
    """Return the user that a key acts for.

    Raises:
        ApiRefusal: the key was made for one person, and the request names another.
    """
    if key.user_id is None:
        return named or DEFAULT_USER
    if named not in {None, OWNER_USER}:
        raise ApiRefusal(
            403,
            "user_not_yours",
            "this key acts for one person",
            "Leave `user` out, or use another key.",
            param="user",
        )
    return OWNER_USER


async def say(conversations: Conversations, call: ApiRequest, said: ChatRequest) -> Asked:
    """Store the message of a request, once per Idempotency-Key. After that the client may disconnect.

    Raises:
        ApiRefusal: the message is refused, or the key may not act for this person.
    """
    asked = Asked(
        key_id=call.key.id,
        user=user_of(call.key, said.user),
        session=said.session,
        handle=new_handle(call.idempotency_key),
    )
    await conversations.say(asked, said.message, call.locale)
    call.end_with_client()
    return asked


async def answer_of(conversations: Conversations, asked: Asked, wait_s: float) -> TurnAnswer:
    """Return the turn once it is settled, or its state after `wait_s`.

    Raises:
        ApiRefusal: it failed or was refused, or too many requests wait.
    """
    answer = await conversations.wait(asked, wait_s)
    if answer.is_settled:
        raise_problem(answer)
    return answer


@dataclass(frozen=True, slots=True)
class ChatRoutes:
    """The handlers of the chat routes."""

    conversations: Conversations
    store: Store

    async def chat(self, call: ApiRequest) -> TurnAnswer | web.StreamResponse:
        """Store a message and return the answer as JSON or as a stream."""
        body = call.body
        assert isinstance(body, ChatRequest), "the route table names this model"
        asked = await say(self.conversations, call, body)
        if body.stream:
            return await self._stream(call, asked, body)
        answer = await answer_of(self.conversations, asked, body.wait_s)
        return answer if answer.is_settled else to_json(answer, 202)

    async def turn(self, call: ApiRequest) -> TurnAnswer:
        """Return the state of an earlier request."""
        query = call.query
        assert isinstance(query, WhoseQuery), "the route table names this model"
        asked = Asked(
            key_id=call.key.id,
            user=user_of(call.key, query.user),
            session=call.path["session"],
            handle=call.path["turn"],
        )
        found = await self.conversations.look(asked)
        if found is None:
            raise ApiRefusal(404, "not_found", "there is no such turn", "GET /v1/sessions/{session}/turns lists them.")
        return found

    async def turns(self, call: ApiRequest) -> TurnsAnswer:
        """Return the requests of a session."""
        query = call.query
        assert isinstance(query, SessionsQuery), "the route table names this model"
        user, session = user_of(call.key, query.user), call.path["session"]
        address = address_of_session(call.key.id, user, session)
        return TurnsAnswer(turns=tuple(await self.conversations.look_back(address, session, user, query.limit)))

    async def sessions(self, call: ApiRequest) -> SessionsAnswer:
        """Return the conversations of one of the key's people."""
        query = call.query
        assert isinstance(query, SessionsQuery), "the route table names this model"
        address = address_of_session(call.key.id, user_of(call.key, query.user), "")
        found = await self.store.read(partial(api_turns.own_sessions, address=address, limit=query.limit))
        return SessionsAnswer(
            sessions=tuple(HeardSessionAnswer(session=row.session, heard_at=row.heard_at) for row in found)
        )

    async def commands(self, call: ApiRequest) -> CommandsAnswer:
        """Return the commands in the caller's language."""
        return CommandsAnswer(
            commands=tuple(
                CommandAnswer(
                    name=command.name,
                    summary=command.summary,
                    options=tuple(option.name for option in command.options),
                )
                for command in self.conversations.commands(call.locale)
            )
        )

    async def _stream(self, call: ApiRequest, asked: Asked, body: ChatRequest) -> web.StreamResponse:
        first = await self.conversations.look(asked)
        assert first is not None, "it was just stored"
        stream = EventStream(call.stream, asyncio.get_running_loop().time)
        await stream.write(to_event("turn", first.model_dump_json().encode()))
        told = ""

        async def tell(text: str) -> None:
            nonlocal told
            if text == told:
                await stream.stay_alive()
            else:
                await stream.write(_piece(told, text))
                told = text

        async def tell_step(step: TurnStep) -> None:
            await stream.write(to_event(step.type, orjson.dumps(step)))

        try:
            answer = await self.conversations.wait(asked, MOST_WAIT_S, tell, tell_step if body.steps else None)
        except ApiRefusal as refusal:  # the head is sent, so the error becomes an event
            await stream.write(to_event("error", refusal.problem.model_dump_json().encode()))
            return await stream.begin()
        await tell(answer.answer)
        await stream.write(to_event("done", answer.model_dump_json().encode()))
        return await stream.begin()


def _piece(told: str, text: str) -> bytes:
    if text.startswith(told):
        return to_event("delta", Delta(text=text[len(told) :]).model_dump_json().encode())
    return to_event("replace", Delta(text=text).model_dump_json().encode())


OVER_BUDGET = frozenset({"max_cost", "max_tokens"})
"""End reasons of turns that a budget cap stopped."""


def raise_problem(answer: TurnAnswer) -> None:
    """Raise the error that a turn without an answer means.

    Raises:
        ApiRefusal: the person has no access, or the agent failed.
    """
    if answer.state == "refused":
        raise ApiRefusal(
            403,
            "not_let_in",
            answer.answer or "this person may not send this",
            "Ask the operator of the gateway.",
            turn=answer.turn,
        )
    if answer.retry_after_s is not None:
        code: Code = "over_budget" if answer.reason in OVER_BUDGET else "model_busy"
        raise ApiRefusal(
            429,
            code,
            answer.answer,
            "Send /retry in the session then; the turn keeps the message.",
            retry_after_s=answer.retry_after_s,
            turn=answer.turn,
        )
    if answer.reason == "context_exhausted":
        raise ApiRefusal(
            400,
            "context_length_exceeded",
            answer.answer,
            "Send less at once, or begin a new conversation.",
            turn=answer.turn,
        )
    if answer.state == "failed":
        raise ApiRefusal(
            502,
            "turn_failed",
            answer.answer or "the agent failed",
            "Ask again later; /retry in the session.",
            turn=answer.turn,
        )


def chat_routes(handlers: ChatRoutes) -> tuple[ApiRoute, ...]:
    """Return the rows of the route table."""
    return (
        ApiRoute(
            method="POST",
            path="/v1/chat",
            scope=Scope.CHAT,
            tag="chat",
            summary="Send a message to the agent.",
            handle=handlers.chat,
            body=ChatRequest,
            answer=TurnAnswer,
            late_status=202,
            may_stream=True,
            once=True,
        ),
        ApiRoute(
            method="GET",
            path="/v1/sessions",
            scope=Scope.CHAT,
            tag="chat",
            summary="List your conversations.",
            handle=handlers.sessions,
            query=SessionsQuery,
            answer=SessionsAnswer,
        ),
        ApiRoute(
            method="GET",
            path="/v1/commands",
            scope=Scope.CHAT,
            tag="chat",
            summary="List the commands.",
            handle=handlers.commands,
            answer=CommandsAnswer,
        ),
        ApiRoute(
            method="GET",
            path="/v1/sessions/{session}/turns",
            scope=Scope.CHAT,
            tag="chat",
            summary="List the requests of a session.",
            handle=handlers.turns,
            query=SessionsQuery,
            answer=TurnsAnswer,
        ),
        ApiRoute(
            method="GET",
            path="/v1/sessions/{session}/turns/{turn}",
            scope=Scope.CHAT,
            tag="chat",
            summary="Return one request and its answer.",
            handle=handlers.turn,
            query=WhoseQuery,
            answer=TurnAnswer,
        ),
    )
