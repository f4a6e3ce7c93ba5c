"""A2A agents, translated: contexts, tasks, artifacts, states, and what each trouble is called."""

import json
from dataclasses import replace
from typing import Any

import pytest
from a2a.helpers import new_data_part, new_raw_part, new_text_message, new_text_part
from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import (
    Artifact,
    Message,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from aiohttp import web
from pydantic import JsonValue

from agent.bridges.a2a import A2AAgent
from agent.bridges.a2a_answer import TaskProgress
from agent.bridges.port import Exchange, ForeignEvent, Responded
from agent.errors import FailureKind
from agent.ports import ModelFailure, Principal, TextDelta, TextDiscarded
from agent.transcript import AssistantItem, UserItem
from tests.fakes.shops import http_shop
from tests.fakes.shops.a2a_shop import ShopExecutor, serving

ANA = Principal("u1", "t1", "Ana", timezone="Europe/Madrid", locale="es")
NAME = "a2a:shop"


def asked(text: str, state: JsonValue = None) -> Exchange:
    before = [UserItem("before"), AssistantItem("so", thinking=({"bridge": NAME, "state": state},))] if state else []
    return Exchange("t1", "talk1", ANA, [*before, UserItem(text)], [UserItem(text)], {}, "plain text", "likes tea")


async def events(url: str, exchange: Exchange, token: str = "") -> list[ForeignEvent]:
    return [event async for event in A2AAgent(NAME, url, token).run(exchange)]


async def last(url: str, exchange: Exchange) -> Responded:
    *_, answer = await events(url, exchange)
    assert isinstance(answer, Responded)
    return answer


class AskingExecutor(ShopExecutor):
    """An agent whose task asks for a colour before it is done; it keeps the messages."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Message] = []

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.context_id and context.task_id and context.message
        self.messages.append(context.message)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if context.current_task is None:
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            await event_queue.enqueue_event(Task(id=context.task_id, context_id=context.context_id, status=status))
            await updater.add_artifact([new_text_part("A cup.")], "cup")
            await updater.requires_input(updater.new_agent_message([new_text_part("Which colour?")]))
        else:
            await updater.add_artifact([new_text_part(f"It is {context.get_user_input()}.")], "colour")
            await updater.complete()


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_question_is_an_answer_and_the_next_message_continues_its_task(streaming: bool) -> None:
    executor = AskingExecutor()
    async with serving(executor, streaming=streaming) as url:
        question = await last(url, asked("a cup"))
        assert "A cup.\n\nWhich colour?" == question.text
        answer = await last(url, asked("red", question.state))
    first, second = executor.messages
    assert ("It is red.", "") == (answer.text, answer.state["task"] if isinstance(answer.state, dict) else None)
    assert (first.context_id, first.task_id) == (second.context_id, second.task_id)
    assert ("t1/1", "red", {"user_id": "u1", "memory": "likes tea"}) == (
        second.message_id,
        second.parts[0].text,
        {name: second.metadata[name] for name in ("user_id", "memory")},
    )


async def test_a_context_goes_on_and_a_task_that_is_gone_becomes_a_new_one() -> None:
    executor = ShopExecutor()
    async with serving(executor) as url:
        first = await last(url, asked("hello"))
        assert isinstance(first.state, dict)
        assert "I have heard 2 messages." == (await last(url, asked("count", first.state))).text
        gone = await last(url, asked("count", {**first.state, "task": "of an earlier server"}))
    assert "I have heard 3 messages." == gone.text
    assert [] == executor.cancelled


async def test_a_new_context_is_told_what_was_said_before() -> None:
    executor = AskingExecutor()
    items = [UserItem("hi"), AssistantItem("hello"), UserItem("a cup")]
    async with serving(executor) as url:
        await last(url, replace(asked("a cup"), items=items))
    before, new = executor.messages[0].parts
    assert ("Person: hi\nAssistant: hello" in before.text, "a cup") == (True, new.text)


async def test_a_stop_cancels_the_task() -> None:
    executor = ShopExecutor()
    async with serving(executor) as url:
        run = A2AAgent(NAME, url, "").run(asked("hang"))
        assert [TextDelta("One "), TextDelta("moment")] == [await anext(run), await anext(run)]
        await run.aclose()
        assert 1 == len(executor.cancelled)


# ---------------------------------------------------------------- what a server sends


def progress_of(
    *sent: StreamResponse, told: frozenset[str] = frozenset()
) -> tuple[list[ForeignEvent], Responded | None]:
    progress = TaskProgress("c1", told=told)
    shown = [seen for event in sent for seen in progress.take(event)]
    return shown, progress.answer()


def piece(id_: str, *parts: Any, append: bool = False) -> StreamResponse:
    artifact = Artifact(
        artifact_id=id_, parts=[new_text_part(part) if isinstance(part, str) else part for part in parts]
    )
    return StreamResponse(
        artifact_update=TaskArtifactUpdateEvent(task_id="k1", context_id="c1", artifact=artifact, append=append)
    )


def state(state: TaskState, words: str = "") -> StreamResponse:
    status = TaskStatus(state=state, message=new_text_message(words) if words else None)
    return StreamResponse(status_update=TaskStatusUpdateEvent(task_id="k1", context_id="c1", status=status))


DONE = state(TaskState.TASK_STATE_COMPLETED)


def test_pieces_of_artifacts_are_shown_as_they_come() -> None:
    shown, answer = progress_of(
        state(TaskState.TASK_STATE_WORKING, "looking"),
        piece("a", "Hel"),
        piece("a", "lo", append=True),
        piece("b", "!"),
        DONE,
    )
    assert [TextDelta("Hel"), TextDelta("lo"), TextDelta("\n\n!")] == shown
    assert answer == Responded("Hello\n\n!", state={"context": "c1", "task": "", "told": []})


def test_an_artifact_that_comes_anew_replaces_what_was_shown() -> None:
    shown, answer = progress_of(piece("a", "Hallo"), piece("a", "Hello"), DONE)
    assert [TextDelta("Hallo"), TextDiscarded(), TextDelta("Hello")] == shown
    assert answer is not None
    assert "Hello" == answer.text


def test_files_are_named_and_data_is_json() -> None:
    _, answer = progress_of(
        piece("a", "See ", new_raw_part(b"%PDF", filename="bill.pdf")), piece("b", new_data_part({"n": 1})), DONE
    )
    assert answer is not None
    assert 'See [bill.pdf]\n\n{\n "n": 1.0\n}' == answer.text


def test_a_message_alone_and_the_words_of_a_state_are_answers() -> None:
    _, message = progress_of(StreamResponse(message=new_text_message("hi", context_id="c2")))
    assert message == Responded("hi", state={"context": "c2", "task": "", "told": []})
    _, words = progress_of(state(TaskState.TASK_STATE_COMPLETED, "done"))
    assert words is not None
    assert "done" == words.text


@pytest.mark.parametrize(
    ("end", "kind", "words"),
    [
        (TaskState.TASK_STATE_FAILED, FailureKind.SERVER, "the task failed: no tea"),
        (TaskState.TASK_STATE_REJECTED, FailureKind.BAD_REQUEST, "rejected the task: no tea"),
        (TaskState.TASK_STATE_CANCELED, FailureKind.SERVER, "cancelled on the server: no tea"),
        (TaskState.TASK_STATE_AUTH_REQUIRED, FailureKind.AUTH, "sign in, which it cannot here: no tea"),
    ],
)
def test_an_end_without_an_answer_says_why(end: TaskState, kind: FailureKind, words: str) -> None:
    with pytest.raises(ModelFailure, match=words) as failed:
        progress_of(state(end, "no tea"))
    assert kind == failed.value.kind


def test_a_task_without_a_text_fails() -> None:
    with pytest.raises(ModelFailure, match="without a text"):
        progress_of(DONE)


# ---------------------------------------------------------------- troubles

CARD = {
    "name": "Shop",
    "capabilities": {"streaming": True},
    "supportedInterfaces": [{"url": "URL/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
}


def answers(body: object, status: int = 200, kind: str = "application/json", **headers: str) -> dict[str, Any]:
    text = body if isinstance(body, str) else json.dumps(body)
    return {"body": text.encode(), "status": status, "headers": {"Content-Type": kind, **headers}}


def result(result: object) -> str:
    return f"data: {json.dumps({'jsonrpc': '2.0', 'id': '1', 'result': result})}\n\n"


WORKING = result({"statusUpdate": {"taskId": "k1", "contextId": "c1", "status": {"state": "TASK_STATE_WORKING"}}})
SSE = "text/event-stream"
GRPC = {**CARD, "supportedInterfaces": [{"url": "URL", "protocolBinding": "GRPC", "protocolVersion": "1.0"}]}
ELSEWHERE = {**CARD, "supportedInterfaces": [{"url": "https://evil.example/rpc", "protocolBinding": "JSONRPC"}]}

TROUBLES = {
    "no card": ({}, answers("", 404), "", FailureKind.BAD_REQUEST, "look at the URL in agent.product"),
    "moved": ({}, answers("", 307, Location="/other"), "", FailureKind.BAD_REQUEST, "redirects"),
    "a web page": ({}, answers("<html>", kind="text/html"), "", FailureKind.NETWORK, "not JSON: look at the URL"),
    "no object": ({}, answers([1]), "", FailureKind.NETWORK, "not A2A"),
    "other binding": ({}, answers(GRPC), "", FailureKind.SERVER, "no compatible transports"),
    "elsewhere": (
        {},
        answers(ELSEWHERE),
        "s3cret",
        FailureKind.BAD_REQUEST,
        "another server, https://evil.example/rpc",
    ),
    "too long": ({}, answers(" " * (16 * 1024 * 1024 + 1)), "", FailureKind.NETWORK, "longer than"),
    "no token": (answers("who?", 401), answers(CARD), "", FailureKind.AUTH, "TENK_AGENT_TOKEN"),
    "busy": (answers("slow down", 429, **{"Retry-After": "7"}), answers(CARD), "", FailureKind.RATE_LIMIT, "slow down"),
    "broken": (answers("on fire", 500), answers(CARD), "s3cret", FailureKind.SERVER, "on fire"),
    "garbage": (answers("data: {{{\n\n", kind=SSE), answers(CARD), "", FailureKind.NETWORK, "not JSON"),
    "another form": (answers(result(7), kind=SSE), answers(CARD), "", FailureKind.NETWORK, "not A2A"),
    "no rpc": (answers({"a": "s3cret"}), answers(CARD), "s3cret", FailureKind.SERVER, "neither 'result' nor 'error'"),
    "an error": (
        answers({"error": {"code": -32603, "message": "oops"}}),
        answers(CARD),
        "",
        FailureKind.SERVER,
        "oops",
    ),
    "refused": (
        answers({"error": {"code": -32602, "message": "no task"}}),
        answers(CARD),
        "",
        FailureKind.SERVER,
        "no task",
    ),
    "cut off": (answers(WORKING, kind=SSE), answers(CARD), "", FailureKind.NETWORK, "stream ended before"),
}


@pytest.mark.parametrize(("rpc", "card", "token", "kind", "words"), TROUBLES.values(), ids=TROUBLES)
async def test_trouble_has_a_kind_and_words(
    rpc: dict[str, Any], card: dict[str, Any], token: str, kind: FailureKind, words: str
) -> None:
    async def show_card(request: web.Request) -> web.Response:
        url = str(request.url.origin()).encode()
        return web.Response(**{**card, "body": card["body"].replace(b"URL", url)})

    async def call(_request: web.Request) -> web.Response:
        return web.Response(**rpc)

    app = web.Application()
    app.router.add_get("/.well-known/agent-card.json", show_card)
    app.router.add_post("/rpc", call)
    async with http_shop.serving(app) as url:
        with pytest.raises(ModelFailure, match=words) as failed:
            await events(url, asked("hi"), token)
    assert (kind, 7.0 if words == "slow down" else None) == (failed.value.kind, failed.value.retry_after_s)


async def test_a_connection_that_breaks_and_a_server_that_is_not_there() -> None:
    async def abort(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    app = web.Application()
    app.router.add_get("/.well-known/agent-card.json", abort)
    async with http_shop.serving(app) as url:
        with pytest.raises(ModelFailure, match="no usable answer"):
            await events(url, asked("hi"))
    with pytest.raises(ModelFailure, match="down or cannot be reached"):
        await events("http://127.0.0.1:1", asked("hi"))
