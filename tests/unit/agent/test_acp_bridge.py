"""Agents that speak ACP: the program and its troubles, the prompt, and its reports as events."""

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from acp.schema import PermissionOption, PromptResponse, RequestPermissionResponse, SessionNotification, ToolCallUpdate

from agent.bridges.acp import AcpAgent, prompt_of
from agent.bridges.acp_calls import PermissionAsked, PromptProgress
from agent.bridges.port import Exchange, ForeignEvent, NeedsApproval, Responded, Returned
from agent.bridges.table import UnusableAgent, check_bridge, connect
from agent.errors import FailureKind
from agent.pictures import Picture
from agent.ports import ModelFailure, Principal, TextDelta
from agent.transcript import AssistantItem, NoteItem, ToolCall, ToolItem, UserItem
from tests.fakes.virtual_time import passes
from tests.house.tree import ROOT

ANA = Principal("u1", "t1", "Ana", timezone="Europe/Madrid", locale="es")
HI = UserItem("hi")
ASKED = Exchange("t1", "talk1", ANA, [HI], [HI], {}, "plain text", "likes tea")
AFTER = replace(
    ASKED, items=[AssistantItem("yes", thinking=({"bridge": "acp:plain", "state": {"session": "s1"}},)), HI]
)
ANSWER = [TextDelta("Hello"), Responded("Hello", state={"session": "s1"})]


def agent(trick: str, *files: Path, open_s: float = 20.0) -> AcpAgent:
    plain = ROOT / "tests" / "fakes" / "plain_acp_agent.py"
    return AcpAgent("acp:plain", [sys.executable, "-IS", str(plain), trick, *map(str, files)], open_s=open_s)


async def events(agent: AcpAgent, exchange: Exchange = ASKED) -> list[ForeignEvent]:
    return [event async for event in agent.run(exchange)]


def sent(file: Path) -> dict[str, Any]:
    """Return the parameters of what an agent was sent, by method."""
    messages = [json.loads(line) for line in file.read_text().splitlines()]
    return {message["method"]: message["params"] for message in messages if "method" in message}


