"""Sealed secrets: opened by their key alone, as the kind they were sealed as; keys in a private file."""

import base64
import os
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.errors import GatewayError
from gateway.safety.vault import CannotOpen, SecretOf, Vault, id_of, keep_keys, load_keys

WHOSE = SecretOf("default", "telegram:42", "reply_route")
KEYS = [bytes([number]) * 32 for number in (1, 2)]


@pytest.mark.parametrize("other", [{"tenant": "t2"}, {"user": "telegram:43"}, {"purpose": "key"}])
def test_a_secret_opens_only_as_what_it_was_sealed_as(other: dict[str, str]) -> None:
    vault = Vault(KEYS)
    with pytest.raises(CannotOpen):
        vault.open(vault.seal("canary", WHOSE), replace(WHOSE, **other))


def test_what_was_changed_does_not_open() -> None:
    vault = Vault(KEYS)
    sealed = vault.seal("canary", WHOSE)
    raw = bytearray(base64.urlsafe_b64decode(sealed.rpartition(":")[2]))
    raw[-1] ^= 1
    tampered = vault.mark + base64.urlsafe_b64encode(raw).decode()
    renamed = sealed.replace(id_of(KEYS[1]), id_of(KEYS[0]))
    for broken in (tampered, renamed, sealed[:-8], vault.mark, vault.mark + "*", "sealed1:", "canary", "sealed1:é:x"):
        with pytest.raises(CannotOpen) as refusal:
            vault.open(broken, WHOSE)
        assert "canary" not in str(refusal.value)


def test_the_keys_file_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    made = load_keys(tmp_path)
    assert made == load_keys(tmp_path)
    assert 0o600 == (tmp_path / "secrets.key").stat().st_mode & 0o777
    keep_keys(tmp_path, KEYS)
    assert load_keys(tmp_path) == KEYS
    assert made != load_keys(tmp_path / "..", base64.b64encode(KEYS[0]).decode())


def test_keys_that_cannot_be_used_are_told_and_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "secrets.key"
    for content in ("c2hvcnQ=", "not base64 é", "", base64.b64encode(os.urandom(32)).decode() + "\nc2hvcnQ="):
        path.write_text(content)
        path.chmod(0o600)
        with pytest.raises(GatewayError) as refusal:
            load_keys(tmp_path)
        assert "c2hvcnQ=" not in str(refusal.value)
        assert content == path.read_text()
    path.chmod(0o644)
    with pytest.raises(GatewayError, match="chmod 600"):
        load_keys(tmp_path)
    with pytest.raises(GatewayError, match="configuration"):
        load_keys(tmp_path, "nothing")
    assert load_keys(tmp_path, ",".join(base64.b64encode(key).decode() for key in KEYS)) == KEYS
