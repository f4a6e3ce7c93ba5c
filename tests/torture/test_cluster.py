"""Three machines on one PostgreSQL, under everything that breaks."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.nats import NatsServer, binary
from tests.fakes.postgres import PostgresServer
from tests.torture.chaos import RESTART_S, run_chaos, run_restarts

FAULTS = int(os.environ.get("TORTURE_FAULTS", "40"))
"""Of one long campaign."""

TURNS = int(os.environ.get("TORTURE_TURNS", "5000"))
"""Of R8."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL of these tests' own: it is killed now and then."""
    with PostgresServer() as running:
        yield running


@pytest.fixture(scope="module")
def nats() -> Iterator[NatsServer | None]:
    """A NATS of these tests' own, where there is one; it is killed now and then."""
    if binary() is None:
        yield None
    else:
        with NatsServer() as running:
            yield running


@pytest.mark.gate
@pytest.mark.timeout(200)
async def test_three_machines_lose_nothing_and_double_nothing(
    tmp_path: Path, server: PostgresServer, nats: NatsServer | None, record_property: Callable[[str, object], None]
) -> None:
    """Kills, pauses, cut ways and a server that restarts: 0 lost, 0 doubled but for D2's marks, order kept."""
    verdict, chaos = await run_chaos(tmp_path, server, faults=4, chats=6, seed=3, nats=nats)
    record_property("campaign", f"{' '.join(chaos.done)}: {verdict.line()}")
    assert [] == verdict.broken, f"{' '.join(chaos.done)}: {verdict.line()}"


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("roles", [("all", "all", "all"), ("ingress", "worker", "worker", "egress")], ids="-".join)
async def test_a_long_campaign_over_machines(
    tmp_path: Path,
    server: PostgresServer,
    nats: NatsServer | None,
    roles: tuple[str, ...],
    record_property: Callable[[str, object], None],
) -> None:
    """The same for long, also where each does a part."""
    verdict, chaos = await run_chaos(tmp_path, server, faults=FAULTS, chats=12, seed=5, roles=roles, nats=nats)
    record_property("campaign", f"{' '.join(chaos.done)}: {verdict.line()}")
    assert [] == verdict.broken, f"{' '.join(chaos.done)}: {verdict.line()}"


@pytest.mark.long
@pytest.mark.timeout(3600)
async def test_a_server_that_dies_all_the_while_loses_no_turn(
    tmp_path: Path, server: PostgresServer, record_property: Callable[[str, object], None]
) -> None:
    """FAULTS R8: every 5 to 40 s, under 5,000 turns on three machines."""
    verdict, chaos = await run_restarts(tmp_path, server, turns=TURNS, chats=40, seed=8, restart_s=RESTART_S)
    record_property("campaign", f"{len(chaos.done)} restarts: {verdict.line()}")
    assert [] == verdict.broken, verdict.line()