async def test_a_new_session_is_told_of_the_person_and_only_the_answer_is_shown(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    assert ANSWER == await events(agent("greets", heard))
    told = sent(heard)
    assert "clientCapabilities" not in told["initialize"]
    assert str(Path.cwd()) == told["session/new"]["cwd"]
    texts = [block["text"] for block in told["session/prompt"]["prompt"]]
    assert ["plain text" in texts[0], "likes tea" in texts[1], texts[2:]] == [True, True, ["hi"]]
    about = told["session/prompt"]["_meta"]["tenk-gateway"]
    assert ("t1/1", "Ana", "es") == (about["key"], about["user_name"], about["locale"])


@pytest.mark.parametrize(
    ("trick", "texts"),
    [("loads", ["hi"]), ("resumes", ["hi"]), ("forgets", ["before:\nAssistant: yes", "hi"]), ("", ["yes", "hi"])],
)
async def test_a_session_goes_on_or_begins_anew_with_the_conversation(
    trick: str, texts: list[str], tmp_path: Path
) -> None:
    heard = tmp_path / "heard"
    assert ANSWER == await events(agent(trick, heard), replace(AFTER, hints="", memory=""))
    blocks = [block["text"] for block in sent(heard)["session/prompt"]["prompt"]]
    assert [True] * len(texts) == [words in text for words, text in zip(texts, blocks, strict=True)]


async def test_files_and_terminals_are_not_offered() -> None:
    assert ANSWER == await events(agent("asks for files"))


def outcomes(file: Path) -> dict[str, object]:
    """Return what the agent heard about its questions, by session."""
    messages = [json.loads(line) for line in file.read_text().splitlines()]
    return {message["id"]: message["result"]["outcome"] for message in messages if "result" in message}


async def test_a_question_ends_the_prompt_and_its_answer_is_given_in_the_next(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    asked, question = await events(agent("asks", first))
    assert isinstance(asked, Responded)
    assert NeedsApproval("t1/1", may_remember=False) == question
    assert {"s1": CANCELLED, "s2": CANCELLED} == outcomes(first)
    kept = ({"bridge": "acp:plain", "state": asked.state},)
    items = [HI, AssistantItem("", asked.calls, kept)]
    assert ANSWER == [
        event
        for event in await events(agent("asks", second), replace(ASKED, items=items, consents={"t1/1": True}))
        if not isinstance(event, Returned)
    ]
    assert {"s1": {"outcome": "selected", "optionId": "yes"}, "s2": CANCELLED} == outcomes(second)


CANCELLED = {"outcome": "cancelled"}

FAILURES = {
    "login": (FailureKind.AUTH, r'wants a login \("Log in with a browser"\)'),
    "no room": (FailureKind.SERVER, "it says: No room"),
    "newer": (FailureKind.BAD_REQUEST, "version 7 of ACP; the gateway speaks 1"),
    "no session": (FailureKind.NETWORK, "not ACP: no NewSessionResponse"),
    "hangs at its start": (FailureKind.TIMEOUT, "opened no session in time"),
    "refuses": (FailureKind.SERVER, "it says: Internal error .*out of tea"),
    "dies": (FailureKind.NETWORK, "ended with exit code 1: out of memory"),
    "babbles": (FailureKind.NETWORK, "lines that are no ACP, such as 'not JSON'"),
    "writes nonsense": (FailureKind.NETWORK, "lines that are no ACP, such as"),
    "writes a long line": (FailureKind.NETWORK, "a message of more than"),
    "floods with questions": (FailureKind.NETWORK, "more than 64 questions at once"),
}


@pytest.mark.parametrize(("trick", "kind", "words"), [(trick, *each) for trick, each in FAILURES.items()], ids=FAILURES)
async def test_trouble_has_a_kind_and_words(trick: str, kind: FailureKind, words: str) -> None:
    open_s = 0.3 if trick == "hangs at its start" else 20.0
    with pytest.raises(ModelFailure, match=words) as failed:
        await events(agent(trick, open_s=open_s))
    assert kind is failed.value.kind


async def test_a_session_that_wants_a_login() -> None:
    with pytest.raises(ModelFailure, match="wants a login"):
        await events(agent("login"), AFTER)


async def test_an_odd_answer_is_left_out() -> None:
    assert ANSWER == await events(agent("answers nonsense"))


async def test_a_program_that_cannot_be_started() -> None:
    with pytest.raises(ModelFailure, match="cannot be started"):
        await events(AcpAgent("acp:gone", ["/no/such/program"]))


async def test_a_flood_is_read_as_fast_as_it_is_taken(tmp_path: Path) -> None:
    run = agent("floods with answers", tmp_path / "heard", written := tmp_path / "written").run(ASKED)
    assert [TextDelta("x" * 1000)] * 300 == [await anext(run) for _ in range(300)]
    await passes(0.1)
    assert not written.exists()
    await run.aclose()


async def test_a_prompt_is_cancelled_at_a_stop(tmp_path: Path) -> None:
    run = agent("hangs", heard := tmp_path / "heard").run(ASKED)
    assert TextDelta("Hello") == await anext(run)
    await run.aclose()
    assert {"sessionId": "s1"} == sent(heard)["session/cancel"]


async def test_a_stubborn_program_is_killed(tmp_path: Path) -> None:
    run = agent("stubborn", tmp_path / "heard", pid := tmp_path / "pid").run(ASKED)
    await anext(run)
    with suppress(TimeoutError):  # cancelled while it cleans up, as at the end of the gateway
        async with asyncio.timeout(0.01):
            await run.aclose()
    assert not Path(f"/proc/{pid.read_text()}").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [("acp:", "write acp:COMMAND"), ("acp:no-such-program --acp", "'no-such-program'"), ("acp:'sh", "cannot be read")],
)
def test_a_wrong_command_is_found_before_the_start(name: str, words: str) -> None:
    with pytest.raises(UnusableAgent, match=words):
        check_bridge(name)


def test_a_command_is_connected() -> None:
    assert "acp:sh -c 'exit 1'" == connect("acp:sh -c 'exit 1'").name


async def test_pictures_are_named_to_an_agent_that_takes_none(tmp_path: Path) -> None:
    look = UserItem("look", pictures=(Picture("p1", "image/png"),))
    await events(agent("loads", heard := tmp_path / "heard"), replace(AFTER, items=[*AFTER.items[:1], look]))
    (block,) = sent(heard)["session/prompt"]["prompt"]
    assert "look\n[a picture, image/png: this model sees no pictures]" == block["text"]


# ---------------------------------------------------------------- prompts

STARTED = AssistantItem("", (ToolCall("t1/1", "execute", '{"title": "order tea"}'),))


def last_note(exchange: Exchange) -> str:
    (block,) = prompt_of(exchange, is_new=False)
    return block.text


def test_a_session_goes_on_after_a_crash_with_what_is_known() -> None:
    lost = ToolItem("t1/1", "execute", '{"error": "Outcome unknown"}')
    note = last_note(replace(ASKED, items=[HI, STARTED, lost]))
    assert ["interrupted while you answered: hi" in note, "Outcome unknown" in note] == [True, True]


@pytest.mark.parametrize(("allowed", "words"), [(True, "call it again"), (False, "does not allow")])
def test_a_session_goes_on_with_the_persons_answer(allowed: bool, words: str) -> None:
    note = last_note(replace(ASKED, items=[HI, STARTED], consents={"t1/1": allowed}))
    assert ["you answered: hi" in note, words in note, "order tea" in note] == [True] * 3


def test_a_new_session_is_told_of_calls_and_notes() -> None:
    items = [NoteItem("it failed"), UserItem("before"), STARTED, ToolItem("t1/1", "execute", "done"), HI]
    texts = [block.text for block in prompt_of(replace(ASKED, items=items, hints="", memory=""), is_new=True)]
    told = ("it failed", "Person: before", 'used execute {"title": "order tea"}', "Result of execute: done")
    assert ([True] * 4, ["hi"]) == ([words in texts[0] for words in told], texts[1:])


# ---------------------------------------------------------------- reports

ENDED = PromptResponse(stop_reason="end_turn")
STATE = {"session": "s1"}


def report(update: str, /, **values: Any) -> Any:
    return SessionNotification.model_validate({"sessionId": "s1", "update": {"sessionUpdate": update, **values}}).update


def text(words: str) -> Any:
    return report("agent_message_chunk", content={"type": "text", "text": words})


def call(id_: str, **values: Any) -> Any:
    return report("tool_call", **{"toolCallId": id_, "title": f"title {id_}", **values})


def change(id_: str, **values: Any) -> Any:
    return report("tool_call_update", toolCallId=id_, **values)


def words(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "content", "content": {"type": "text", "text": each}} for each in texts]


