"""The doctor's checks of this machine and its repairs."""

import asyncio
import base64
import os
import shutil
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from pydantic import SecretStr

from channels.chat.probing import Finding
from gateway.http.config import HttpConfig
from gateway.ops.home_check import check_database, check_disk, check_files, check_port, check_secrets, check_socket
from gateway.ops.lock import HomeLock
from gateway.safety.vault import Vault, keep_keys
from gateway.store import credentials, people
from gateway.store.credentials import Connected
from gateway.store.inspection import inspect
from gateway.store.people import Newcomer
from gateway.store.revisions import HEAD
from tests.fakes.fresh_database import copy_fresh
from tests.fakes.newer_version import NEWER, NewerVersion
from tests.fakes.spine import quick_store


def now() -> datetime:
    return datetime(2026, 11, 23, 1, 2, 3, tzinfo=UTC)


async def database(home: Path) -> Finding:
    return await check_database(f"sqlite:///{home}/tenk.db", home)


async def test_what_others_could_read_is_closed(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.toml"
    secrets.touch()
    secrets.chmod(0o644)
    (found,) = check_files([secrets], None)
    assert (True, True) == ("mode 0644" in found.words, f"chmod 600 {secrets}" in found.to_do)
    assert found.mend is not None
    await found.mend()
    (after,) = check_files([secrets], None)
    assert (0o600, "") == (secrets.stat().st_mode & 0o777, after.to_do)


def test_what_others_could_write_needs_a_look_first(tmp_path: Path) -> None:
    home = tmp_path / "var"
    home.mkdir()
    home.chmod(0o777)
    (home / "tenk.db").touch()
    (home / "tenk.db").chmod(0o666)
    (home / "secrets.key").symlink_to(home / "elsewhere")
    found = list(check_files([], home))
    assert [None, None, None] == [finding.mend for finding in found]
    assert ["tenk.db", "secrets.key", "chmod 700"] == [
        part for part in ("tenk.db", "secrets.key", "chmod 700") if any(part in finding.to_do for finding in found)
    ]


async def test_a_leftover_socket_goes_and_one_that_answers_stays(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    assert check_socket(path) is None
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        assert (answers := check_socket(path)) is not None
        assert ("", None) == (answers.to_do, answers.mend)
    left_over = check_socket(path)
    assert left_over is not None
    assert left_over.mend is not None
    await left_over.mend()
    assert not path.exists()
    path.touch()
    assert (no_socket := check_socket(path)) is not None
    assert (True, None) == ("move it away" in no_socket.to_do, no_socket.mend)


def test_a_port_that_another_process_has_is_to_do(tmp_path: Path) -> None:
    control = tmp_path / "control.sock"
    with socket.create_server(("127.0.0.1", 0)) as other, socket.socket(socket.AF_UNIX) as gateway:
        config = HttpConfig(listen=f"127.0.0.1:{other.getsockname()[1]}")
        taken = check_port(config, control)
        gateway.bind(str(control))
        gateway.listen()
        assert check_port(config, control) is None
    control.unlink()
    free = check_port(config, control)
    assert taken is not None
    assert ("in use by another process" in taken.words, "TENK_HTTP" in taken.to_do) == (True, True)
    assert free is not None
    assert "" == free.to_do
    assert check_port(HttpConfig(listen="127.0.0.1:0"), control) is None


async def test_a_database_is_none_whole_damaged_or_not_ours(tmp_path: Path) -> None:
    none = await database(tmp_path)
    await copy_fresh(tmp_path / "tenk.db")
    whole = await database(tmp_path)
    content = (tmp_path / "tenk.db").read_bytes()
    (tmp_path / "tenk.db").write_bytes(content[: len(content) // 2])
    short = await database(tmp_path)
    (tmp_path / "tenk.db").write_bytes(b"What is this? " * 1000)
    other = await database(tmp_path)
    assert ("", "") == (none.to_do, whole.to_do)
    assert (True, True) == ("malformed" in short.words, "tenk db restore" in short.to_do)
    assert "not a database" in other.words


@pytest.mark.parametrize(
    ("revision", "to_do"), [("9999", "run the newer tenk-gateway"), ("0057", "move it away to start with a new one")]
)
async def test_a_database_of_an_unknown_revision_is_left_alone(tmp_path: Path, revision: str, to_do: str) -> None:
    await copy_fresh(tmp_path / "tenk.db")
    engine = sa.create_engine(f"sqlite:///{tmp_path}/tenk.db")
    with engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{revision}'"))
        connection.execute(sa.text("DROP TABLE final_dump"))  # only a known revision says that it is there
    engine.dispose()
    found = await database(tmp_path)
    assert (True, True, None) == (f"version {revision}" in found.words, to_do in found.to_do, found.mend)


@pytest.mark.gate
async def test_what_migrates_a_database_makes_a_backup_and_says_where(tmp_path: Path) -> None:
    newer, home = NewerVersion(tmp_path / "newer"), tmp_path / "home"
    await copy_fresh(home / "tenk.db")
    url = f"sqlite:///{home}/tenk.db"
    for command, done in (
        (["doctor", "--fix", "--local"], "a copy of the old one is in"),
        (["keys", "create", "eyes"], "Upgraded the database to this"),
    ):
        output = newer.run(home, url, *command)
        (copy,) = home.glob(f"before-{NEWER}-*.db")
        assert done in output.stdout + output.stderr
        assert str(copy) in output.stdout + output.stderr
        seen = [(await inspect(f"sqlite:///{file}")).revision for file in (copy, home / "tenk.db")]
        assert [HEAD, NEWER] == seen
        copy.replace(home / "tenk.db")
    with HomeLock(home):
        held = newer.run(home, url, "doctor", "--fix", "--local")
    assert "already runs" in held.stdout + held.stderr, "what runs here keeps it from being done"


async def test_secrets_whose_key_is_elsewhere_are_told_before_a_start(tmp_path: Path) -> None:
    url, key = f"sqlite:///{tmp_path}/tenk.db", os.urandom(32)
    assert None is await check_secrets(url, tmp_path, None)
    store = await quick_store(tmp_path / "tenk.db")

    def connect(connection: sa.Connection) -> None:
        user = people.enrol(connection, Newcomer("t", "sim:1", "sim:main", "Ana", "member", "cli"), now()).user_id
        sealed = Vault([key]).seal("canary", credentials.secret_of("t", user, "p"))
        credentials.put(connection, "t", user, Connected("p", "api", now()), sealed)

    await store.commit(connect)
    await store.aclose()
    none = await check_secrets(url, tmp_path, None)
    other = await check_secrets(url, tmp_path, SecretStr(base64.b64encode(bytes(32)).decode()))
    assert not (tmp_path / "secrets.key").exists()
    keep_keys(tmp_path, [bytes(32), key])
    mended = await check_secrets(url, tmp_path, None)
    assert none is not None
    assert other is not None
    assert mended is not None
    assert "1 secret in the database needs a key that is not in" in none.words
    assert ("gateway.secret_keys" in other.words, "") == (True, mended.to_do)


def test_a_home_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    assert "" == check_disk(tmp_path / "not" / "there").to_do
    if Path("/proc/self").exists():
        assert "make it writable" in check_disk(Path("/proc/self/task")).to_do
    assert "/dev/null cannot be written (Not a directory)" == check_disk(Path("/dev/null/home")).words


@pytest.mark.gate
@pytest.mark.parametrize("command", [["doctor", "--fix", "--local"], ["users", "list"]])
async def test_another_persons_home_is_told_in_words(tmp_path: Path, command: list[str]) -> None:
    home = tmp_path / "home"
    home.mkdir()
    await copy_fresh(home / "tenk.db")
    home.chmod(0o555)
    powerless = [] if os.geteuid() else ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    if powerless and shutil.which("setpriv") is None:
        pytest.skip("root without setpriv cannot give up its rights")
    if powerless:
        os.chown(home, 65534, 65534)
    asked = await asyncio.create_subprocess_exec(
        *powerless,
        sys.executable,
        "-m",
        "gateway",
        *command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=os.environ | {"TENK_HOME": str(home)},
    )
    said, _ = await asked.communicate()
    home.chmod(0o755)
    assert b"run as whose it is" in said, said.decode()
    assert b"Traceback" not in said
    assert 1 == asked.returncode
