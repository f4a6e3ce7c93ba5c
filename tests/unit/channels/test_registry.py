"""Channels are found by name, imported only when asked for, and missing ones are explained."""

import sys
from pathlib import Path

import pytest

from channels.registry import ChannelNotInstalled, UnknownChannel, account_model, channel_names, load_channel
from channels.telegram.adapter import TelegramChannel
from gateway.config.settings import SettingsError, load, read_sources
from gateway.product import check_names

SMALL = ("small", "broken", "raising", "gone", "twice")
ADAPTERS = """
from pydantic import BaseModel
from channels.base import Limits, TextUnit
from channels.viewers.plain_renderer import PlainRenderer

class Account(BaseModel):
    port: int = 1

class Small:
    name, account_model, renderer = "small", Account, PlainRenderer()
    limits = Limits(max_text=100, unit=TextUnit.CHARS)
    def __init__(self, config):
        self.account = config.name
    async def connections(self): return ()
    async def send(self, part): ...
    async def aclose(self): ...

class Broken:
    account_model = Account
    limits = 100
    def __init__(self, config): ...
    def connections(self): return ()
    def send(self, part): ...

class Raising(Small):
    def __init__(self, config, more): ...

class Twice(Small):
    account_model = int
"""


@pytest.fixture
def offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "offering-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: offering\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[tenk.channels]\n"
        "telegramtoo = channels.telegram.adapter:TelegramChannel\n"
        "lacking = adapter_that_lacks:Channel\n"
        "editable = module_of_a_path_not_read:Channel\n"
        "noclass = channels.telegram.limits:TELEGRAM_LIMITS\n"
        "older = adapter_of_before:Channel\n" + "".join(f"{name} = small_adapters:{name.title()}\n" for name in SMALL)
    )
    (tmp_path / "small_adapters.py").write_text(ADAPTERS)
    (tmp_path / "adapter_that_lacks.py").write_text("import an_sdk_nobody_has\n")
    (tmp_path / "adapter_of_before.py").write_text(
        "from pydantic import BaseModel\nclass Account(BaseModel):\n    name: str\n"
        "class Channel:\n    account_model = Account\n"
        "    async def run(self, sink): ...\n    async def send(self, part): ...\n    async def aclose(self): ...\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("offered")
def test_offered_channels_are_listed_without_importing_them():
    assert {"telegramtoo", "lacking", "noclass"} <= set(channel_names())
    assert "adapter_that_lacks" not in sys.modules


@pytest.mark.usefixtures("offered")
def test_channel_is_loaded_by_name():
    assert TelegramChannel is load_channel("telegramtoo")


@pytest.mark.usefixtures("offered")
def test_missing_sdk_is_explained():
    with pytest.raises(ChannelNotInstalled, match="'lacking' needs an_sdk_nobody_has, which is not installed"):
        load_channel("lacking")


@pytest.mark.usefixtures("offered")
def test_a_channel_that_was_installed_beside_a_running_gateway_asks_for_a_restart():
    with pytest.raises(
        ChannelNotInstalled, match=r"'editable' is installed, but .* module_of_a_path_not_read: restart"
    ):
        load_channel("editable")


@pytest.mark.usefixtures("offered")
def test_unknown_name_lists_what_there_is():
    with pytest.raises(UnknownChannel, match=r"there are: .*telegramtoo"):
        load_channel("telegrm")


@pytest.mark.usefixtures("offered")
def test_entry_point_that_names_no_class_is_refused():
    with pytest.raises(TypeError, match="names no class"):
        load_channel("noclass")


@pytest.mark.usefixtures("offered")
def test_channel_without_a_model_of_its_accounts_cannot_be_configured():
    with pytest.raises(TypeError, match="has no account_model"):
        account_model("telegramtoo")


@pytest.mark.usefixtures("offered")
def test_an_adapter_without_connections_stops_the_start_and_is_told_what_to_write(tmp_path: Path):
    (tmp_path / "gateway.toml").write_text("[channels.older.main]\n")
    words = (
        r"gateway\.toml:1: channels\.older: its adapter adapter_of_before:Channel has no connections\(\); "
        r"an adapter with one connection adds `async def connections\(self\): return \(self,\)`"
    )
    with pytest.raises(SettingsError, match=words):
        load(tmp_path / "gateway.toml", {})


@pytest.mark.usefixtures("offered")
def test_an_account_has_the_fields_of_every_account(tmp_path: Path):
    (tmp_path / "gateway.toml").write_text('[channels.small.one]\nport = 2\n[channels.small.two]\npacing = "strict"\n')
    settings = load(tmp_path / "gateway.toml", {})
    check_names(settings, read_sources(tmp_path / "gateway.toml", {}))
    accounts = [account for _, account in settings.channels.accounts()]
    assert [("one", "default", "adaptive"), ("two", "default", "strict")] == [
        (account.name, account.tenant, account.pacing) for account in accounts
    ]
    assert [2, 1] == [account.port for account in accounts]  # type: ignore[attr-defined]  # of its own model


@pytest.mark.usefixtures("offered")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "broken",
            (
                r"its adapter small_adapters:Broken needs the attribute name = 'broken', the name of its entry point; "
                r"needs the attribute account = 'main', the name of its account; "
                r"needs the attribute limits, a channels\.base\.Limits; "
                r"needs the attribute renderer, like channels\.viewers\.plain_renderer\.PlainRenderer\(\); "
                r"needs the method `async def connections`; needs the method `async def send`; "
                r"needs the method `async def aclose`"
            ),
        ),
        ("raising", r"the channel cannot be made: TypeError: .*missing 1 required positional argument: 'more'"),
        ("gone", r"it cannot be imported: AttributeError: .*has no attribute 'Gone'"),
        ("twice", r"channel 'twice' has no account_model"),
    ],
)
def test_a_channel_that_cannot_run_is_refused_by_the_check(tmp_path: Path, name: str, words: str):
    file = tmp_path / "gateway.toml"
    file.write_text(f"[channels.{name}.main]\n")
    with pytest.raises(SettingsError, match=rf"gateway\.toml:1: channels\.{name}.*: {words}"):
        check_names(load(file, {}), read_sources(file, {}))
