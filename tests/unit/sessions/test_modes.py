"""Messages mid-turn in each mode, and "! " in any; over a real store."""

import asyncio

import pytest

from agent.transcript import ModelResponded, ToolCall, UserItem
from gateway.sessions.inbox_rules import strip_mark
from tests.fakes.agents import a_tool
from tests.fakes.spine import Spine
from tests.unit.sessions.test_session import kinds_of, said_to_the_model


@pytest.mark.parametrize(
    ("words", "rest"),
    [("! now", "now"), ("  !  a\nb ", "a\nb"), ("!now", None), ("! ", None), ("!", None), ("hey ! now", None)],
)
def test_only_an_exclamation_mark_with_a_space_and_words_interrupts(words: str, rest: str | None) -> None:
    assert rest == strip_mark(words)


async def begin_in_mode(spine: Spine, mode: str, chat: str = "c1") -> None:
    await spine.say(f"/mode {mode}", chat=chat)
    await spine.quiet()
    await spine.say("one", chat=chat)
    await spine.asked()


async def test_in_mode_collect_a_restart_merges_alike(spine: Spine) -> None:
    await begin_in_mode(spine, "collect")
    await spine.say("two")
    await spine.say("three")
    await spine.quiet()
    await spine.kill()
    spine.model.asked = None
    await spine.begin()
    await spine.asked()
    spine.model.give("first answer")
    await spine.asked()
    assert ["one", "two", "three"] == said_to_the_model(spine)


async def test_an_interruption_takes_along_what_waited_before_it(spine: Spine) -> None:
    await begin_in_mode(spine, "followup")
    for words in ("two", "! three", "four"):
        await spine.say(words)
    await spine.until(lambda: len(spine.model.requests) == 2 and spine.model.asked is not None)
    assert ["one", "two", "three"] == said_to_the_model(spine)
    spine.model.give("second")
    await spine.until(lambda: len(spine.model.requests) == 3 and spine.model.asked is not None)
    assert "four" == said_to_the_model(spine)[-1]
    spine.model.give("third")
    await spine.quiet()
    assert {"answered", "cleared", "merged"} == set((await spine.outcomes()).values())


@pytest.mark.parametrize("mode", ["steer", "collect", "interrupt"])
async def test_a_member_cannot_touch_another_members_turn(spine: Spine, mode: str) -> None:
    await begin_in_mode(spine, mode, "g1")
    await spine.say("! not so", "p2", "g1")
    await spine.say("and this", "p2", "g1")
    await spine.quiet()
    assert 1 == len(spine.model.requests)
    spine.model.give("for p1")
    await spine.until(lambda: len(spine.model.requests) == 2 and spine.model.asked is not None)
    assert not [text for text in said_to_the_model(spine)[-1:] if "one" in text]
    spine.model.answer_at_once = lambda _request: ModelResponded(0, "for p2")
    spine.model.give("for p2")
    await spine.quiet()
    assert "for p1" in spine.channel.shown("g1")
    assert not {"cleared"} & set((await spine.outcomes()).values())


async def test_a_tool_that_cannot_be_cancelled_finishes_and_is_journaled(spine: Spine) -> None:
    go_on, begun = asyncio.Event(), asyncio.Event()

    async def send(_context: object, _arguments: object) -> str:
        begun.set()
        await go_on.wait()
        return "sent"

    await spine.kill()
    spine.tools = (a_tool("send", send, cancellable=False),)
    await spine.begin()
    await spine.say("one")
    await spine.asked()
    spine.model.give(ModelResponded(0, "", (ToolCall("c", "send", '{"n": 2}'),)))
    await begun.wait()
    await spine.say("! two")
    await spine.quiet()
    assert 1 == len(spine.model.requests)
    go_on.set()
    await spine.until(lambda: len(spine.model.requests) == 2 and spine.model.asked is not None)
    kinds = await kinds_of(spine)
    assert kinds.index("tool_returned") < kinds.index("turn_ended") < len(kinds) - 1
    spine.model.give("done")
    await spine.quiet()


async def test_an_interruption_holds_after_a_crash(spine: Spine) -> None:
    await begin_in_mode(spine, "steer")
    await spine.admit(spine.message("! two"), silently=True)
    await spine.kill()
    spine.model.asked = None
    await spine.begin()
    await spine.asked()
    assert ["one", "two"] == said_to_the_model(spine) and 2 == len(spine.model.requests)
    spine.model.give("second")
    await spine.quiet()
    assert ["answered", "cleared", "answered"] == list((await spine.outcomes()).values())


async def test_a_question_beside_the_turn_is_answered_after_a_crash(spine: Spine) -> None:
    await spine.say("one", "p1", "g1")
    await spine.asked()
    await spine.say("/btw and mine?", "p2", "g1")
    await spine.until(lambda: len(spine.model.requests) == 2)
    await spine.kill()
    spine.model.requests.clear()
    spine.model.answer_at_once = lambda request: ModelResponded(0, f"{len(request.items)} items")
    await spine.begin()
    await spine.quiet()
    assert {"answered"} == set((await spine.outcomes()).values())
    assert 2 == len(spine.channel.shown("g1")) and 2 == len(spine.model.requests)
    ((_, mine),) = [(r, r.items) for r in spine.model.requests if "and mine?" in str(r.items)]
    assert "one" not in [item.text for item in mine if isinstance(item, UserItem) and item.own]
