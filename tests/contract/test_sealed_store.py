"""Sealed tokens: none in plain text, and all move to a new key while in use."""

from datetime import timedelta
from pathlib import Path

import sqlalchemy as sa
from pydantic import SecretStr

from channels.messages import Address, ChatKind, CommandInvoked, Route, Sender
from gateway.ops.key_rotation import AT_ONCE, KeyRotation
from gateway.safety.vault import Vault, load_keys
from gateway.store import inbox, reply_routes
from gateway.store.engine import Store
from gateway.store.inbox import NewRow
from gateway.store.tables.traffic import reply_routes as routes
from tests.contract.stores import StoreCase
from tests.fakes.spine import NOON

TOKEN = "canary-token-of-one-interaction"


def invoked(number: int, token: str = TOKEN) -> CommandInvoked:
    return CommandInvoked(
        event_id=f"i:{number}",
        address=Address("sim", "main", "c7"),
        sender=Sender("7", "Ana"),
        received_at=NOON,
        name="help",
        arguments="",
        kind=ChatKind.DIRECT,
        route=Route("interaction", token, NOON + timedelta(minutes=15)),
    )


async def tokens(store: Store) -> list[str]:
    return await store.read(lambda c: list(c.execute(sa.select(routes.c.token).order_by(routes.c.inbox_id)).scalars()))


async def test_plain_rows_of_before_are_sealed_by_the_first_start(case: StoreCase, tmp_path: Path) -> None:
    store = await case.open()
    for number in range(AT_ONCE + 1):
        await store.commit(lambda c, n=number: inbox.admit(c, NewRow(invoked(n), "u1", "k"), NOON))
    first = KeyRotation(store, tmp_path)
    assert (AT_ONCE + 1, 0) == await first.reseal()
    assert (0, 0) == await first.reseal()
    whose = reply_routes.secret_of("default", "sim:7")
    assert {TOKEN} == {Vault(load_keys(tmp_path)).open(token, whose) for token in await tokens(store)}
    await store.aclose()


async def test_a_rotation_brings_all_under_a_new_key(case: StoreCase, tmp_path: Path) -> None:
    store = await case.open()
    await store.commit(lambda c: inbox.admit(c, NewRow(invoked(1), "u1", "k"), NOON))
    rotation = KeyRotation(store, tmp_path)
    await rotation.reseal()
    (before,), old = await tokens(store), load_keys(tmp_path)
    answer = await rotation.rotate()
    (after,), new = await tokens(store), load_keys(tmp_path)
    whose = reply_routes.secret_of("default", "sim:7")
    assert (1, 0, 1) == (answer.sealed, answer.lost, len(new))
    assert old != new
    assert TOKEN == Vault(new).open(after, whose) == rotation.vault.open(before, whose)
    configured = KeyRotation(store, tmp_path, SecretStr("A" * 43 + "="))
    refused = await configured.rotate()
    assert (0, 1) == (refused.sealed, refused.lost)
    assert load_keys(tmp_path) == new
    assert [after] == await tokens(store)
    await store.aclose()
