"""Prices under a cap in USD: each model has one, or had one before an upgrade, or the start is refused."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from genai_prices.data_snapshot import DataSnapshot, set_custom_snapshot

from gateway.agent_models import keep_prices, look_at_prices
from gateway.config.settings import Settings, load
from gateway.errors import SettingsError

LOCAL = '[model.fallback.own]\nname = "openai:llama"\nbase_url = "http://127.0.0.1:9/v1"\n'
FREE = "[model.fallback.own.prices]\ninput_usd_per_mtok = 0\noutput_usd_per_mtok = 0\n"
CAP = "[budgets]\nuser_usd = 1\n"


def settings_of(tmp_path: Path, text: str) -> Settings:
    (tmp_path / "gateway.toml").write_text(f'[gateway]\nhome = "{tmp_path}"\n{text}')
    environ = {"OPENAI_API_KEY": "sk-x"}
    return load(tmp_path / "gateway.toml", environ)


@pytest.fixture
def upgraded() -> Iterator[None]:
    set_custom_snapshot(DataSnapshot(providers=[], from_auto_update=False))
    yield
    set_custom_snapshot(None)


@pytest.mark.parametrize(
    ("table", "models"),
    [
        ('[model.light]\nname = "openai:nobody-knows"\n', ["model.light"]),
        (LOCAL, ["model.fallback.own"]),
        (LOCAL + '[model.light]\nname = "openai:nobody-knows"\n', ["model.light", "model.fallback.own"]),
        ('[permissions]\nmode = "auto"\n[permissions.auto]\nmodel = "openai:nobody-knows"\n', ["permissions.auto"]),
        ('[model.with_tools]\nname = "openai:gpt-4o-mini"\nservice_tier = "flex"\n', ["model.with_tools"]),
    ],
)
def test_a_cap_in_usd_is_refused_while_a_model_has_no_price(tmp_path: Path, table: str, models: list[str]) -> None:
    text = '[model]\nname = "openai:gpt-4o-mini"\n' + table
    look_at_prices(settings_of(tmp_path, text + "[budgets]\nuser_tokens = 5\n"))
    with pytest.raises(SettingsError) as refused:
        look_at_prices(settings_of(tmp_path, text + CAP))
    lines = str(refused.value).splitlines()
    assert models == [line.partition(":")[0] for line in lines]
    assert all(f"set {model}.prices" in line and "0" in line for model, line in zip(models, lines, strict=True))


def test_consolidation_is_refused_while_its_model_has_no_price(tmp_path: Path) -> None:
    text = '[model]\nname = "openai:nobody-knows"\n[memory.consolidation]\n'
    with pytest.raises(SettingsError, match=r"^model: .* set model\.prices"):
        look_at_prices(settings_of(tmp_path, text))
    look_at_prices(settings_of(tmp_path, text + '[model.light]\nname = "openai:gpt-4o-mini"\n'))
    with pytest.raises(SettingsError, match=r"^model\.light: .* set model\.light\.prices"):
        look_at_prices(settings_of(tmp_path, text + '[model.light]\nname = "openai:nobody-knows"\n'))


def test_a_price_may_be_zero_and_the_judge_has_one_of_its_own(tmp_path: Path) -> None:
    judge = '[permissions]\nmode = "auto"\n[permissions.auto]\nmodel = "openai:nobody-knows"\n'
    priced = "[permissions.auto.prices]\ninput_usd_per_mtok = 1\noutput_usd_per_mtok = 1\n"
    text = '[model]\nname = "openai:gpt-4o-mini"\n' + LOCAL + FREE + judge + priced + CAP
    assert {} == look_at_prices(settings_of(tmp_path, text)).lost


def test_a_price_that_the_library_lost_counts_at_its_dearest(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text = '[model]\nname = "openai:gpt-4o-mini"\n' + CAP
    keep_prices(tmp_path, look_at_prices(settings_of(tmp_path, text)))
    request.getfixturevalue("upgraded")
    assert {"openai:gpt-4o-mini": Decimal("0.6")} == look_at_prices(settings_of(tmp_path, text)).lost
    with pytest.raises(SettingsError, match=r"^model\.light: "):
        look_at_prices(settings_of(tmp_path, text + '[model.light]\nname = "openai:gpt-4o"\n'))
    (tmp_path / "prices.json").write_text("{")
    with pytest.raises(SettingsError, match=r"^model: "):
        look_at_prices(settings_of(tmp_path, text))
