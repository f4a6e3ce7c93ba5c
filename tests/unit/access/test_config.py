"""The access configuration: closed by default, exact, and clear about mistakes."""

import pytest
from pydantic import ValidationError

from gateway.access.config import AccessConfig, Policy, Rules


def test_nothing_said_means_pairing_and_empty_lists() -> None:
    assert Rules(Policy.PAIRING, Policy.PAIRING, frozenset(), frozenset(), group_talk=True) == AccessConfig().rules_of(
        "telegram", "main"
    )


def test_an_account_differs_from_the_default_in_what_it_says() -> None:
    config = AccessConfig.model_validate(
        {"direct": "open", "accounts": {"telegram:main": {"groups": "allowlist", "allow": ["telegram:42"]}}}
    )
    assert Rules(
        Policy.OPEN, Policy.ALLOWLIST, frozenset({"telegram:42"}), frozenset(), group_talk=True
    ) == config.rules_of("telegram", "main")
    assert Rules(Policy.OPEN, Policy.PAIRING, frozenset(), frozenset(), group_talk=True) == config.rules_of(
        "telegram", "other"
    )


@pytest.mark.parametrize(
    ("accounts", "told"),
    [
        ({"telegram:main": {"allow": ["*"]}}, "danger_allow_everyone"),
        ({"telegram:main": {"allow_groups": ["*"]}}, "danger_allow_everyone"),
        ({"telegram:main": {"allow": ["42"]}}, "telegram:42"),
        ({"telegram:main": {"allow": [42]}}, "string"),
        ({"telegram:main": {"allow": ["telegram:42 "]}}, "is not an id"),
        ({"telegram:main": {"allow": ["@ana"]}}, "is not an id"),
        ({"telegram:main": {"allow": ["slack:U1"]}}, "can never write to a telegram account"),
        ({"telegram": {"allow": []}}, "telegram:main"),
        ({"telegram:main": {"alow": []}}, "alow"),
        ({"telegram:main": {"direct": "everyone"}}, "pairing"),
    ],
)
def test_a_mistake_stops_the_start_with_what_to_write(accounts: dict[str, object], told: str) -> None:
    """Cover A26, A28."""
    with pytest.raises(ValidationError, match=told):
        AccessConfig.model_validate({"accounts": accounts})


def test_a26_a_star_counts_once_the_danger_is_named() -> None:
    config = AccessConfig.model_validate(
        {"danger_allow_everyone": True, "accounts": {"telegram:main": {"direct": "allowlist", "allow": ["*"]}}}
    )
    assert config.rules_of("telegram", "main").lists("telegram:999")
