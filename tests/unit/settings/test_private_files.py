"""File modes: a file that others could change is refused, one that they could read is closed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.ops.lock import HomeLock
from gateway.safety.private_files import BESIDE_DATABASE, NAMES, LaxFile, check_database, check_home


def made(path: Path, mode: int, content: bytes = b"x") -> Path:
    path.write_bytes(content)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o720, 0o1777])
def test_home_that_others_can_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    home = tmp_path / "my home"
    home.mkdir()
    home.chmod(mode)
    lock = HomeLock(home)
    with pytest.raises(LaxFile) as refused, lock:
        pass
    assert f"others can write to the home {home} (mode {mode:04o}); run: chmod 700 '{home}'" == str(refused.value)
    assert [] == list(home.iterdir())


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o750])
def test_home_that_others_can_only_look_into_is_used(tmp_path: Path, mode: int) -> None:
    (tmp_path / "home").mkdir(mode=mode)
    with HomeLock(tmp_path / "home"), HomeLock(tmp_path / "new" / "home"):
        assert 0o700 == (tmp_path / "new" / "home").stat().st_mode & 0o777


@pytest.mark.parametrize("name", NAMES)
def test_name_of_ours_that_is_a_link_is_refused(tmp_path: Path, name: str) -> None:
    target = made(tmp_path / "precious", 0o600)
    for where in (target, tmp_path / "nowhere"):
        home = tmp_path / f"to-{where.name}"
        home.mkdir(mode=0o700)
        (home / name).symlink_to(where)
        with pytest.raises(LaxFile, match=rf"{name} is a link; .*rm "):
            check_home(home)
    assert b"x" == target.read_bytes()


@pytest.mark.parametrize("mode", [0o666, 0o660, 0o602, 0o777])
def test_database_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    database = made(tmp_path / "tenk.db", mode)
    with pytest.raises(LaxFile, match=rf"others can write to the database .*{mode:04o}\); run: chmod 600 "):
        check_database(database)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_database_that_others_can_read_is_closed(tmp_path: Path, mode: int) -> None:
    files = [made(tmp_path / "tenk.db", mode), *(made(tmp_path / f"tenk.db{end}", 0o666) for end in BESIDE_DATABASE)]
    check_database(files[0])
    assert [0o600] * 4 == [file.stat().st_mode & 0o777 for file in files]


@pytest.mark.parametrize("end", ["", *BESIDE_DATABASE])
def test_database_that_is_a_link_is_refused_wherever_it_is(tmp_path: Path, end: str) -> None:
    (tmp_path / f"any.db{end}").symlink_to(made(tmp_path / "precious", 0o600))
    with pytest.raises(LaxFile, match="is a link"):
        check_database(tmp_path / "any.db")


def test_empty_database_beside_a_key_is_a_lost_one(tmp_path: Path) -> None:
    database = made(tmp_path / "tenk.db", 0o600, b"")
    check_database(database)
    made(tmp_path / "pairing.key", 0o600)
    with pytest.raises(LaxFile, match=r"is empty, .*tenk db restore.* rm .*tenk\.db .*pairing\.key"):
        check_database(database)


@pytest.mark.parametrize("check", [check_home, check_database])
def test_what_is_another_persons_is_refused(tmp_path: Path, check: Callable[[Path, int], None]) -> None:
    path = tmp_path if check is check_home else made(tmp_path / "tenk.db", 0o600)
    check(path, 0)
    with pytest.raises(
        LaxFile, match=rf"belongs to another user \(uid {os.getuid()}\); run as that user, or: sudo chown"
    ):
        check(path, os.getuid() + 1)
