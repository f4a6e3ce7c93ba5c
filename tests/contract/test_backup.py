"""A backup beside a running gateway: it has everything acknowledged, and overwrites nothing."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.errors import GatewayError
from gateway.ops.lock import HomeLock
from gateway.store import people
from gateway.store.backup import back_up, restore, vacuum
from gateway.store.engine import Store
from gateway.store.people import Newcomer
from tests.contract.stores import note, subjects
from tests.fakes.people import NOON
from tests.fakes.postgres import PostgresServer

KILLED = """
import asyncio, os, sys
from gateway.store.engine import Store
from tests.contract.stores import note

async def main():
    store = await Store.open(sys.argv[1])
    for number in range(20):
        await store.commit(note(str(number)))
    os._exit(137)

asyncio.run(main())
"""


def count(database: Path) -> int:
    with closing(sqlite3.connect(f"{database.as_uri()}?immutable=1", uri=True)) as connection:
        return int(connection.execute("SELECT count(*) FROM audit").fetchone()[0])


async def filled(path: Path, notes: int = 20) -> Store:
    store = await Store.open(f"sqlite:///{path}")
    for number in range(notes):
        await store.commit(note(str(number)))
    return store


async def test_backups_while_much_is_written_are_whole(tmp_path: Path) -> None:
    store = await filled(tmp_path / "home" / "tenk.db", 0)
    for number in range(5):
        writes = [store.queue(note(f"{number}/{one}")) for one in range(50)]
        await writes[0]
        done = sum(write.done() for write in writes)
        await asyncio.to_thread(back_up, tmp_path / "home" / "tenk.db", tmp_path / f"{number}.db")
        assert 50 * number + done <= count(tmp_path / f"{number}.db") <= 50 * (number + 1)
        await asyncio.wait(writes)
    await store.aclose()


async def test_backup_of_a_database_at_rest_and_of_a_killed_ones(tmp_path: Path) -> None:
    await (await filled(tmp_path / "rest.db")).aclose()
    killed = tmp_path / "killed.db"
    command = [sys.executable, "-c", KILLED, f"sqlite:///{killed}"]
    assert 137 == subprocess.run(command, cwd=Path(__file__).parents[2], check=False, timeout=50).returncode
    for name in ("rest", "killed"):
        await asyncio.to_thread(back_up, tmp_path / f"{name}.db", tmp_path / f"{name}-copy.db")
        assert 20 == count(tmp_path / f"{name}-copy.db")


async def test_nothing_is_written_over_and_nothing_half_done_is_left(tmp_path: Path) -> None:
    await (await filled(tmp_path / "tenk.db", 1)).aclose()
    (tmp_path / "file").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "directory").mkdir()
    for name in ("file", "link", "directory"):
        with pytest.raises(GatewayError, match="is there already"):
            back_up(tmp_path / "tenk.db", tmp_path / name)
    with pytest.raises(GatewayError, match="there is no database"):
        back_up(tmp_path / "other.db", tmp_path / "copy.db")
    with pytest.raises(GatewayError, match="cannot be written: No such file"):
        back_up(tmp_path / "tenk.db", tmp_path / "no" / "copy.db")
    (tmp_path / "text.db").write_text("no database " * 1000)
    (tmp_path / "text.db").chmod(0o600)
    with pytest.raises(GatewayError, match="cannot be used as a database"):
        back_up(tmp_path / "text.db", tmp_path / "copy.db")
    assert "precious" == (tmp_path / "file").read_text()
    assert [] == [path.name for path in tmp_path.iterdir() if "copy" in path.name]


async def test_damaged_database_makes_no_backup(tmp_path: Path) -> None:
    path = tmp_path / "tenk.db"
    await (await filled(path, 3)).aclose()
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'ix_audit_at'").fetchone()
    content = bytearray(path.read_bytes())
    content[(root - 1) * 4096 : root * 4096] = b"\xff" * 4096
    path.write_bytes(content)
    with pytest.raises(GatewayError, match=r"damaged|cannot be used"):
        back_up(path, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


async def test_restored_database_is_the_one_that_was_backed_up(tmp_path: Path) -> None:
    home = tmp_path / "home"
    await (await filled(home / "tenk.db")).aclose()
    back_up(home / "tenk.db", tmp_path / "copy.db")
    with HomeLock(home), pytest.raises(GatewayError, match=r"move .*tenk\.db and all"):
        restore(tmp_path / "copy.db", home / "tenk.db")
    (home / "tenk.db").write_bytes(b"")
    restore(tmp_path / "copy.db", home / "tenk.db")
    store = await Store.open(f"sqlite:///{home}/tenk.db")
    assert 20 == len(await store.read(subjects))
    await store.aclose()
    assert 0o600 == (home / "tenk.db").stat().st_mode & 0o777


async def test_old_file_is_made_one_that_gives_room_back(tmp_path: Path) -> None:
    path = tmp_path / "tenk.db"
    await (await filled(path, 1)).aclose()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum = NONE")
        connection.execute("VACUUM")
        connection.execute("CREATE TABLE ballast AS SELECT zeroblob(3000000)")
        connection.execute("DROP TABLE ballast")
    before, after = vacuum(path)
    with closing(sqlite3.connect(path)) as connection:
        assert (2,) == connection.execute("PRAGMA auto_vacuum").fetchone()
    assert (True, True) == (before > 3_000_000, after < 1_000_000)


PAGE = Path(__file__).parents[2] / "docs" / "backup.md"
ON_PAGE = "postgresql://tenk@127.0.0.1/tenk"


@pytest.mark.gate
async def test_the_page_on_backup_copies_a_postgresql_and_restores_it(postgres: PostgresServer, tmp_path: Path) -> None:
    url = await postgres.create_owned()
    store = await Store.open(url)
    newcomer = Newcomer("acme", "telegram:1", "telegram:main", "Ana", "owner", "cli")
    await store.commit(lambda c: people.enrol(c, newcomer, NOON))
    dump, restore = commands_on_page("pg_dump")[0], commands_on_page("pg_restore")[0]
    await asyncio.to_thread(typed, postgres, dump.replace(ON_PAGE, url), tmp_path)
    await store.commit(lambda c: people.enrol(c, replace(newcomer, sender_key="telegram:2", display_name="Ben"), NOON))
    await store.aclose()
    await asyncio.to_thread(typed, postgres, restore.replace(ON_PAGE, url), tmp_path)
    again = await Store.open(url)
    assert ["Ana"] == [person.display_name for person in await again.read(people.everybody)]
    await again.aclose()


def commands_on_page(word: str) -> list[str]:
    blocks = PAGE.read_text(encoding="utf-8").split("```")[1::2]
    return [line for block in blocks for line in block.splitlines() if word in line]


def typed(server: PostgresServer, command: str, directory: Path) -> str:
    environ = os.environ | {"PATH": f"{server.tools}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", command], cwd=directory, env=environ, capture_output=True, text=True, timeout=60)
    assert 0 == done.returncode, done.stderr
    return done.stdout
