"""`tenk keys` as an operator types it, without a running gateway."""

import re
from pathlib import Path

from tests.unit.cli.test_cli import tenk


def test_a_key_is_made_shown_once_and_taken_back(tmp_path: Path) -> None:
    made = tenk("keys", "create", "my program", "--scope", "chat", "--scope", "read", home=tmp_path)
    key = re.search(r"tenk-([a-z2-7]{8})-[0-9a-f]{32}", made.stdout)
    assert (0, "") == (made.returncode, made.stderr)
    assert key is not None
    held = tenk("keys", "list", home=tmp_path).stdout
    assert 0 == tenk("keys", "revoke", key[1], home=tmp_path).returncode
    again = tenk("keys", "revoke", key[1], home=tmp_path)
    revoked = tenk("keys", "list", home=tmp_path).stdout
    assert f"{key[1]}  my program  chat, read  -    valid\n" == held.partition("\n")[2]
    assert f"{key[1]}  my program  chat, read  -    revoked" in revoked
    assert key[0] not in held + revoked
    assert (1, True) == (again.returncode, "revoked already" in again.stderr)


def test_a_key_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    assert 2 == tenk("keys", "create", "a", "--scope", "root", home=tmp_path).returncode
    refused = tenk("keys", "create", "a", "--for", "telegram:42", home=tmp_path)
    assert (1, True) == (refused.returncode, "'telegram:42' is not a known person" in refused.stderr)
    assert "There are no keys.\n" == tenk("keys", "list", home=tmp_path).stdout
