"""Redaction: secrets and control characters go, everything else stays."""

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.safety.redaction import REDACTED, Redactor, escape_controls

TELEGRAM_TOKEN = "123456789:" + "AbC-_" * 7
KEYS = [
    TELEGRAM_TOKEN,
    "sk-" + "ant-api03-" + "x1Y" * 10,
    "sk-" + "proj-" + "Ab1_" * 8,
    "xoxb-" + "123456789012-abcdefABCDEF",
    "xapp-" + "1-A0123456789-abcdef",
    "ghp_" + "a1B2" * 9,
    "AKIA" + "ABCDEFGH12345678",
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "c2lnbmF0dXJl",
    "0123456789abcdef" * 4,
    "MTk4NjIyNDgzNDcxOTI1MjQ4." + "Cl2FMQ." + "ZnCjm1XVW7vRze4b7Cq4se7kKWs",
]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "around",
    ["{}", "token={} used", "https://api.example/{}/getMe", '{{"key": "{}"}}', r'{{"text": "a line\r\n{}\tmore"}}'],
)
def test_a_key_shape_is_redacted_wherever_it_stands(key: str, around: str) -> None:
    assert around.format(REDACTED) == Redactor().redact(around.format(key))


@pytest.mark.parametrize(
    "text",
    [
        "The SHA-256 of abc is {}.",
        '{{"sha256": "{}"}}',
        "image@sha256:{}",
        "checksum {}",
        "sent in 0x{}",
        "{}0",
    ],
)
def test_what_is_called_a_digest_is_no_key(text: str) -> None:
    text = text.format("0123456789abcdef" * 4)
    assert text == Redactor().redact(text)
    assert REDACTED in Redactor(["0123456789abcdef" * 4]).redact(text)


@pytest.mark.parametrize("before", ["https://a:b", "-----BEGIN PRIVATE KEY-----\\nMIIE"])
def test_a_result_stays_json(before: str) -> None:
    redacted = Redactor().redact(f'{{"first":"{before}","second":"me@example.com"}}')
    assert "me@example.com" == json.loads(redacted)["second"]


def test_a_secret_is_found_as_json_writes_it() -> None:
    assert f'{{"a": "{REDACTED}"}}' == Redactor(['pass"wo\\rd']).redact(json.dumps({"a": 'pass"wo\\rd'}))


def test_a_bot_token_is_redacted_from_its_url() -> None:
    assert f"/bot{REDACTED}/x" == Redactor().redact(f"/bot{TELEGRAM_TOKEN}/x")
    assert f"/bot{REDACTED}/x" == Redactor().redact(f"/bot{quote(TELEGRAM_TOKEN, safe='')}/x")


def test_authorization_and_url_passwords_are_redacted() -> None:
    redactor = Redactor()
    assert f"Authorization: Bearer {REDACTED}" == redactor.redact("Authorization: Bearer abcdef123456")
    assert f"postgresql://{REDACTED}@db/tenk" == redactor.redact("postgresql://tenk:hunter2@db/tenk")


@pytest.mark.parametrize(
    "harmless",
    [
        "logged 45m of guitar at 19:00",
        "http://127.0.0.1:8080/healthz",
        "turn 0192f0c1-7b1e-7c3a-9b1d-2f6f0a1b2c3d ended",
        "the bearer of good news",
        "sk-8 is a skill",
    ],
)
def test_ordinary_text_is_unchanged(harmless: str) -> None:
    assert harmless == Redactor(["another-secret"]).redact(harmless)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=6), st.text(), st.text())
def test_a_live_secret_never_survives(secret: str, before: str, after: str) -> None:
    text = f"{before}{secret}{after}"
    if secret in REDACTED:
        return
    assert secret not in Redactor([secret]).redact(text).replace(REDACTED, "\0")


def test_a_secret_that_contains_another_leaves_no_rest() -> None:
    assert REDACTED == Redactor(["abcdef", "abcdefghij"]).redact("abcdefghij")


@given(st.text())
def test_escaped_text_is_one_line_without_control_characters(text: str) -> None:
    """Cover A67."""
    escaped = escape_controls(text)
    assert [] == [character for character in escaped if ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0]
    assert len(escaped.splitlines()) <= 1
    assert "\u202e" not in escaped


def test_a_web_token_is_found_behind_others_in_one_run_of_letters() -> None:
    token = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "c2lnbmF0dXJl"
    assert f"x_{REDACTED} ok" == Redactor().redact(f"x_eyJ-{token} ok")
    assert "-eyJ" * 50 == Redactor().redact("-eyJ" * 50)


def test_a_bearer_is_redacted_whole_whatever_shapes_it_holds() -> None:
    assert f"Bearer {REDACTED}" == Redactor().redact("Bearer abc.sk-" + "x" * 20 + ".tail~tail")
