"""Pipeline and executor: one result for every call, and only permitted calls run."""

import asyncio
import json

import pytest
from pydantic import BaseModel

from agent.errors import Fenced
from agent.journal import open_calls
from agent.permissions.chain import PermissionChain
from agent.ports import LocalEffect
from agent.tools.base import Effect, Tool, ToolError, tool, tools_of
from agent.tools.executor import Executor
from agent.tools.guards import ChainPermissions, name_rules
from agent.tools.pipeline import Pipeline
from agent.tools.toolbox import ToolBox
from agent.transcript import CallOutcome, ModelResponded, ToolCall, ToolIntended, ToolResultRewritten
from agent.turn_progress import ToolEnded, ToolStarted
from tests.fakes.turn_port import FakeTurnPort


class Number(BaseModel):
    n: int = 0


class Bench:
    """Tools that note what they did."""

    def __init__(self):
        self.began = []
        self.running = 0
        self.most = 0

    @tool(Number, effect=Effect.NONE, concurrency_safe=True)
    async def read(self, context, arguments):
        """Read a number."""
        self.began.append(arguments.n)
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.running -= 1
        return arguments.n

    @tool(Number, effect=Effect.LOCAL)
    async def edit(self, context, arguments):
        """Change a number."""
        self.began.append(f"edit {arguments.n}")
        self.most = max(self.most, self.running + 10 * self.running)
        return LocalEffect(changed, arguments.n)

    @tool(Number)
    async def send(self, context, arguments):
        """Send a number away."""
        self.began.append(f"send {arguments.n}")
        return "sent"


def changed(_change, n):
    return n


def a_tool(name, run, effect=Effect.NONE, **flags):
    return Tool(name=name, description=name, arguments=Number, run=run, effect=effect, **flags)


async def run(port, tools, *wanted, allow=(), deny=(), max_calls=50, max_parallel=10, remaining_s=60.0):
    response = ModelResponded(0, "", tuple(ToolCall(f"c{i}", name, args) for i, (name, args) in enumerate(wanted)))
    scope = port.scope([response], remaining_s, max_calls=max_calls, max_parallel_calls=max_parallel)
    permissions = ChainPermissions(chain=PermissionChain(rules=name_rules(allow, deny)))
    journal, executor = scope.journal, Executor(Pipeline(scope=scope, tools=ToolBox(tools), permissions=permissions))
    ended = await executor.run(open_calls(journal.events))
    assert () == open_calls(journal.events), "every call has its result"
    assert port.events == journal.events[1:], "what is journaled is what is known"
    return sorted((one.returned for one in ended), key=lambda returned: returned.call_id)


def error(returned):
    return json.loads(returned.content)["error"]


async def test_read_read_edit_read_run_as_three():
    bench, port = Bench(), FakeTurnPort(run_effect=lambda effect: json.dumps({"data": effect.arguments[0]}))
    wanted = [("read", '{"n": 1}'), ("read", '{"n": 2}'), ("edit", '{"n": 3}'), ("read", '{"n": 4}')]
    results = await run(port, tools_of(bench), *wanted)
    assert [1, 2, 3, 4] == [json.loads(one.content)["data"] for one in results]
    assert [1, 2, "edit 3", 4] == bench.began
    assert 2 == bench.most


async def test_f37_too_many_calls_are_refused_and_the_rest_run_a_few_at_a_time():
    bench, port = Bench(), FakeTurnPort()
    wanted = [("read", f'{{"n": {n}}}') for n in range(60)]
    results = await run(port, tools_of(bench), *wanted)
    assert 50 == len(bench.began)
    assert 10 == bench.most
    assert 10 == sum("at most 50" in (error(one) or "") for one in results)


async def test_only_outside_effects_journal_an_intent():
    bench, port = Bench(), FakeTurnPort(run_effect=lambda _: "{}")
    await run(port, tools_of(bench), ("read", "{}"), ("edit", "{}"), ("send", "{}"), allow=("send",))
    assert ["t/0/2"] == [event.call_key for event in port.events if isinstance(event, ToolIntended)]


async def test_a_denied_tool_does_not_run_whatever_allows_it():
    bench, port = Bench(), FakeTurnPort()
    (returned,) = await run(port, tools_of(bench), ("send", "{}"), allow=("*",), deny=("se*",))
    assert CallOutcome.DENIED is returned.outcome
    assert "forbid" in error(returned)
    assert ([], 1) == (bench.began, len(port.events))


@pytest.mark.parametrize("effect", list(Effect))
async def test_f46_whatever_a_tool_raises_is_its_result(effect):

    async def burst(_context, _arguments):
        raise RuntimeError("password=hunter2")

    port = FakeTurnPort()
    (returned,) = await run(port, [a_tool("burst", burst, effect)], ("burst", "{}"), allow=("*",))
    outside = effect in {Effect.UNSAFE, Effect.IDEMPOTENT}
    assert (CallOutcome.UNKNOWN if outside else CallOutcome.FAILED) is returned.outcome
    assert "RuntimeError" in error(returned)
    assert "hunter2" not in returned.content


async def test_f48_a_tool_that_ignores_cancellation_is_left_behind():
    release = asyncio.Event()

    async def stubborn(_context, _arguments):
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    tool = a_tool("stubborn", stubborn, Effect.UNSAFE, timeout_s=0.01)
    (returned,) = await run(FakeTurnPort(), [tool], ("stubborn", "{}"), allow=("*",))
    assert CallOutcome.UNKNOWN is returned.outcome
    assert "unknown" in error(returned)
    release.set()


async def test_f49_a_long_result_is_journaled_raw_and_shown_as_a_preview():

    async def long(_context, _arguments):
        return "x" * 5000

    port = FakeTurnPort()
    (returned,) = await run(port, [a_tool("long", long, max_result_chars=1000)], ("long", "{}"))
    assert len(returned.content) <= 1000
    raw, rewritten = port.events
    assert len(raw.content) > 5000
    assert ToolResultRewritten(0, "t/0/0", "c0", returned.content, is_cut=True) == rewritten


@pytest.mark.parametrize("calls", [1, 3])
async def test_f62_a_fenced_write_ends_the_turn_as_such(calls):
    port = FakeTurnPort()

    async def record(*_events):
        raise Fenced("gone")

    port.record = record
    with pytest.raises(Fenced):
        await run(port, tools_of(Bench()), *[("read", "{}")] * calls)


async def test_a_local_effect_may_be_refused_where_it_runs():

    def refuse(_effect):
        raise ToolError("that session is not yours", {"refused": "unknown_session"})

    (returned,) = await run(FakeTurnPort(run_effect=refuse), tools_of(Bench()), ("edit", "{}"))
    assert (CallOutcome.FAILED, "that session is not yours") == (returned.outcome, error(returned))
    assert {"refused": "unknown_session"} == json.loads(returned.content)["data"]


async def test_a_turn_out_of_time_starts_nothing():
    bench = Bench()
    (returned,) = await run(FakeTurnPort(), tools_of(bench), ("read", "{}"), remaining_s=0.0)
    assert (CallOutcome.SKIPPED, []) == (returned.outcome, bench.began)


async def test_a_watcher_sees_tools_begin_and_end():
    port = FakeTurnPort()
    read, nothing = await run(port, tools_of(Bench()), ("read", "{}"), ("nothing", "{}"))
    assert [
        ToolStarted("read", "t/0/0", '{"n":0}'),
        ToolEnded("read", CallOutcome.DONE, "t/0/0", read.content),
        ToolEnded("nothing", CallOutcome.FAILED, "t/0/1", nothing.content),
    ] == port.progressed
