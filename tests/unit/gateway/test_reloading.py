"""A changed configuration: what is applied, and the end of replaced channels."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from channels.messages import Address
from gateway.cli.run import Rereading
from gateway.config.editing import draft
from gateway.config.settings import Settings, load
from gateway.errors import SettingsError
from gateway.inbound.connections import ChannelAccount
from gateway.reloading import changed_keys, waits_for_start
from gateway.store.engine import Store
from tests.unit.gateway.test_manager import Runs, managed, store, until

__all__ = ["store"]  # a fixture

PRICES = "[model.prices]\ninput_usd_per_mtok = 1\noutput_usd_per_mtok = 1\n"


def settings(tmp_path: Path, config: str) -> Settings:
    (tmp_path / "gateway.toml").write_text(config)
    return load(tmp_path / "gateway.toml", {})


def test_every_key_that_differs_is_named(tmp_path: Path) -> None:
    before = settings(tmp_path, '[access]\ndirect = "open"\n' + PRICES)
    after = settings(tmp_path, '[http]\nlisten = "[::1]:9"\n' + PRICES.replace("1", "2", 1))
    keys = list(changed_keys(before, after))
    assert [("http", "listen"), ("access", "direct"), ("model", "prices", "input_usd_per_mtok")] == keys
    assert [True, False, False] == [waits_for_start(key) for key in keys]
    assert [] == list(changed_keys(after, after))


@pytest.mark.parametrize("key", ["gateway.home", "agent.product", "channels.web.title", "permissions.auto.model"])
def test_what_is_made_once_waits_for_the_next_start(key: str) -> None:
    assert waits_for_start(tuple(key.split(".")))
    assert not waits_for_start((*key.split(".")[:1], "x")) or key.startswith("gateway")


async def test_accounts_come_go_and_start_anew(store: Store) -> None:
    made: dict[str, list[Runs]] = {"a": [], "b": [], "c": []}

    def account(name: str, config: str) -> ChannelAccount:
        def make() -> Runs:
            made[name].append(Runs(name=name))
            return made[name][-1]

        return ChannelAccount(name, "main", make, config=config)

    async with managed(store) as (manager, _):
        await manager.reconfigure([account("a", "1"), account("b", "1")])
        first = await manager.when_loaded(Address("a", "main", "1"))
        await manager.when_loaded(Address("b", "main", "1"))
        await manager.reconfigure([account("a", "2"), account("c", "1")])
        again = await manager.when_loaded(Address("a", "main", "1"))
        await manager.when_loaded(Address("c", "main", "1"))
        assert first is not again
        assert {"a:main", "c:main"} == set(manager.states())
        b = Address("b", "main", "1")
        assert (False, True) == (manager.is_configured(b), manager.is_configured(replace(b, channel="a")))
        assert {"a:main", "c:main"} == set(manager.reports())
        await until(lambda: manager.now_loaded(b) is None)  # what was on its way out had its time: it is closed
        async with asyncio.TaskGroup() as tasks:
            owed = tasks.create_task(manager.when_loaded(b))
            await manager.reconfigure([account("a", "2"), account("c", "1")])
            assert again is await manager.when_loaded(Address("a", "main", "1"))
            assert not owed.done()
            await manager.reconfigure([account("a", "2"), account("b", "1"), account("c", "1")])
        assert owed.result() is made["b"][1]
    assert [2, 2, 1] == [len(channels) for channels in made.values()]


def test_a_file_that_is_gone_or_emptied_is_not_taken_for_the_whole(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text("[access]\ndirect = 'allowlist'\n")
    again = Rereading(file)
    assert "allowlist" == again().access.direct
    for text in ("", " \n"):
        file.write_text(text)
        with pytest.raises(SettingsError, match=r"gateway\.toml: is now empty or gone, but had text at the last read"):
            again()
    file.unlink()
    with pytest.raises(SettingsError, match="there is no such file"):
        again()
    file.write_text("[access]\ndirect = 'open'\n")
    assert "open" == again().access.direct


def test_a_file_whose_last_value_a_command_removed_is_reloaded(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text("[mcp.tickets]\nurl = 'http://127.0.0.1:9/mcp'\n")
    (tmp_path / "secrets.toml").write_text("[mcp.tickets.headers]\nauthorization = 'Bearer x'\n")
    (tmp_path / "secrets.toml").chmod(0o600)
    again = Rereading(file)
    assert {"tickets"} == set(again().mcp)
    draft(file, {}, {("mcp", "tickets"): None}).write()
    assert {} == again().mcp
