"""Configuration of a Discord bot, and its errors."""

import pytest
from pydantic import ValidationError

from channels.discord.config import DiscordAccount, Wake

TOKEN = "made.up.token"


def account(**more: object) -> DiscordAccount:
    return DiscordAccount.model_validate({"token": TOKEN} | more)


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("https://discord.com/api/v10", "https://discord.com/api/v10"),
        ("http://127.0.0.1:8082", "http://127.0.0.1:8082/api/v10"),
        ("http://127.0.0.1:8082/", "http://127.0.0.1:8082/api/v10"),
        ("http://127.0.0.1:8082/api", "http://127.0.0.1:8082/api/v10"),
        ("http://127.0.0.1:8082/x/api/v9/", "http://127.0.0.1:8082/x/api/v9"),
    ],
)
def test_a_base_is_taken_with_and_without_its_path(given: str, base: str):
    assert base == account(api_base=given).api_base


def test_only_discord_itself_is_official():
    assert (True, False) == (account().official, account(api_base="http://127.0.0.1:1").official)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"token": "Bot abc"}, "without the word Bot"),
        ({"token": "a b"}, "page Bot"),
        ({"api_base": "discord.com"}, "http"),
        ({"api_base": "https://x/{y}"}, "placeholders"),
        ({"always_in": ["#general"]}, "Copy Channel ID"),
        ({"wake": "sometimes"}, "always"),
        ({"shards": 0}, 'must be "auto", or 1 to'),
        ({"shards": "many"}, 'must be "auto", or 1 to'),
        ({"shards": True}, 'must be "auto", or 1 to'),
        ({"name": "Über"}, "pattern"),
    ],
)
def test_mistakes_are_told_without_the_token(wrong: dict[str, object], told: str):
    """Cover A92."""
    with pytest.raises(ValidationError) as caught:
        account(**wrong)
    assert told in str(caught.value)
    assert "abc" not in str(caught.value)


def test_the_nearest_word_about_a_channel_counts():
    ours = account(wake="off", always_in=["1"], mention_in=["2"], off_in=["3"])
    asked = [("1", None), ("2", "1"), ("3", "1"), ("9", "1"), ("9", "8"), ("9", None)]
    expected = [Wake.ALWAYS, Wake.MENTION, Wake.OFF, Wake.ALWAYS, Wake.OFF, Wake.OFF]
    assert expected == [ours.wake_in(channel, parent) for channel, parent in asked]
