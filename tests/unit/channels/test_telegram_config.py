"""A Telegram account's configuration: what is taken, and that its errors tell nothing."""

import pytest
from pydantic import ValidationError

from channels.telegram.config import TelegramAccount

GOOD = "123456:ABC-def_1234"


def test_least_configuration_is_a_token():
    """Everything else has a default: the official server, account main, adaptive pacing."""
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
    """The error says what a token looks like and does not repeat what was given."""
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
    """Unknown keys, unusable URLs and figures out of range are errors; none shows the token."""
    with pytest.raises(ValidationError) as refused:
        TelegramAccount.model_validate({"token": GOOD} | wrong)
    assert GOOD not in str(refused.value)


def test_token_is_in_no_repr():
    """Neither repr nor JSON shows the token (A92)."""
    account = TelegramAccount.model_validate({"token": GOOD, "api_base": "http://127.0.0.1:8081/"})
    assert GOOD not in repr(account) + account.model_dump_json()
    assert "http://127.0.0.1:8081" == account.api_base
