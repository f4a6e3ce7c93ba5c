"""Configuration of a Slack app, and its errors."""

import pytest
from pydantic import ValidationError

from channels.slack.config import SlackAccount

GIVEN = {"bot_token": "xoxb-1-a", "app_token": "xapp-1-b"}


def account(**more: object) -> SlackAccount:
    return SlackAccount.model_validate(GIVEN | more)


def test_defaults_are_slacks_own():
    one = account()
    assert ("socket", "https://slack.com/api/") == (one.mode, one.api_url)
    assert (frozenset({"files.slack.com"}), frozenset({"hooks.slack.com"})) == (one.file_hosts, one.hook_hosts)


@pytest.mark.parametrize("base", ["http://127.0.0.1:8083", "http://127.0.0.1:8083/", "http://127.0.0.1:8083/api"])
def test_another_server_brings_its_own_hosts(base):
    one = account(api_base=base)
    assert "http://127.0.0.1:8083/api/" == one.api_url
    assert frozenset({"127.0.0.1:8083"}) == one.file_hosts == one.hook_hosts


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"bot_token": "xapp-secret"}, "OAuth & Permissions"),
        ({"app_token": "xoxb-secret"}, "connections:write"),
        ({"app_token": None}, "Socket Mode needs it"),
        ({"mode": "http"}, "signing_secret is missing"),
        ({"mode": "http", "signing_secret": "s", "sockets": 2}, "no socket is opened"),
        ({"sockets": 0}, "must be 1 to 10"),
        ({"sockets": 11}, "must be 1 to 10"),
        ({"mode": "http", "signing_secret": " "}, "signing_secret is missing"),
        ({"api_base": "slack.com"}, "write the whole URL"),
        ({"name": "Main!"}, "pattern"),
        ({"tokn": "x"}, "Extra inputs"),
    ],
)
def test_wrong_words_are_explained_without_a_secret(more, told):
    with pytest.raises(ValidationError, match=told) as refused:
        account(**more)
    assert "xapp-secret" not in str(refused.value)
    assert "xoxb-secret" not in str(refused.value)


def test_secrets_are_not_shown():
    assert "xoxb-1-a" not in repr(account()) + str(account().model_dump())
