"""Configuration of a Telegram account; its errors show no secret."""

import pytest
from pydantic import ValidationError

from channels.telegram.config import TelegramAccount

GOOD = "123456:ABC-def_1234"


def test_least_configuration_is_a_token():
    account = TelegramAccount.model_validate({"token": GOOD})
    assert ("main", "https://api.telegram.org", 50, "adaptive") == (
        account.name,
        account.api_base,
        account.poll_timeout_s,
        account.pacing,
    )


@pytest.mark.parametrize(
    "token", ["", "abc", "123456", "123456:", ":abc", "12a:abc", "123456:ab c", "１２３:abc", "1:ä"]
)
def test_what_is_no_token_is_refused_without_showing_it(token: str):
    with pytest.raises(ValidationError, match="BotFather") as refused:
        TelegramAccount.model_validate({"token": token})
    assert not token or token not in str(refused.value).replace("123456:ABC-def", "")


@pytest.mark.parametrize(
    "wrong",
    [
        {"tokn": GOOD},
        {"api_base": "api.telegram.org"},
        {"api_base": "https://x/{token}"},
        {"poll_timeout_s": 51},
        {"poll_timeout_s": 0},
        {"pacing": "never"},
        {"name": "Über"},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object]):
    with pytest.raises(ValidationError) as refused:
        TelegramAccount.model_validate({"token": GOOD} | wrong)
    assert GOOD not in str(refused.value)


WEBHOOK = {"token": GOOD, "mode": "webhook", "webhook_url": "https://bot.example.com", "webhook_secret": "s-e_cret1"}


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://bot.example.com", "https://bot.example.com/webhooks/telegram/main"),
        ("https://bot.example.com/", "https://bot.example.com/webhooks/telegram/main"),
        ("https://bot.example.com:8443", "https://bot.example.com:8443/webhooks/telegram/main"),
        ("https://bot.example.com/in/here", "https://bot.example.com/in/here"),
    ],
)
def test_webhook_goes_to_its_path_unless_it_has_one(url: str, target: str):
    assert target == TelegramAccount.model_validate(WEBHOOK | {"webhook_url": url}).webhook_target


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"webhook_url": None}, "webhook_url"),
        ({"webhook_secret": None}, "webhook_secret"),
        ({"webhook_secret": ""}, "webhook_secret"),
        ({"webhook_url": "http://bot.example.com"}, "https"),
        ({"webhook_url": "https://bot.example.com:8080"}, "443, 80, 88, 8443"),
        ({"webhook_url": "bot.example.com"}, "https"),
        ({"webhook_url": "https://me:pw@bot.example.com"}, "without password"),
        ({"webhook_url": "https://bot.example.com/?a=1"}, "without password"),
        ({"webhook_secret": "a b"}, "A-Z"),
        ({"webhook_connections": 0}, "webhook_connections"),
        ({"webhook_connections": 101}, "webhook_connections"),
        ({"live": "stream"}, "live"),
    ],
)
def test_webhook_that_cannot_work_is_refused(wrong: dict[str, object], words: str):
    """Cover A14."""
    with pytest.raises(ValidationError, match=words) as refused:
        TelegramAccount.model_validate(WEBHOOK | wrong)
    assert "s-e_cret1" not in str(refused.value) + repr(refused.value)


def test_own_server_may_call_without_tls():
    own = {"api_base": "http://127.0.0.1:8081", "webhook_url": "http://127.0.0.1:8080"}
    assert (
        "http://127.0.0.1:8080/webhooks/telegram/main" == TelegramAccount.model_validate(WEBHOOK | own).webhook_target
    )


def test_token_is_in_no_repr():
    """Cover A92."""
    hook = TelegramAccount.model_validate(WEBHOOK)
    assert "s-e_cret1" not in repr(hook) + hook.model_dump_json()
    account = TelegramAccount.model_validate({"token": GOOD, "api_base": "http://127.0.0.1:8081/"})
    assert GOOD not in repr(account) + account.model_dump_json()
    assert "http://127.0.0.1:8081" == account.api_base
