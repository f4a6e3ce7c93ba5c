"""Three machines on one PostgreSQL, under everything that breaks."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.postgres import PostgresServer
from tests.torture.chaos import run_chaos

FAULTS = int(os.environ.get("TORTURE_FAULTS", "40"))
"""Of one long campaign."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL of these tests' own: it is killed now and then."""
    with PostgresServer() as running:
        yield running


@pytest.mark.gate
@pytest.mark.timeout(200)
async def test_three_machines_lose_nothing_and_double_nothing(
    tmp_path: Path, server: PostgresServer, record_property: Callable[[str, object], None]
) -> None:
    """Kills, pauses, cut ways and a server that restarts: 0 lost, 0 doubled but for D2's marks, order kept."""
    verdict, chaos = await run_chaos(tmp_path, server, faults=4, chats=6, seed=3)
    record_property("campaign", f"{' '.join(chaos.done)}: {verdict.line()}")
    assert [] == verdict.broken, f"{' '.join(chaos.done)}: {verdict.line()}"


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("roles", [("all", "all", "all"), ("ingress", "worker", "worker", "egress")], ids="-".join)
async def test_a_long_campaign_over_machines(
    tmp_path: Path, server: PostgresServer, roles: tuple[str, ...], record_property: Callable[[str, object], None]
) -> None:
    """The same for long, also where each does a part."""
    verdict, chaos = await run_chaos(tmp_path, server, faults=FAULTS, chats=12, seed=5, roles=roles)
    record_property("campaign", f"{' '.join(chaos.done)}: {verdict.line()}")
    assert [] == verdict.broken, f"{' '.join(chaos.done)}: {verdict.line()}"
