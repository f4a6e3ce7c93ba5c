"""The model of `make bench ARGS=scale` does what queues do; what it says of the gateway is held against runs there."""

from dataclasses import replace

import pytest

from tests.bench.scale import COMMITS, Costs, Machine

COSTS = Costs(cpu_s=0.004, group_s=0.001, commit_s=0.002, job_s=0.0, around_s=0.01)


def test_a_message_alone_takes_the_sum_of_its_parts() -> None:
    """Nobody is waited for; no stage is longer or shorter than three tenths off."""
    _, p50_ms, _ = Machine(COSTS).closed_loop(1, 40)
    parts_s = COSTS.cpu_s + COMMITS * (COSTS.group_s + COSTS.commit_s) + COSTS.model_s + COSTS.around_s
    assert parts_s * 1000 == pytest.approx(p50_ms, rel=0.1)


def test_many_share_commits_and_no_more_is_computed_than_there_is_time_for() -> None:
    """The rate of a hundred chats is that of the interpreter; of their commits most are shared."""
    machine = Machine(COSTS)
    per_s, _, _ = machine.closed_loop(100, 20)
    assert 0.7 / COSTS.cpu_s < per_s < 1 / COSTS.cpu_s
    assert machine.commits < len(machine.took_s)


def test_processes_carry_what_one_cannot() -> None:
    """A queue that grows in one is none in three; the same seed is the same run."""
    one, three, again = (Machine(COSTS, processes).arriving(400.0, 10.0) for processes in (1, 3, 3))
    assert three == again
    assert one[2] > 5 * three[2]


def test_half_a_processor_is_half_as_fast() -> None:
    """Whatever waits for a disk or a model waits no longer."""
    whole, half = Machine(COSTS), Machine(COSTS.on_a_share(0.5))
    assert replace(COSTS, cpu_s=0.008, group_s=0.002) == COSTS.on_a_share(0.5)
    assert half.closed_loop(100, 20)[0] == pytest.approx(whole.closed_loop(100, 20)[0] / 2, rel=0.15)
