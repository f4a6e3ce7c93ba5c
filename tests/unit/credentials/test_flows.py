"""A login flow: for ten minutes, once, for the person who began it; its page shows text only."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from agent.ports import Principal
from gateway.credentials.oauth import OAuthFlows
from gateway.http.oauth_page import page_of
from gateway.safety.vault import Vault
from gateway.store.engine import Store
from gateway.store.tables.people import tickets
from tests.fakes.practice_reader import add_people
from tests.fakes.spine import quick_store

ANA, BEN = (Principal(name, "default") for name in ("ana", "ben"))


class Hand:
    now = datetime(2026, 3, 4, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await quick_store(tmp_path / "tenk.db")
    await store.commit(lambda connection: add_people(connection, ANA, BEN))
    yield store
    await store.aclose()


async def test_a_state_is_good_once_in_time_and_for_its_person(store: Store) -> None:
    clock, vault = Hand(), Vault.fresh()
    flows = OAuthFlows(store, vault, clock)
    flow = await flows.begin(ANA, "acme")
    assert (64, flow) == (len(flow.verifier), await flows.of_person(ANA, "acme"))
    assert [None, None] == [await flows.redeem(BEN, flow.state), await flows.redeem(ANA, "other")]
    flows = OAuthFlows(store, vault, clock)
    assert [flow, None] == [await flows.redeem(ANA, flow.state) for _ in range(2)]
    old, new = await flows.begin(ANA, "acme"), await flows.begin(ANA, "acme")
    assert [None, new] == [await flows.redeem(ANA, each.state) for each in (old, new)]
    late = await flows.begin(ANA, "acme")
    clock.now += timedelta(minutes=10)
    assert (None, None) == (await flows.redeem(ANA, late.state), await flows.of_person(BEN, "acme"))
    assert flow.verifier not in repr(flow)


async def test_neither_state_nor_verifier_is_readable_in_the_database(store: Store) -> None:
    clock = Hand()
    flows = OAuthFlows(store, Vault.fresh(), clock)
    await flows.begin(BEN, "acme")
    clock.now += timedelta(minutes=10)
    flow = await flows.begin(ANA, "acme")
    again = await flows.begin(ANA, "acme")
    rows = await store.read(lambda connection: [tuple(row) for row in connection.execute(sa.select(tickets))])
    kept = await store.read(lambda connection: connection.execute(sa.select(tickets.c.sealed)).scalars().all())
    assert (3, 1) == (len(rows), kept.count(None))
    assert not [secret for secret in (flow.state, flow.verifier, again.state, again.verifier) if secret in repr(rows)]
    others = OAuthFlows(store, Vault.fresh(), clock)
    assert await others.of_person(ANA, "acme") is None
    assert await others.redeem(ANA, again.state) is None


@pytest.mark.parametrize(("code", "state"), [("", "s"), ("c", ""), ("c" * 5000, "s")])
def test_the_page_without_a_code_says_so(code: str, state: str) -> None:
    assert "Almost connected" in page_of("en", code, state)
    assert "/connect" not in page_of("es", code, state)


def test_the_page_shows_a_command_as_text() -> None:
    page = page_of("en", "<script>", '"&{state}')
    assert "/connect &lt;script&gt;#&quot;&amp;{state}" in page
    assert "<script" not in page
