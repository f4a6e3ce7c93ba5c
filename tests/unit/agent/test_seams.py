"""Hooks, permission, the journal and a death of the process together: nothing is lost or asked twice."""

from dataclasses import replace

import pytest

from agent.config import AgentConfig
from agent.consent import Consent, Parked, TurnParked
from agent.loop import Agent, run_turn
from agent.models.scripted import Says, ScriptedModel, calls
from agent.permission_rules import Verdict
from agent.tools.base import Effect
from agent.tools.guards import ChainPermissions, NoHooks, PostTool
from agent.transcript import CallOutcome, EndReason, ToolItem, ToolResultRewritten, ToolReturned, fold
from gateway.texts import HARNESS
from tests.fakes.agents import a_tool
from tests.fakes.turn_port import NOW, Died, FakeTurnPort, a_turn
from tests.fakes.virtual_time import passes, run_virtually
from tests.unit.agent.tools.test_permit import rules


class Masks(NoHooks):
    def __init__(self):
        self.heard = []

    def listens_after(self, tool):
        return True

    async def post_tool(self, use, returned):
        self.heard.append((use.tool.name, use.arguments.n, returned.call_key))
        return PostTool(returned.content.replace("secret", "******"), "it was masked")


def masked_agent(effect, hooks, seen):

    async def leak(_context, arguments):
        return {"says": "the secret"}

    def answer(request):
        seen.extend(item.content for item in request.items if isinstance(item, ToolItem))
        return Says("The end.") if any(isinstance(item, ToolItem) for item in request.items) else ASKS

    tools = (a_tool("leak", leak, effect=effect),)
    return Agent(
        model=ScriptedModel(answer),
        tools=tools,
        prompt=lambda *_: {},
        texts=HARNESS,
        limits=AgentConfig(allow_tools=("*",)),
        clock=lambda: NOW,
        hooks=hooks,
    )


ASKS = calls(("leak", '{"n": 3}'))


@pytest.mark.parametrize("dies_after", [False, True])
@pytest.mark.parametrize("dies_at", range(6))
@pytest.mark.parametrize("effect", [Effect.NONE, Effect.LOCAL, Effect.IDEMPOTENT])
async def test_a_hook_behind_a_call_is_heard_whenever_the_process_dies(effect, dies_at, dies_after):
    port = FakeTurnPort(run_effect=lambda _: '{"success":true,"data":"the secret","error":null}')
    port.dies_at, port.dies_after = dies_at, dies_after
    hooks, seen, reason = Masks(), [], None
    while reason is None:
        try:
            reason = await run_turn(a_turn(port), port.ports, masked_agent(effect, hooks, seen))
        except* Died:
            port.dies_at = None
            assert "secret" not in repr(fold(port.events)), "a result that no hook has seen is not shown"
    assert EndReason.COMPLETED is reason
    assert seen and all("******" in content for content in seen)
    assert 1 == sum(isinstance(event, ToolResultRewritten) for event in port.events)
    assert {("leak", 3, f"{a_turn(port).id}/0/0")} == set(hooks.heard)
    assert len(hooks.heard) <= 2


# ---------------------------------------------------------------- a call that its person is asked about


def asking_agent(tools, wanted, **rule_of):

    def answer(request):
        return Says("The end.") if any(isinstance(item, ToolItem) for item in request.items) else calls(*wanted)

    return Agent(
        model=ScriptedModel(answer),
        tools=tools,
        prompt=lambda *_: {},
        texts=HARNESS,
        limits=AgentConfig(),
        clock=lambda: NOW,
        permissions=ChainPermissions(chain=rules(*rule_of["said"])),
    )


WIRES = [("wire", '{"n": 1}'), ("wire", '{"n": 2}'), ("wire", '{"n": 3}')]


