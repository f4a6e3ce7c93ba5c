"""Several machines answer as one: what comes in comes to whom it concerns, and what one leaves another takes up."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import Reply
from tests.fakes.nats import NatsServer
from tests.fakes.postgres import PostgresServer
from tests.journeys.machines import machines

pytestmark = [pytest.mark.gate, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL of these tests' own."""
    with PostgresServer() as running:
        yield running


async def test_words_by_nats_and_a_worker_without(tmp_path: Path, server: PostgresServer) -> None:
    """Where one has NATS, one has none, and then NATS is gone, every message is answered; the status says which way."""
    with NatsServer() as nats:
        async with machines(
            tmp_path, server, ["ingress", "worker", "worker", "egress"], nats=[nats.url, nats.url, "", nats.url]
        ) as all_:
            here = all_.here
            here.model.brain = lambda _body: Reply("Here.")
            for chat in range(1, 9):
                here.sim.say(chat, "hello")
            for chat in range(1, 9):
                await here.told(chat, "Here.")
            for number, way in enumerate([f"NATS at 127.0.0.1:{nats.port}"] * 2 + ["PostgreSQL"]):
                await all_.until(number, lambda said, way=way: said["wake_ups"] == way)  # type: ignore[misc]  a default
            nats.kill()
            for chat in range(11, 15):
                here.sim.say(chat, "hello")
            for chat in range(11, 15):
                await here.told(chat, "Here.")
            await all_.until(0, lambda said: "not usable" in said["wake_ups"])
            await all_.until(
                1, lambda said: [0, 0, 128, 128] == sorted(one["shards"] for one in said["members"].values())
            )
