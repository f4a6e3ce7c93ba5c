"""Operators' commands on a database and on a person's data, without a running gateway."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gateway.cli.root import root


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("TENK_", "TELEGRAM_", "DISCORD_", "SLACK_", "OPENAI_", "ANTHROPIC_", "DATABASE_")):
            monkeypatch.delenv(name)


def tenk(*arguments: str) -> Result:
    return CliRunner().invoke(root, arguments)


def test_a_person_is_given_their_data_and_forgotten_without_a_gateway(tmp_path: Path) -> None:
    tenk("pairing", "block", "telegram:42")
    given = tenk("users", "export", "telegram:42", "theirs.json")
    assert (0, True) == (given.exit_code, "1 identities" in given.output), given.output
    whole = json.loads((tmp_path / "theirs.json").read_text())
    assert ("42", 0o600) == (whole["identities"][0]["sender"], (tmp_path / "theirs.json").stat().st_mode & 0o777)
    again = tenk("users", "export", "telegram:42", "theirs.json")
    assert (1, True) == (again.exit_code, "exists; name a new file" in str(again.exception))
    assert 0 == tenk("users", "forget", "telegram:42", "--yes").exit_code
    assert "Nobody has access yet.\n" == tenk("users", "list").output
    audit = tenk("users", "audit").output
    assert ("data_exported" in audit, "person_forgotten" in audit, "telegram:42" in audit) == (True, True, False)
    assert 1 == tenk("users", "forget", "telegram:42", "--yes").exit_code


def test_a_tenant_is_given_the_data_of_its_own_people_alone(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "gateway.toml").write_text("[tenants.acme]\n")
    for tenant, sender in (("acme", "telegram:42"), ("default", "telegram:42"), ("default", "telegram:43")):
        assert 0 == tenk("--tenant", tenant, "pairing", "block", sender).exit_code
    users = json.loads(tenk("users", "list", "--json").output)
    (others,) = [user["user"] for user in users if user["senders"] == ["telegram:43"]]
    for who in ("telegram:43", others):
        for command in (("users", "export", who, "others.json"), ("users", "forget", who, "--yes")):
            refused = tenk("--tenant", "acme", *command)
            assert (1, True) == (refused.exit_code, "is not a known person" in str(refused.exception)), refused.output
    assert not (tmp_path / "others.json").exists()
    refused = tenk("--tenant", "acme", "keys", "create", "theirs", "--for", "telegram:43")
    assert (1, True) == (refused.exit_code, "is not a known person" in str(refused.exception))
    for tenant, sender in (("acme", "telegram:42"), ("default", "telegram:43")):
        named = ("--tenant", tenant) if tenant == "acme" else ()
        given = tenk(*named, "users", "export", sender, f"{tenant}.json")
        assert 0 == given.exit_code, given.exception
        rows = [row for rows in json.loads((tmp_path / f"{tenant}.json").read_text()).values() for row in rows]
        assert {tenant} == {row["tenant_id"] for row in rows if "tenant_id" in row}


def test_a_key_is_made_for_a_person_of_its_own_tenant(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "gateway.toml").write_text("[tenants.acme]\n")
    assert 0 == tenk("--tenant", "acme", "pairing", "block", "telegram:42").exit_code
    refused = tenk("keys", "create", "theirs", "--for", "telegram:42")
    assert (1, True) == (refused.exit_code, "is not a known person" in str(refused.exception))


def test_a_backup_that_is_cut_short_or_anothers_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    tenk("db", "upgrade")
    assert "verified copy" in tenk("db", "backup", "whole.db").output
    assert "is intact and up to date" in tenk("db", "check").output
    (tmp_path / "var" / "tenk.db").unlink()
    whole = (tmp_path / "whole.db").read_bytes()
    (tmp_path / "short.db").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "words.db").write_bytes(b"not a database " * 400)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE theirs (x)")
    for name, revision in (("newer", "9999"), ("older", "0057")):
        (tmp_path / f"{name}.db").write_bytes(whole)
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as backup, backup:
            backup.execute("UPDATE alembic_version SET version_num = ?", (revision,))
    for name, words in (
        ("short", "damaged or cut short"),
        ("words", "file is not a database"),
        ("other", "another program's"),
        ("newer", "of another version: the database has schema version 9999"),
        ("older", "which no release had"),
    ):
        refused = tenk("db", "restore", f"{name}.db")
        assert (1, True) == (refused.exit_code, words in str(refused.exception)), str(refused.exception)
        assert not (tmp_path / "var" / "tenk.db").exists()
    assert 0 == tenk("db", "restore", "whole.db").exit_code
    assert '"ok": true' in tenk("db", "check", "--json").output
