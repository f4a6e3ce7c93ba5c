"""Hooks around people's messages: a conversation begins, a message is heard or refused, a conversation ends."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.hooks.chain import HookChain
from agent.hooks.points import HookConfig, HookPoint
from agent.transcript import ModelResponded, ToolCall, ToolItem, UserItem
from gateway.cli.hook import SAMPLES
from gateway.product import load_hooks
from tests.fakes.agents import a_tool, double
from tests.fakes.hooks import ANSWERS, STALLS, TOLD
from tests.fakes.spine import Spine, quick_store
from tests.fakes.turn_port import ANA

POINTS = (HookPoint.SESSION_START, HookPoint.USER_PROMPT, HookPoint.SESSION_END)


@pytest.fixture
async def spine(tmp_path: Path) -> AsyncIterator[Spine]:
    TOLD.clear()
    ANSWERS.clear()
    store = await quick_store(tmp_path / "tenk.db")
    hooks = tuple(HookConfig(point=point, python="tests.fakes.hooks:note") for point in POINTS)
    spine = Spine(store, hooks=hooks)
    await spine.begin()
    yield spine
    await spine.kill()
    await store.aclose()


async def answer(spine: Spine, words: str) -> UserItem:
    await spine.say(words)
    await spine.asked()
    heard = [item for item in spine.model.requests[-1].items if isinstance(item, UserItem)][-1]
    spine.model.give("Good.")
    await spine.quiet()
    return heard


def points() -> list[str]:
    return [str(given["point"]) for given in TOLD]


async def test_a_conversation_begins_once_and_ends_with_new(spine: Spine) -> None:
    ANSWERS["session_start"] = {"context": "It is a holiday."}
    first, second = await answer(spine, "hello"), await answer(spine, "again")
    assert "It is a holiday." in first.data and "hello" == first.text
    assert "" == second.data
    await spine.say("/new")
    await spine.quiet()
    third = await answer(spine, "anew")
    assert "It is a holiday." in third.data
    assert [
        "user_prompt",
        "session_start",
        "user_prompt",
        "session_end",
        "user_prompt",
        "session_start",
    ] == points()
    assert {"sender": "sim:p1", "tenant": "default", "channel": "sim", "account": "main", "chat": "c1"} == {
        key: value for key, value in TOLD[1].items() if key != "point"
    }


async def test_a_message_is_rewritten_and_added_to(spine: Spine) -> None:
    ANSWERS["user_prompt"] = {"replace": "hello, [name]", "context": "They are new here."}
    heard = await answer(spine, "hello, Ana")
    assert ("hello, Ana", "hello, [name]") == (TOLD[0]["text"], heard.text)
    assert "They are new here." in heard.data


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"decision": "deny", "reason": "Wholesale {is} by telephone."}, "Wholesale {is} by telephone."),
        ({"decision": "deny"}, "I do not take messages that give me orders like this one."),
        ({"replace": {"text": "hello, [name]"}}, "that check does not work right now"),
    ],
)
async def test_a_message_is_refused_and_its_sender_told(spine: Spine, said: dict[str, Any], words: str) -> None:
    ANSWERS["user_prompt"] = said
    row = await spine.say("hello")
    await spine.quiet()
    assert ([], "refused") == (spine.model.requests, (await spine.outcomes())[row])
    assert words in " ".join(spine.channel.shown())


async def test_a_hook_behind_a_tool_is_heard_by_the_next_process(tmp_path: Path) -> None:

    async def leak(_context: object, _arguments: object) -> str:
        return "the secret"

    TOLD.clear()
    STALLS[:] = [True]
    store = await quick_store(tmp_path / "tenk.db")
    hook = HookConfig(point=HookPoint.POST_TOOL, python="tests.fakes.hooks:mask")
    spine = Spine(store, hooks=(hook,), tools=(a_tool("leak", leak),))
    await spine.begin()
    await spine.say("go")
    await spine.asked()
    spine.model.give(ModelResponded(0, "", (ToolCall("c1", "leak", '{"n": 3}'),)))
    await spine.until(lambda: bool(TOLD))
    await spine.kill()
    STALLS.clear()
    await spine.begin()
    await spine.asked()
    (result,) = [item.content for item in spine.model.requests[-1].items if isinstance(item, ToolItem)]
    assert '{"success":true,"data":"the ******","error":null}' == result
    assert [{"n": 3}, {"n": 3}] == [given["input"] for given in TOLD] and TOLD[0] == TOLD[1]
    await spine.kill()
    await store.aclose()


async def test_a_sample_has_what_a_hook_gets(tmp_path: Path) -> None:
    TOLD.clear()
    ANSWERS.clear()
    store = await quick_store(tmp_path / "tenk.db")
    hooks = tuple(HookConfig(point=point, python="tests.fakes.hooks:note") for point in HookPoint)
    spine = Spine(store, hooks=hooks, tools=(a_tool("look", double),))
    await spine.begin()
    for answer in ({}, {"decision": "deny", "reason": "no"}):
        ANSWERS["pre_tool"] = answer
        await spine.say("go")
        await spine.asked()
        spine.model.give(ModelResponded(0, "", (ToolCall("c1", "look", '{"n": 3}'),)))
        await spine.asked()
        spine.model.give("Done.")
        await spine.quiet()
    await spine.say("/new")
    await spine.quiet()
    await HookChain(load_hooks(hooks)).pre_compact(ANA)
    await spine.kill()
    given = {str(told["point"]): {*told} - {"point"} for told in TOLD}
    assert {point.value: {*sample} for point, sample in SAMPLES.items()} == given
