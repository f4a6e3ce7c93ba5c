"""A configuration that passes the check starts: for each channel, ours and a third party's."""

import asyncio
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from channels.discord.config import DiscordAccount
from channels.registry import account_model
from channels.slack.config import SlackAccount
from channels.telegram.config import TelegramAccount
from gateway.config.settings import load, read_sources
from gateway.errors import SettingsError
from gateway.product import check_names
from gateway.testing.gateway import TestGateway

pytestmark = [pytest.mark.gate, pytest.mark.timeout(300)]

EXAMPLE = Path(__file__).parents[1] / "contract" / "example_channel"
AWAY = "http://127.0.0.1:9"  # nothing listens there
NEEDED: Mapping[str, Mapping[str, object]] = {
    "telegram": {"api_base": AWAY},
    "discord": {"api_base": AWAY},
    "slack": {"api_base": AWAY},
    "letterbox": {"directory": tempfile.gettempdir()},
}
SECRETS = {
    "telegram": {"TELEGRAM_BOT_TOKEN": "123456789:" + "AbC-_" * 7},
    "discord": {"DISCORD_BOT_TOKEN": "a" * 24 + ".bbbbbb." + "c" * 30},
    "slack": {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"},
    "letterbox": dict[str, str](),
}
FLAGS = (True, False, 0, 1, 2, -1, 40, 0.5, 1e9)
WORDS = (
    "",
    "x",
    "main",
    "http",
    "webhook",
    "polling",
    "socket",
    "strict",
    "draft",
    "a" * 32,
    "https://a.example",
    AWAY,
)
OURS = {"telegram": TelegramAccount, "discord": DiscordAccount, "slack": SlackAccount}


def tables(channel: str) -> st.SearchStrategy[dict[str, object]]:
    fields = (OURS[channel] if channel in OURS else account_model(channel)).model_fields
    others = ["unknown", *sorted({*fields} - {*NEEDED[channel]})]
    more = st.dictionaries(st.sampled_from(others), st.sampled_from((*FLAGS, *WORDS)), max_size=2)
    return more.map(lambda chosen: {**NEEDED[channel], **chosen})


@pytest.mark.parametrize("channel", NEEDED)
def test_an_account_that_passes_the_check_starts(channel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    file, secrets, started = tmp_path / "gateway.toml", SECRETS[channel], list[str]()

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(tables(channel))
    def start(table: dict[str, object]) -> None:
        config = f"[channels.{channel}.main]\n" + "".join(f"{key} = {json.dumps(it)}\n" for key, it in table.items())
        file.write_text(config)
        try:
            check_names(load(file, secrets), read_sources(file, secrets))
        except SettingsError:
            return
        asyncio.run(starts(config, secrets))
        started.append(channel)

    start()
    assert started


async def starts(config: str, secrets: Mapping[str, str]) -> None:
    async with TestGateway(config, platforms=(), environ=secrets) as gateway:
        assert await gateway.operator("GET /v1/status")
