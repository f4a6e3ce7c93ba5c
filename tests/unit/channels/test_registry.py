"""Channels are found by name, imported only when asked for, and missing ones are explained."""

import sys
from pathlib import Path

import pytest

from channels.registry import ChannelNotInstalled, UnknownChannel, account_model, channel_names, load_channel
from channels.telegram.adapter import TelegramChannel
from gateway.config.settings import SettingsError, load


@pytest.fixture
def offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "offering-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: offering\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[tenk.channels]\n"
        "telegramtoo = channels.telegram.adapter:TelegramChannel\n"
        "lacking = adapter_that_lacks:Channel\n"
        "noclass = channels.telegram.limits:TELEGRAM_LIMITS\n"
        "older = adapter_of_before:Channel\n"
    )
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