def question(id_: str, *kinds: str, **values: Any) -> PermissionAsked:
    options = [PermissionOption.model_validate({"optionId": kind, "name": kind, "kind": kind}) for kind in kinds]
    answer: asyncio.Future[RequestPermissionResponse] = asyncio.Future()
    return PermissionAsked(ToolCallUpdate.model_validate({"toolCallId": id_, **values}), options, answer)


def chosen(asked: PermissionAsked) -> str:
    outcome = asked.answer.result().outcome
    return getattr(outcome, "option_id", outcome.outcome)


def taken(reports: Sequence[Any], exchange: Exchange = ASKED, ended: PromptResponse | None = ENDED) -> list[Any]:
    """Return the events of a prompt, text apart."""
    progress = PromptProgress(exchange, STATE)
    found = [event for each in reports for event in progress.take(each)]
    found += [] if ended is None else progress.finish(ended)
    return [event for event in found if not isinstance(event, TextDelta)]


def begun(number: int, kind: str, said: str = "", **arguments: object) -> Responded:
    return Responded(said, (ToolCall(f"t1/{number}", kind, json.dumps(arguments, sort_keys=True)),), state=STATE)


def test_calls_at_the_same_time_are_journaled_one_after_another() -> None:
    found = taken(
        [
            text("Let me see."),
            call("a", kind="read", status="in_progress"),
            call("b", kind="search"),
            change("b", rawInput={"for": "tea"}),
            change("b", status="completed", rawOutput={"found": 3}),
            change("a", status="completed", content=words("one", "two")),
            text("Done"),
        ]
    )
    assert [
        begun(1, "read", "Let me see.", title="title a"),
        Returned("t1/1", "one\ntwo"),
        begun(2, "search", title="title b", input={"for": "tea"}),
        Returned("t1/2", {"found": 3}),
        Responded("Done", state=STATE),
    ] == found


