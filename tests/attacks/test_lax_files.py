"""A home that other users could prepare: the gateway uses none of it, and the operator reads the command to mend it."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.fork_server import ForkServer
from tests.unit.cli.test_cli import ROOT

Prepared = Callable[[Path], None]


def tenk(home: Path, *arguments: str, umask: int = -1) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TENK_HOME": str(home), "TENK_HTTP": "127.0.0.1:0"}
    return ForkServer.of().run(["-m", "gateway", *arguments], env, home.parent, timeout_s=15, umask=umask)


def open_home(home: Path) -> None:
    home.chmod(0o777)


def open_database(home: Path) -> None:
    (home / "tenk.db").touch()
    (home / "tenk.db").chmod(0o666)


def linked_lock(home: Path) -> None:
    (home.parent / "precious").write_text("precious")
    (home / "lock").symlink_to(home.parent / "precious")


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (open_home, "others can write to the home {home} (mode 0777); run: chmod 700 {home}"),
        (open_database, "others can write to the database {home}/tenk.db (mode 0666); run: chmod 600 {home}/tenk.db"),
        (linked_lock, "{home}/lock is a link; look where it leads, then run: rm {home}/lock"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_home_prepared_by_others_is_refused_in_one_line(tmp_path: Path, prepare: Prepared, said: str) -> None:
    home = tmp_path / "var"
    home.mkdir(mode=0o700)
    prepare(home)
    done = tenk(home, "run")
    assert (1, f"error: {said.format(home=home)}\n") == (done.returncode, done.stderr)
    assert not (home / "control.sock").exists()
    if (tmp_path / "precious").exists():
        assert "precious" == (tmp_path / "precious").read_text()


def test_what_is_made_is_its_users_alone_whatever_the_umask(tmp_path: Path) -> None:
    done = tenk(tmp_path / "var", "db", "upgrade", umask=0)
    assert 0 == done.returncode, done.stderr
    assert {0o600} == {path.stat().st_mode & 0o777 for path in (tmp_path / "var").iterdir()}
    assert 0o700 == (tmp_path / "var").stat().st_mode & 0o777
