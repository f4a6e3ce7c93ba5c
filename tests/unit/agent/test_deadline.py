"""A turn's deadline, and the part of it for its model."""

import pytest

from agent.bounded import Deadline
from agent.config import ModelConfig
from agent.loop import run_turn
from agent.models.link import ModelLink
from agent.models.scripted import Says, ScriptedModel, calls
from agent.transcript import EndReason
from tests.fakes.agents import a_tool, an_agent, double
from tests.fakes.turn_port import FakeTurnPort, a_turn
from tests.fakes.virtual_time import run_virtually

LOCAL = "http://127.0.0.1:11434/v1"


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_held_time_does_not_count_up_to_its_bound() -> None:
    clock = Clock()
    deadline = Deadline(10, 5, clock)
    seen = []
    for held, passes_s in [(False, 4), (True, 3), (False, 1), (True, 4), (True, 2)]:
        deadline.hold(held)
        clock.now_s += passes_s
        seen.append(deadline.remaining_s())
    assert [6, 6, 5, 3, 1] == seen


def turn(base_url: str | None, *delays_s: float, deadline_s: float = 150.0) -> tuple[EndReason, FakeTurnPort]:
    script = [calls(("double", "{}")) for _ in delays_s[1:]] + [Says("done", word_s=0.1)]
    port = FakeTurnPort()
    ends: list[EndReason] = []

    async def play(_loop: object) -> None:
        waits = [Says(one.text, one.calls, delay_s=delay_s) for one, delay_s in zip(script, delays_s, strict=True)]
        model = ModelLink(ScriptedModel(waits), ModelConfig(base_url=base_url))
        agent = an_agent(model, a_tool("double", double), deadline_s=deadline_s)
        ends.append(await run_turn(a_turn(port), port.ports, agent))

    run_virtually(play)  # type: ignore[arg-type]  any loop
    return ends[0], port


@pytest.mark.parametrize("delays_s", [(286,), (100, 100, 100), (149, 800)])
def test_a_local_model_that_works_outlives_the_deadline_of_its_turn(delays_s: tuple[float, ...]) -> None:
    reason, port = turn(LOCAL, *delays_s)
    assert (EndReason.COMPLETED, "done") == (reason, port.answer)


def test_a_model_elsewhere_does_not() -> None:
    reason, _ = turn(None, 40, 50, deadline_s=60)
    assert EndReason.TIMEOUT is reason


def test_a_local_model_has_its_bound_too() -> None:
    reason, _ = turn(LOCAL, *[840] * 5)
    assert EndReason.TIMEOUT is reason
