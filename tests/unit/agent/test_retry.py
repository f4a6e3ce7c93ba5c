"""/retry: it asks again for what had no answer, and repeats no tool that may have run."""

import pytest

from agent.errors import FailureKind
from agent.loop import Agent
from agent.models.failures import failure
from agent.models.scripted import ScriptedModel
from agent.retry_command import run_retry_command
from agent.transcript import AssistantItem, EndReason, NoteItem, ToolCall, ToolItem, UserItem, fold
from gateway.texts import HARNESS
from tests.fakes.turn_port import NOW, FakeTurnPort, a_turn

BUSY = NoteItem("(the person was told: busy)")
CALLED = (AssistantItem("", (ToolCall("c", "log", "{}"),)), ToolItem("c", "log", "{}"))


async def retry(*history, model=None):
    port = FakeTurnPort()
    model = model or ScriptedModel(["Here it is."])
    agent = Agent(texts=HARNESS, model=model, prompt=lambda *_: {}, clock=lambda: NOW)
    reason = await run_retry_command(a_turn(port, "/retry", history=history), port.ports, agent)
    return reason, port, model


@pytest.mark.parametrize("rest", [(BUSY,), (), (AssistantItem("Half an"), BUSY)])
async def test_what_had_no_answer_is_asked_again(rest):
    before = (UserItem("first"), AssistantItem("done"))
    reason, port, model = await retry(*before, UserItem("and now"), UserItem("this"), *rest)
    assert (EndReason.COMPLETED, "Here it is.") == (reason, port.answer)
    said = [item.text for item in model.requests[0].items if isinstance(item, UserItem)]
    assert ["first", "and now", "this"] == said
    assert "and now" not in [item.text for item in model.requests[0].items if isinstance(item, AssistantItem)]


@pytest.mark.parametrize("history", [(), (UserItem("hi"), AssistantItem("hello"))])
async def test_what_has_its_answer_is_not_asked_again(history):
    _, port, model = await retry(*history)
    assert "nothing to try again" in port.answer
    assert [] == model.requests


async def test_a_turn_whose_tools_have_run_is_read_on_from_there():
    _, port, model = await retry(UserItem("30 minutes of guitar"), *CALLED, BUSY)
    assert "Here it is." == port.answer
    items = model.requests[0].items
    assert [UserItem("30 minutes of guitar"), *CALLED, BUSY] == list(items[:-1])
    assert "/retry" == items[-1].text


async def test_what_others_said_in_a_group_is_not_asked_again():
    _, port, _ = await retry(UserItem("mine"), AssistantItem("answered"), UserItem("theirs", own=False))
    assert "nothing to try again" in port.answer


async def test_a_model_that_is_still_busy_says_so_again():
    busy = ScriptedModel(lambda _: failure(FailureKind.RATE_LIMIT, "x", wait_s=150))
    reason, port, _ = await retry(UserItem("what?"), BUSY, model=busy)
    assert EndReason.MODEL_ERROR is reason
    assert "in about 3 min: /retry" in port.answer
    assert fold(port.events)
