"""Scheduling of a response's calls: parallel ones, order, and early ends."""

import asyncio
import json
from itertools import product

import pytest

from agent.loop import run_turn
from agent.ports import CallStreamed, ModelFacts, TextDelta
from agent.tools.base import Effect, ToolError
from agent.transcript import CallOutcome, EndReason, ModelResponded, Steered, StopReason, ToolCall, fold
from tests.fakes.agents import a_tool, an_agent, returned
from tests.fakes.turn_port import FakeTurnPort, a_turn
from tests.fakes.virtual_time import passes, run_virtually


class Streams:
    """A model that streams each call at its second, ends its response at another, and then says that it is done."""

    name = "streams:timed"
    facts = ModelFacts()

    def __init__(self, *calls, ends_s=2.5):
        self.calls = [(at_s, ToolCall(f"c{n}", name, json.dumps({"n": n}))) for n, (at_s, name) in enumerate(calls)]
        self.ends_s = ends_s
        self.asked = 0

    async def respond(self, request, on_event):
        self.asked += 1
        if self.asked > 1:
            return ModelResponded(0, "done")
        spent_s = 0.0
        for index, (at_s, call) in enumerate(self.calls):
            await passes(at_s - spent_s)
            spent_s = at_s
            on_event(TextDelta("."))
            on_event(CallStreamed(index, call))
        await passes(self.ends_s - spent_s)
        return ModelResponded(0, "", tuple(call for _, call in self.calls), stop=StopReason.TOOLS)

    async def aclose(self):
        pass


class Watch:
    def __init__(self, now_s):
        self.now_s = now_s
        self.ran = {}
        self.ended_s = None

    def tool(self, name, takes_s, effect=Effect.NONE, fails=False, **flags):
        async def run(_context, arguments):
            began_s = self.now_s()
            try:
                await passes(takes_s)
                if fails:
                    raise ToolError("it broke")
                return arguments.n
            finally:
                self.ran[arguments.n] = (round(began_s, 3), round(self.now_s(), 3))

        return a_tool(name, run, effect=effect, **flags)


def play(model, make_tools, *, port=None, **limits):
    port = port or FakeTurnPort()
    found = {}

    async def scene(loop):
        watch = found["watch"] = Watch(loop.time)
        ends = []

        class Timed(type(model)):
            async def respond(self, request, on_event):
                if self.asked:
                    ends.append(loop.time())
                return await super().respond(request, on_event)

        model.__class__ = Timed
        found["reason"] = await run_turn(a_turn(port), port.ports, an_agent(model, *make_tools(watch), **limits))
        watch.ended_s = ends[0] if ends else loop.time()
        assert 1 == len(asyncio.all_tasks()), "nothing runs on"

    run_virtually(scene)
    return found["watch"], port, found["reason"]


def test_a_read_that_is_not_safe_starts_at_once_and_runs_alone():
    model = Streams((0.1, "safe"), (0.2, "alone"), (0.3, "safe"), (0.4, "safe"))
    watch, _, _ = play(model, lambda watch: [watch.tool("safe", 0.5, concurrency_safe=True), watch.tool("alone", 0.5)])
    assert {0: (0.1, 0.6), 1: (0.6, 1.1), 2: (1.1, 1.6), 3: (1.1, 1.6)} == watch.ran


def test_an_exclusive_call_runs_alone():
    model = Streams((0.0, "safe"), (0.0, "only"), (0.0, "safe"), ends_s=0.0)
    tools = lambda watch: [  # noqa: E731  read once
        watch.tool("safe", 0.5, concurrency_safe=True),
        watch.tool("only", 0.5, concurrency_safe=True, exclusive=True),
    ]
    watch, _, _ = play(model, tools)
    assert {0: (0.0, 0.5), 1: (0.5, 1.0), 2: (1.0, 1.5)} == watch.ran


def test_no_more_run_at_once_than_may():
    model = Streams(*[(0.0, "read")] * 5, ends_s=0.6)
    watch, _, _ = play(model, lambda watch: [watch.tool("read", 0.5, concurrency_safe=True)], max_parallel_calls=2)
    assert [(0.0, 0.5), (0.0, 0.5), (0.5, 1.0), (0.5, 1.0), (1.0, 1.5)] == [watch.ran[n] for n in range(5)]


@pytest.mark.parametrize(
    ("limits", "outcome"), [({}, CallOutcome.DONE), ({"tool_timeout_s": 60.0}, CallOutcome.FAILED)]
)
def test_a_tool_takes_as_long_as_it_says_unless_all_are_bounded(limits, outcome):
    model = Streams((1.0, "slow"))
    _, port, _ = play(model, lambda watch: [watch.tool("slow", 90.0, timeout_s=120.0)], **limits)
    assert [outcome] == [event.outcome for event in returned(port)]


