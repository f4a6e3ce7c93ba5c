"""The chain of hooks: in order, each within its time; a failing hook is skipped, or denies if it guards."""

import asyncio
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel

from agent.errors import FailureKind
from agent.foreign_code import MOST_THREADS
from agent.hooks.chain import HookChain, program_hook, python_hook
from agent.hooks.points import Hook, HookPoint, HookSaid
from agent.loop import run_turn
from agent.models.scripted import ScriptedModel
from agent.permissions.chain import PermissionChain
from agent.ports import ModelFailure
from agent.tools.base import Effect
from agent.tools.guards import ChainPermissions
from agent.tools.pipeline import PendingCall, Pipeline
from agent.tools.toolbox import ToolBox
from agent.transcript import CallOutcome, Nudged, NudgeReason, ToolCall, ToolResultRewritten, ToolReturned, TurnEnded
from tests.fakes.agents import a_tool, an_agent
from tests.fakes.turn_port import FakeTurnPort, a_turn

PRE, POST = HookPoint.PRE_TOOL, HookPoint.POST_TOOL


class Sum(BaseModel):
    amount: int = 1


def hook(function, point=PRE, **more):
    return Hook(name=getattr(function, "__name__", "hook"), point=point, call=python_hook(function), **more)


def says(point=PRE, name="one", **said):
    return Hook(name=name, point=point, call=python_hook(lambda _: HookSaid(**said)))


async def put(*hooks, effect=Effect.UNSAFE, written='{"amount": 5}'):
    paid = []

    async def pay(_context, arguments):
        paid.append(arguments.amount)
        return "paid"

    port = FakeTurnPort()
    pipeline = Pipeline(
        scope=port.scope(),
        tools=ToolBox([a_tool("pay", pay, Sum, effect)]),
        permissions=ChainPermissions(chain=PermissionChain()),
        hooks=HookChain(hooks),
    )
    pending = PendingCall(ToolCall("c0", "pay", written), 0, "t/0/0")
    pending.response_journaled.set()
    result = await pipeline.run(pending)
    return result.returned, paid, port.events


async def test_a_hook_allows_what_would_be_asked_for():
    given = {}

    def allow(told):
        given.update(told)
        return {"decision": "allow"}

    _, paid, _ = await put(hook(allow))
    assert [5] == paid
    assert {
        "point": "pre_tool",
        "tool": "pay",
        "input": {"amount": 5},
        "risk": "UNKNOWN",
        "read_only": False,
        "destructive": False,
        "user": "u1",
        "tenant": "t1",
        "agent": "",
        "call_key": "t/0/0",
    } == given


async def test_a_hook_denies_and_the_model_reads_why_and_others_are_told():
    told = []
    hooks = [
        says(decision="allow"),
        says(decision="deny", reason="not on Sundays"),
        hook(told.append),
        hook(told.append, HookPoint.PERMISSION_DENIED),
    ]
    returned, paid, _ = await put(*hooks)
    assert (CallOutcome.DENIED, []) == (returned.outcome, paid)
    assert "not on Sundays" in returned.content
    assert [("permission_denied", "not on Sundays.")] == [(given["point"], given["reason"]) for given in told]


async def test_what_a_hook_adds_to_a_call_that_it_denies_is_read_too():
    _, _, events = await put(says(decision="deny", reason="no", context="the budget is used up"))
    assert ["the budget is used up"] == [event.text for event in events if isinstance(event, Nudged)]


async def test_each_hook_sees_what_the_one_before_made_of_the_input():

    def more(given):
        return {"replace": {"amount": given["input"]["amount"] + 1}}

    _, paid, (intent, *_) = await put(hook(more), hook(more), says(decision="allow"))
    assert ([7], '{"amount":7}') == (paid, intent.arguments)
    for bad in ({"amount": "much"}, "text"):
        returned, paid, _ = await put(says(replace=bad, decision="allow"))
        assert (CallOutcome.DENIED, []) == (returned.outcome, paid)


async def test_an_ask_goes_before_an_allow():
    heard = await HookChain([says(decision="ask", reason="dear"), says(decision="allow")]).ask(PRE, {}, "pay")
    assert ("ask", "dear") == (heard.decision, heard.reason)


async def test_hooks_add_context_and_change_a_result():
    hooks = [
        says(decision="allow", context="be careful"),
        hook(lambda given: {"replace": {"masked": given["result"]["data"]}, "context": "it was masked"}, POST),
    ]
    returned, _, events = await put(*hooks)
    assert '{"success":true,"data":{"masked":"paid"},"error":null}' == returned.content
    assert [Nudged, ToolReturned, ToolResultRewritten, Nudged] == [type(event) for event in events[-4:]]


async def test_a_deny_behind_a_call_withholds_its_result():
    allows, denies = says(decision="allow"), says(POST, decision="deny", reason="it names a client", context="Ask Ana.")
    returned, paid, events = await put(allows, denies)
    assert ([5], CallOutcome.DONE) == (paid, returned.outcome)
    assert "ran" in returned.content and "it names a client" in returned.content
    assert "paid" not in returned.content
    rewritten = next(event for event in events if isinstance(event, ToolResultRewritten))
    assert "paid" not in rewritten.content
    assert "Ask Ana." in [event.text for event in events if isinstance(event, Nudged)]


async def test_a_hook_about_other_tools_is_not_asked():
    _, paid, _ = await put(hook(lambda _: {"decision": "deny"}, tools=("eat*",)), says(decision="allow"))
    assert [5] == paid