@pytest.mark.parametrize("takes_s", [5.0, 90.0])
def test_what_runs_beside_a_call_that_asks_comes_to_its_end_before_the_turn_waits(takes_s):

    async def scene(loop):
        ended = []

        async def wire(_context, arguments):
            await passes(takes_s)
            ended.append(arguments.n)
            return arguments.n

        one = a_tool("wire", wire, effect=Effect.UNSAFE, read_only=True, concurrency_safe=True, timeout_s=60.0)
        said = (Verdict.ASK, "wire(n=2)"), (Verdict.ALLOW, "wire(n=1)"), (Verdict.ALLOW, "wire(n=3)")
        agent = asking_agent((one,), WIRES, said=said)
        port = FakeTurnPort()
        with pytest.raises(TurnParked):
            await run_turn(a_turn(port), port.ports, agent)
        *beside, parked = port.events[-3:]
        assert {CallOutcome.DONE if takes_s < 60 else CallOutcome.UNKNOWN} == {each.outcome for each in beside}
        assert ([1, 3] if takes_s < 60 else []) == ended
        assert isinstance(parked, Parked) and AgentConfig().deadline_s - min(takes_s, 60.0) == parked.left_s
        port.consents[f"{a_turn(port).id}/0/1"] = Consent.ALLOWED
        assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, agent)
        assert 3 == sum(isinstance(event, ToolReturned) for event in port.events)

    run_virtually(scene)


async def test_of_calls_that_ask_side_by_side_the_first_is_asked_for_first():

    async def wire(_context, arguments):
        return arguments.n

    one = a_tool("wire", wire, effect=Effect.UNSAFE, read_only=True, concurrency_safe=True)
    port, agent = FakeTurnPort(), asking_agent((one,), WIRES, said=((Verdict.ASK, "wire"),))
    for index in range(3):
        with pytest.raises(TurnParked):
            await run_turn(a_turn(port), port.ports, agent)
        key = f"{a_turn(port).id}/0/{index}"
        assert key == [event.about for event in port.events if isinstance(event, Parked)][-1]
        port.consents[key] = Consent.ALLOWED
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, agent)


async def test_words_that_come_while_a_call_ends_go_before_the_question():
    port = FakeTurnPort()

    async def read(_context, _arguments):
        port.say("never mind")

    tools = a_tool("read", read, concurrency_safe=True), a_tool("peek", read, concurrency_safe=True)
    agent = asking_agent(tools, [("read", "{}"), ("peek", "{}")], said=((Verdict.ASK, "peek"),))
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, agent)
    assert not any(isinstance(event, Parked) for event in port.events)


async def test_what_a_tool_puts_in_by_the_clock_is_put_in_once():
    times, ran, port = iter(range(100)), [], FakeTurnPort()

    async def remind(_context, arguments):
        ran.append(arguments.n)

    by_clock = a_tool(
        "remind",
        remind,
        effect=Effect.IDEMPOTENT,
        backfill=lambda _context, arguments: arguments.model_copy(update={"n": next(times)}),
    )
    agent = asking_agent((by_clock,), [("remind", "{}")], said=())
    for _ in range(2):
        with pytest.raises(TurnParked):
            await run_turn(a_turn(port), port.ports, agent)
    assert {'{"n": 0}'} == {ask.arguments for ask in port.asked}
    port.consents[f"{a_turn(port).id}/0/0"] = Consent.ALLOWED
    await run_turn(a_turn(port), port.ports, agent)
    assert [0] == ran


async def test_f53_a_tool_that_is_gone_when_its_person_allows_it_is_told_to_the_model():
    port = FakeTurnPort()
    pay = a_tool("pay", passes, effect=Effect.UNSAFE)
    with pytest.raises(TurnParked):
        await run_turn(a_turn(port), port.ports, asking_agent((pay,), [("pay", "{}")], said=()))
    port.consents[f"{a_turn(port).id}/0/0"] = Consent.ALLOWED
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, asking_agent((), [], said=()))
    (result,) = [event for event in port.events if isinstance(event, ToolReturned)]
    assert "no tool named" in result.content and CallOutcome.FAILED is result.outcome


async def test_f53_a_result_whose_tool_is_gone_before_its_hooks_were_heard_stays_withheld():
    port, hooks, seen = FakeTurnPort(dies_at=1, dies_after=True), Masks(), []
    with pytest.raises((Died, BaseExceptionGroup)):
        await run_turn(a_turn(port), port.ports, masked_agent(Effect.NONE, hooks, seen))
    port.dies_at = None
    agent = replace(masked_agent(Effect.NONE, hooks, seen), tools=())
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, agent)
    assert ["withheld" in content and "secret" not in content for content in seen] == [True]