def test_results_come_in_the_order_asked():
    model = Streams((0.0, "slow"), (0.0, "quick"), ends_s=0.0)
    tools = lambda watch: [  # noqa: E731  read once
        watch.tool("slow", 0.9, concurrency_safe=True),
        watch.tool("quick", 0.1, concurrency_safe=True),
    ]
    _, port, _ = play(model, tools)
    assert ["c1", "c0"] == [event.call_id for event in returned(port)]
    assert ["c0", "c1"] == [item.call_id for item in fold(port.events) if hasattr(item, "call_id")]


@pytest.mark.parametrize(
    ("flags", "outcome", "ended_s"),
    [
        ({}, CallOutcome.SKIPPED, 1.0),
        ({"effect": Effect.UNSAFE, "cancellable": True}, CallOutcome.UNKNOWN, 1.0),
        ({"effect": Effect.UNSAFE}, CallOutcome.DONE, 9.0),
        ({"cancellable": False}, CallOutcome.DONE, 9.0),
    ],
)
def test_f55_a_stop_ends_a_running_call_where_it_may_and_each_has_its_result(flags, outcome, ended_s):
    port = FakeTurnPort()

    class StopsLater(Streams):
        async def respond(self, request, on_event):
            asyncio.get_running_loop().call_later(1.0, port.stop)
            return await super().respond(request, on_event)

    model = StopsLater((0.0, "slow"), (0.0, "slow"), ends_s=0.0)
    watch, _, reason = play(model, lambda watch: [watch.tool("slow", 9.0, **flags)], port=port, allow_tools=("*",))
    assert EndReason.STOPPED is reason
    assert [outcome, CallOutcome.SKIPPED] == [event.outcome for event in returned(port)]
    assert (0.0, ended_s) == watch.ran[0]


def test_f55_a_stop_as_the_response_ends_gives_each_of_its_calls_a_result():
    port = FakeTurnPort()

    class StopsAtItsEnd(Streams):
        async def respond(self, request, on_event):
            response = await super().respond(request, on_event)
            port.record = stop_behind(port.record, port)
            return response

    model = StopsAtItsEnd((0.0, "write"), (0.0, "write"), ends_s=0.0)
    watch, _, reason = play(model, lambda watch: [watch.tool("write", 1.0, effect=Effect.UNSAFE)], port=port)
    assert (EndReason.STOPPED, {}) == (reason, watch.ran)
    assert [CallOutcome.SKIPPED] * 2 == [event.outcome for event in returned(port)]


def stop_behind(record, port):

    async def recording(*events):
        await record(*events)
        port.stop()

    return recording


def test_what_is_said_meanwhile_overtakes_what_has_not_started():
    port = FakeTurnPort()
    model = Streams(*[(0.0, "read")] * 6, ends_s=0.0)

    def tools(watch):
        async def run(_context, arguments):
            await passes(0.5)
            if not arguments.n:
                port.say("wait")
            return arguments.n

        return [a_tool("read", run, concurrency_safe=True)]

    play(model, tools, port=port, max_parallel_calls=2)
    results = returned(port)
    assert 6 == len(results)
    assert 2 == sum(event.outcome is CallOutcome.DONE for event in results)
    assert 1 == sum(isinstance(event, Steered) for event in port.events)


KINDS = {
    "safe": {"concurrency_safe": True},
    "read": {},
    "only": {"concurrency_safe": True, "exclusive": True},
    "write": {"effect": Effect.UNSAFE},
}


@pytest.mark.parametrize("order", list(product(KINDS, repeat=3)), ids="-".join)
def test_whatever_the_order_only_safe_calls_overlap_and_none_overtakes_a_write(order):
    model = Streams(*[(0.1 * at, name) for at, name in enumerate(order)], ends_s=1.0)
    tools = lambda watch: [watch.tool(name, 0.35, **flags) for name, flags in KINDS.items()]  # noqa: E731  read once
    watch, port, _ = play(model, tools, allow_tools=("*",))
    spans = [watch.ran[n] for n in range(3)]
    for first, second in ((0, 1), (0, 2), (1, 2)):
        if not order[first] == order[second] == "safe":
            assert spans[first][1] <= spans[second][0] + 1e-6
    assert [CallOutcome.DONE] * 3 == [event.outcome for event in returned(port)]
