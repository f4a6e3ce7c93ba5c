"""A turn killed at every commit and resumed in another process: one answer, effects by their kind."""

import json

import pytest
from pydantic import BaseModel

from agent.config import AgentConfig
from agent.loop import Agent, run_turn
from agent.models.scripted import Says, ScriptedModel, calls
from agent.ports import LocalEffect
from agent.tools.base import Effect, Tool, ToolContext
from agent.transcript import CallOutcome, EndReason, ToolIntended, ToolItem, ToolReturned, fold
from gateway.texts import HARNESS
from tests.fakes.turn_port import NOW, Died, FakeTurnPort, a_turn
from tests.unit.agent.test_transcript import refuse


class Nothing(BaseModel):
    pass


def add(_change, n):
    return n


class World:
    def __init__(self, port=None, dies_in=None):
        self.ran = []
        self.keys = []
        self.port = port
        self.dies_in = dies_in

    def tool(self, name, effect):
        async def run(context: ToolContext, _arguments):
            self.ran.append(name)
            self.keys.append(context.call_key)
            if self.dies_in == name:
                self.dies_in = None
                self.port.dies_at = self.port.commits  # before its result holds
            return LocalEffect(add, 1) if effect is Effect.LOCAL else name

        return Tool(
            name=name, description=name, arguments=Nothing, run=run, effect=effect, concurrency_safe=name == "none"
        )

    @property
    def tools(self):
        return tuple(self.tool(effect.value, effect) for effect in Effect)


ALL = calls(("none", "{}"), ("none", "{}"), ("local", "{}"), ("idempotent", "{}"), ("unsafe", "{}"))


def an_agent(world):
    def answer(request):
        done = sum(isinstance(item, ToolItem) for item in request.items)
        return Says("The end.") if done >= 10 else ALL

    limits = AgentConfig(allow_tools=("*",))
    return Agent(
        model=ScriptedModel(answer),
        tools=world.tools,
        prompt=lambda *_: {},
        texts=HARNESS,
        limits=limits,
        clock=lambda: NOW,
    )


async def live(port, world):
    """Run until it ends, a new process after every death; how often it died."""
    deaths = 0
    while True:
        try:
            assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, an_agent(world))
        except* Died:
            deaths += 1
            port.dies_at = None
        else:
            return deaths


@pytest.mark.parametrize("dies_after", [False, True])
@pytest.mark.parametrize("dies_at", range(18))
async def test_d4_d5_f51_killed_at_every_commit(dies_at, dies_after):
    world, applied = World(), []
    port = FakeTurnPort(run_effect=lambda effect: applied.append(effect) or '{"success":true}')
    port.dies_at, port.dies_after = dies_at, dies_after
    deaths = await live(port, world)
    assert 1 == deaths or dies_at >= port.commits
    assert port.answer.startswith("The end.")
    assert "" == refuse(fold(port.events))
    assert 2 == len(applied), "a local effect happens once a call"
    assert world.ran.count("unsafe") <= 2, "an unsafe one never twice"
    assert 4 == len({key for key, name in zip(world.keys, world.ran, strict=True) if name == "none"})
    assert 10 == sum(isinstance(event, ToolReturned) for event in port.events)
    intents = [event.call_key for event in port.events if isinstance(event, ToolIntended)]
    assert len(intents) == len(set(intents)), "an intent is journaled once"


async def test_f51_an_unsafe_call_that_died_is_told_as_unknown():
    port = FakeTurnPort(run_effect=lambda _: "{}")
    world = World(port, "unsafe")
    assert 1 == await live(port, world)
    unknown = [event for event in port.events if getattr(event, "outcome", None) is CallOutcome.UNKNOWN]
    assert ["unsafe"] == [event.name for event in unknown]
    assert "unknown" in json.loads(unknown[0].content)["error"]
    assert "Outcome unknown: unsafe" in port.answer
    assert 2 == world.ran.count("unsafe"), "the first died, the second step's ran"


async def test_f51_an_idempotent_call_that_died_runs_again_with_its_key():
    port = FakeTurnPort(run_effect=lambda _: "{}")
    world = World(port, "idempotent")
    await live(port, world)
    keys = [key for key, name in zip(world.keys, world.ran, strict=True) if name == "idempotent"]
    assert [f"{a_turn(port).id}/0/3"] * 2 == keys[:2]


async def test_what_a_dead_process_began_is_not_skipped_by_steering():
    port = FakeTurnPort(run_effect=lambda _: "{}")
    world = World(port, "unsafe")
    with pytest.raises(Died):
        await run_turn(a_turn(port), port.ports, an_agent(world))
    port.dies_at = None
    port.say("never mind")
    await run_turn(a_turn(port), port.ports, an_agent(world))
    first_step = [event for event in port.events if isinstance(event, ToolReturned) and event.step == 0]
    assert CallOutcome.UNKNOWN is first_step[-1].outcome