async def hangs(_given):
    await asyncio.Event().wait()


def raises(_given):
    raise RuntimeError("secret")


def babbles(_given):
    return ["what?"]


@pytest.mark.parametrize(
    ("bad", "timeout_s", "words"),
    [
        (hangs, 0.01, "did not answer within 0.01 s"),
        (raises, 30.0, "raised RuntimeError"),
        (babbles, 30.0, "answered with list in place of an object"),
    ],
)
async def test_a_bad_hook_before_a_call_is_a_no_if_it_is_required(bad, timeout_s, words):
    returned, paid, _ = await put(hook(bad, timeout_s=timeout_s), says(decision="allow"))
    assert (CallOutcome.DENIED, []) == (returned.outcome, paid)
    assert f"the hook {bad.__name__} failed: " in returned.content and words in returned.content
    assert "secret" not in returned.content
    _, paid, _ = await put(hook(bad, timeout_s=timeout_s, required=False), says(decision="allow"))
    assert [5] == paid


@pytest.mark.parametrize("bad", [hangs, raises, babbles])
async def test_a_bad_hook_behind_a_call_changes_nothing(bad):
    returned, _, _ = await put(
        says(decision="allow"), hook(bad, POST, timeout_s=0.01), says(POST, replace={"seen": True})
    )
    assert '{"success":true,"data":{"seen":true},"error":null}' == returned.content


async def test_what_no_exception_is_fails_its_call_and_does_not_hang_the_hook():
    class Panic(BaseException):
        pass

    ways = iter([Panic(), asyncio.CancelledError(), BaseExceptionGroup("two", [SystemExit(3)]), GeneratorExit()])

    async def fail(_given):
        raise next(ways)

    chain = HookChain([hook(fail)])
    heard = [await chain.ask(PRE, {}, "pay") for _ in range(4)]
    assert [("deny", True)] * 4 == [(each.decision, each.has_failed) for each in heard]
    assert [""] == list(chain.states().values())


async def test_a_hook_is_not_hung_because_its_calls_waited_for_a_thread():

    def check(_given):
        threading.Event().wait(0.2)

    chain = HookChain([hook(check, timeout_s=0.3)])
    async with asyncio.TaskGroup() as group:
        heard = [group.create_task(chain.ask(PRE, {}, "pay")) for _ in range(2 * MOST_THREADS)]
    assert {None, "deny"} == {each.result().decision for each in heard}
    assert [""] == list(chain.states().values())


async def test_a_hook_that_hung_is_not_called_before_it_is_retried():
    calls = []

    async def hang_once(_given):
        calls.append("hang")
        if len(calls) == 1:
            await asyncio.Event().wait()

    def time_out(_given):
        calls.append("raise")
        raise TimeoutError

    chain = HookChain([hook(hang_once, timeout_s=0.01), hook(time_out, required=False)])
    heard = [await chain.ask(PRE, {}, "pay"), await chain.ask(PRE, {}, "pay")]
    assert [("deny", True)] * 2 == [(each.decision, each.has_failed) for each in heard]
    assert ["hang"] == calls
    assert ["not called again" in why for why in chain.states().values()] == [True, False]
    chain.retry_hung()
    assert [None, None] == [(await chain.ask(PRE, {}, "pay")).decision for _ in range(2)]
    assert ["hang", "hang", "raise", "hang", "raise"] == calls


async def test_a_program_that_hangs_is_not_waited_for(tmp_path: Path):
    file = tmp_path / "hook.py"
    file.write_text("import signal\nsignal.pause()\n")
    slow = Hook(name="slow", point=PRE, call=program_hook((sys.executable, str(file))), timeout_s=0.2)
    returned, paid, _ = await put(slow, says(decision="allow"))
    assert (CallOutcome.DENIED, []) == (returned.outcome, paid)
    assert "the hook slow failed: it did not answer within 0.2 s" in returned.content


class TestStop:
    async def run(self, model, *hooks):
        port = FakeTurnPort()
        reason = await run_turn(a_turn(port), port.ports, replace(an_agent(model), hooks=HookChain(hooks)))
        return reason, port

    async def test_the_turn_goes_on_with_the_reason(self):
        seen = []

        def once(given):
            seen.append(given["text"])
            return {"decision": "deny", "reason": "name a day"} if len(seen) == 1 else {}

        reason, port = await self.run(ScriptedModel(["Soon.", "On Monday."]), hook(once, HookPoint.STOP))
        assert "completed" == reason
        assert ["Soon.", "Soon.\n\nOn Monday."] == seen
        nudges = [event for event in port.events if isinstance(event, Nudged)]
        assert [("Do not stop yet: name a day", NudgeReason.STOP)] == [(each.text, each.why) for each in nudges]

    async def test_it_ends_after_a_few_times_all_the_same(self):
        reason, port = await self.run(ScriptedModel([f"{n}." for n in range(9)]), says(HookPoint.STOP, decision="deny"))
        assert "completed" == reason
        assert 3 == sum(isinstance(event, Nudged) for event in port.events)

    async def test_an_error_asks_no_hook(self):
        asked = []
        model = ScriptedModel([ModelFailure(FailureKind.AUTH, "no key")])
        _, port = await self.run(model, hook(asked.append, HookPoint.STOP))
        assert [] == asked
        assert isinstance(port.events[-1], TurnEnded)


def test_a_hook_at_no_point_is_refused():
    with pytest.raises(ValueError, match="no point 'user_promt'; there are session_start, user_prompt"):
        replace(says(decision="deny"), point="user_promt")
