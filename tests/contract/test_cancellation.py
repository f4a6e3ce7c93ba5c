"""A turn, cancelled at each step of the event loop: nothing is left open, and it can be resumed.

The points are all steps of the event loop while a whole turn runs over a real wire, with its tools, its steering and
its recovery: more than every await of it, because the awaited calls are cut, too.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import SecretStr

from agent.config import ModelConfig
from agent.loop import Agent, run_turn
from agent.models.select import build_model
from agent.ports import ChatModel
from agent.tools.base import Effect, ToolContext
from agent.transcript import EndReason, UserItem, fold
from gateway.testing.model import Answer, Call, Fault, Reply
from tests.fakes.agents import Number, a_tool, an_agent, double
from tests.fakes.model_server import ModelServer
from tests.fakes.strict_transcripts import flaws_in_items
from tests.fakes.turn_port import FakeTurnPort, a_turn
from tests.fakes.virtual_time import VirtualTimeLoop, passes, run_virtually

WIRES = ("openai", "anthropic")
BUSY = Fault(529, {"error": {"type": "overloaded_error", "message": "Overloaded"}})
THREE = Reply(calls=(Call("double", '{"n": 1}'), Call("double", '{"n": 2}'), Call("pay", '{"n": 3}')))
LEAST_POINTS = 200


def steps(body: dict[str, Any]) -> int:
    said = [message for message in body["messages"] if message["role"] == "assistant"]
    blocks = [block for message in said for block in (message.get("content") or []) if isinstance(block, dict)]
    return sum(bool(message.get("tool_calls")) for message in said) + len(
        {block["type"] for block in blocks} & {"tool_use"}
    )


def tools(body: dict[str, Any]) -> Answer:
    return THREE if steps(body) == 0 else Reply("All well.", chunk_chars=2)


def recovery(body: dict[str, Any]) -> Answer:
    """Cut at the first cap; then an answer."""
    cap = body.get("max_tokens") or body.get("max_completion_tokens")
    return Reply("Half of", finish="length", chunk_chars=2) if cap == 8192 else Reply("All well.", chunk_chars=2)


def odd(body: dict[str, Any]) -> Answer:
    return Reply(calls=(Call("no_such_tool"),)) if steps(body) == 0 else Reply("All well.", chunk_chars=2)


SCENES: dict[str, tuple[Callable[[dict[str, Any]], Answer], tuple[Answer, ...], int]] = {
    "tools": (tools, (), 0),
    "recovery": (recovery, (), 0),
    "odd call and steering": (odd, (), 1),
    "tried again": (tools, (BUSY, Reply("words " * 20, cut_after_chunks=4)), 0),
}
"""By name: the model's brain, what it answers before that, how many messages wait for the turn."""


class Rig:
    def __init__(self, loop: VirtualTimeLoop, server: ModelServer, wire: str) -> None:
        self._loop = loop
        self._server = server
        self._wire = wire
        self.paid = 0

    async def cancel_at(self, scene: str, point: int | None) -> int:
        """Cancel a turn at this point, look what is left, go on with it; how many points it had."""
        brain, script, waiting = SCENES[scene]
        self._server.brain, self.paid = brain, 0
        self._server.forget()
        self._server.answers(*script)
        port = FakeTurnPort(waiting=[UserItem("and this")] * waiting)
        before = asyncio.all_tasks()
        model = self._model()
        points = await self._run(port, self._agent(model), point)
        await model.aclose()
        await passes(2)
        left = [task for task in asyncio.all_tasks() - before if not _is_the_servers(task)]
        assert not left, left
        assert not self._server.connections
        assert not flaws_in_items(fold(port.events))
        if point is not None:
            await self._go_on(port)
        return points

    async def _run(self, port: FakeTurnPort, agent: Agent, point: int | None) -> int:
        points = 0
        running = asyncio.ensure_future(run_turn(a_turn(port), port.ports, agent))  # noqa: TID251  awaited below

        def tick() -> bool:
            nonlocal points
            points += 1
            return points == point and running.cancel()

        self._loop.on_select = tick
        try:
            await running
        except asyncio.CancelledError:
            assert point is not None
        finally:
            self._loop.on_select = lambda: False
        return points

    async def _go_on(self, port: FakeTurnPort) -> None:
        self._server.forget()
        again = FakeTurnPort(events=port.events, waiting=port.waiting)
        model = self._model()
        assert EndReason.COMPLETED is await run_turn(a_turn(again), again.ports, self._agent(model))
        assert "All well." in again.answer
        assert 1 >= self.paid
        await model.aclose()

    def _model(self) -> ChatModel:
        url = self._server.base_url if self._wire == "openai" else self._server.root_url
        key = SecretStr("sk-cancelled-0123456789")
        return build_model(ModelConfig(name=f"{self._wire}:test", base_url=url, api_key=key, local=False))

    def _agent(self, model: ChatModel) -> Agent:
        async def pay(_context: ToolContext, arguments: Number) -> int:
            await asyncio.sleep(0)
            self.paid += 1
            await asyncio.sleep(0)
            return arguments.n

        reads = a_tool("double", double, concurrency_safe=True)
        return an_agent(model, reads, a_tool("pay", pay, effect=Effect.UNSAFE), allow_tools=("*",))


def _is_the_servers(task: asyncio.Task[Any]) -> bool:
    return getattr(task.get_coro(), "__qualname__", "").startswith("RequestHandler.")


def play(wire: str, scene: str, every: int) -> int:
    """Cancel at every so many of its points; how many were tried."""
    tried = 0

    async def on(loop: VirtualTimeLoop) -> None:
        nonlocal tried
        loop.sockets_s = 0.003
        async with ModelServer() as server:
            rig = Rig(loop, server, wire)
            whole = await rig.cancel_at(scene, None)
            for point in range(1, whole + 1, every):
                try:
                    await rig.cancel_at(scene, point)
                except BaseException as problem:
                    problem.add_note(f"cancelled at {point} of {whole}")
                    raise
                tried += 1

    run_virtually(on)
    return tried


@pytest.mark.timeout(120)
@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("wire", WIRES)
def test_a_turn_cancelled_at_some_points_leaves_nothing_behind(wire: str, scene: str) -> None:
    assert play(wire, scene, every=9) > 0


@pytest.mark.gate
@pytest.mark.timeout(300)
def test_a_turn_cancelled_at_every_point_leaves_nothing_behind() -> None:
    tried = {(wire, scene): play(wire, scene, every=1) for wire in WIRES for scene in SCENES}
    assert LEAST_POINTS <= sum(tried.values()), tried
