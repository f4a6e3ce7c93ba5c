"""Other programs' credential files: read and written in their units and names."""

import json
from datetime import UTC, datetime

import pytest

from agent.credentials import Credential, CredentialKind
from gateway.credentials.formats import dump, object_at, read_kept, renewed_object

AT = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
SECONDS = int(AT.timestamp())
TOKENS = {"type": "oauth", "access": "t", "refresh": "r"}


def read(raw: object, path: str = ""):
    return read_kept(raw if isinstance(raw, str) else json.dumps(raw), lambda _secret: CredentialKind.API, path)


@pytest.mark.parametrize("written", [SECONDS, SECONDS * 1000, float(SECONDS), str(SECONDS), str(SECONDS * 1000)])
def test_an_instant_is_in_seconds_or_milliseconds(written: object) -> None:
    kept = read({"type": "oauth", "access_token": "t", "expires_at": written})
    assert kept is not None
    assert AT == kept.credential.expires_at


@pytest.mark.parametrize("written", [None, "soon", "", [], {}, 1e300, "nan", "inf", -1e300])
def test_what_is_no_instant_is_none(written: object) -> None:
    kept = read({"type": "oauth", "access_token": "t", "expires_at": written})
    assert kept is not None
    assert kept.credential.expires_at is None


@pytest.mark.parametrize(
    ("raw", "path", "expected"),
    [
        ({"type": "api", "key": "k"}, "", Credential("k")),
        ({"a": {"b": TOKENS}}, "a.b", Credential("t", CredentialKind.OAUTH, None, "r")),
        ({"type": "other", "token": " t "}, "", Credential("t")),
        ("  bare-key\n", "", Credential("bare-key")),
    ],
)
def test_a_credential_is_found_where_it_stands(raw: object, path: str, expected: Credential) -> None:
    kept = read(raw, path)
    assert kept is not None
    assert expected == kept.credential


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ({}, ""),
        ({"key": 7}, ""),
        ({"key": "bad\nheader"}, ""),
        ({"key": "ключ"}, ""),
        ([], ""),
        ("7", ""),
        ({"a": 1}, "a.b"),
        ({"type": "api", "key": "k"}, "a"),
        ("", ""),
        ("two\nlines", ""),
        ("{broken", ""),
        ("[" * 50_000, ""),
        ("bare", "a"),
    ],
)
def test_what_holds_no_usable_key_is_none(raw: object, path: str) -> None:
    assert read(raw, path) is None


def test_a_renewed_one_is_written_as_the_old_one_was() -> None:
    old = {"type": "oauth", "access": "t", "refresh": "r", "expires": SECONDS * 1000, "plan": "pro"}
    new = Credential("t2", CredentialKind.OAUTH, AT, "r2")
    expected = {"type": "oauth", "access": "t2", "refresh": "r2", "expires": SECONDS * 1000, "plan": "pro"}
    assert expected == renewed_object(old, new)
    assert {**expected, "expires": SECONDS} == renewed_object({**old, "expires": SECONDS}, new)
    again = read(dump(new))
    assert again is not None
    assert new == again.credential
    assert object_at({"a": []}, "a") is None