def test_a_call_without_an_end_has_failed() -> None:
    found = taken([call("a", status="in_progress"), call("b"), change("c", status="failed")])
    ends = [(event.call_id, event.failed) for event in found if isinstance(event, Returned)]
    assert [("t1/1", True), ("t1/2", True), ("t1/3", True)] == ends


def test_calls_that_never_end_are_bounded() -> None:
    with pytest.raises(ModelFailure, match="100 calls without an end"):
        taken([call(str(number)) for number in range(101)])


def test_files_and_pictures_are_named() -> None:
    blocks = [
        {"type": "resource_link", "name": "a", "uri": "file:///a"},
        {"type": "resource", "resource": {"uri": "file:///b", "text": "inside "}},
        {"type": "resource", "resource": {"uri": "file:///c", "blob": "AA=="}},
        {"type": "image", "data": "AA==", "mimeType": "image/png"},
    ]
    edit = {"type": "diff", "path": "/d", "oldText": "1", "newText": "2"}
    found = taken(
        [
            call("a", kind="edit", status="in_progress", content=[edit]),
            change("a", status="completed"),
            *(report("agent_message_chunk", content=block) for block in blocks),
        ]
    )
    shown = [{"new_text": "2", "old_text": "1", "path": "/d", "type": "diff"}]
    assert [
        begun(1, "edit", title="title a", content=shown),
        Returned("t1/1", "/d"),
        Responded("file:///ainside file:///c[image]", state=STATE),
    ] == found


async def test_a_question_ends_the_run() -> None:
    asked = question("a", "allow_once", title="rm", rawInput={"path": "/a"})
    events = taken([call("a", kind="delete"), asked], ended=None)
    assert [begun(1, "delete", title="rm", input={"path": "/a"}), NeedsApproval("t1/1", may_remember=False)] == events
    assert not asked.answer.done()


async def test_a_question_about_other_arguments_is_about_another_call() -> None:
    asked = question("a", "allow_once", rawInput={"path": "/b"})
    events = taken([call("a", kind="delete", rawInput={"path": "/a"}), asked], ended=None)
    assert ["t1/1", "t1/2"] == [event.call_id for event in events if isinstance(event, Returned | NeedsApproval)]
    assert begun(2, "delete", title="title a", input={"path": "/b"}) in events


@pytest.mark.parametrize(
    ("allowed", "kinds", "option"),
    [
        (True, ("allow_always", "allow_once", "reject_once"), "allow_once"),
        (True, ("allow_always",), "cancelled"),
        (False, ("allow_once", "reject_always"), "reject_always"),
    ],
)
async def test_a_known_answer_is_given_once(allowed: bool, kinds: Sequence[str], option: str) -> None:
    asked = AssistantItem("", begun(1, "delete", title="title a", input=1).calls)
    exchange = replace(ASKED, items=[HI, asked], consents={"t1/1": allowed})
    first, second = question("x", *kinds), question("y", *kinds)
    events = taken(
        [
            call("x", kind="delete", rawInput=1, title="title a"),
            first,
            change("x", status="completed"),
            call("y", kind="delete", rawInput=1, title="title a"),
            second,
        ],
        exchange,
        ended=None,
    )
    assert option == chosen(first)
    assert [Returned("t1/1", "completed"), NeedsApproval("t1/2", may_remember=False)] == [
        event for event in events if not isinstance(event, Responded)
    ]
    assert not second.answer.done()


@pytest.mark.parametrize(("reason", "said"), [("max_tokens", "half"), ("cancelled", ""), ("refusal", "")])
def test_a_prompt_that_stops_early_is_a_failure(reason: str, said: str) -> None:
    with pytest.raises(ModelFailure, match=f"before its answer was complete: {reason}"):
        taken([text(said)], ended=PromptResponse.model_validate({"stopReason": reason}))


def test_a_refusal_in_words_is_an_answer() -> None:
    assert [Responded("No.", state=STATE)] == taken([text("No.")], ended=PromptResponse(stop_reason="refusal"))
