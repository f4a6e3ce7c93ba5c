"""Paths that lead out of a person's folder: nothing outside is read, written or listed."""

import ctypes
import os
import socket
import threading
from contextlib import chdir
from pathlib import Path

import pytest

from agent.tools.base import ToolError
from agent.workspace.folder import Folders
from tests.fakes.workspace import ANA, BEA, CANARY, Rig, make_rig


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return make_rig(tmp_path)


AT_FDCWD, RENAME_EXCHANGE = -100, 2

PATHS = [
    *("../bea/diary.txt", "a/../../bea/diary.txt", "./../bea/diary.txt", "..", "a/..", "../../../outside/secret.txt"),
    *(
        "/etc/passwd",
        "//server/share/x",
        "\\\\server\\share\\x",
        "..\\bea\\diary.txt",
        "C:\\x",
        "C:x",
        "~/x",
        "~root/x",
    ),
    *(
        "diary.txt\0.md",
        "\0",
        "a\nb",
        "/workspace/../bea/diary.txt",
        "/workspace//etc/passwd/../..",
        "/proc/self/environ",
    ),
    *("/dev/zero", "/workspace/../../etc/passwd", "", ".", "x" * 999, "a/" * 60 + "b", "a" * 300),
]


@pytest.mark.parametrize("path", PATHS)
async def test_a_path_that_leads_out_is_refused(rig: Rig, path: str) -> None:
    (rig.folder / "a").mkdir()
    with pytest.raises(ToolError):
        await rig.call("read_file", path=path)
    with pytest.raises(ToolError):
        await rig.call("write_file", path=path, content="taken")
    assert not rig.is_harmed()


@pytest.mark.parametrize("target", ["../bea/diary.txt", "../../../outside/secret.txt", "{outside}/secret.txt"])
async def test_a_link_is_never_followed(rig: Rig, target: str) -> None:
    (rig.folder / "link.txt").symlink_to(target.format(outside=rig.outside))
    for name, arguments in (
        ("read_file", {}),
        ("write_file", {"content": "x"}),
        ("edit_file", {"old": "c", "new": "x"}),
    ):
        with pytest.raises(ToolError, match="link"):
            await rig.call(name, path="link.txt", **arguments)
    assert {"files": [], "truncated": False} == await rig.call("glob", pattern="**")
    assert {"files": {}, "truncated": False} == await rig.call("grep", pattern="canary")
    assert not rig.is_harmed()


async def test_a_linked_directory_is_never_entered(rig: Rig) -> None:
    (rig.folder / "up").symlink_to(rig.outside)
    for name, arguments in (
        ("read_file", {}),
        ("write_file", {"content": "x"}),
        ("edit_file", {"old": "c", "new": "x"}),
    ):
        with pytest.raises(ToolError, match="link"):
            await rig.call(name, path="up/secret.txt", **arguments)
    with pytest.raises(ToolError, match="link"):
        await rig.call("write_file", path="up/new/file.txt", content="x")
    assert {"files": [], "truncated": False} == await rig.call("glob", pattern="up/*")
    assert not rig.is_harmed()


async def test_a_persons_folder_that_is_a_link_is_refused(rig: Rig) -> None:
    rig.folder.rmdir()
    rig.folder.symlink_to(rig.config.root / "acme" / "bea")
    with pytest.raises(ToolError, match="cannot be opened"):
        await rig.call("read_file", path="diary.txt")


async def test_pipes_and_sockets_are_not_opened(rig: Rig) -> None:
    os.mkfifo(rig.folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        with chdir(rig.folder):  # the whole path would be too long
            listening.bind("socket")
        for name in ("pipe", "socket"):
            with pytest.raises(ToolError, match="device, pipe or socket"):
                await rig.call("read_file", path=name)
            with pytest.raises(ToolError, match="device, pipe or socket"):
                await rig.call("write_file", path=name, content="x")
        assert {"files": {}, "truncated": False} == await rig.call("grep", pattern="x")


@pytest.mark.parametrize("user", ["..", ".", "../bea", "bea/../ana", "a/b", "", "x" * 300, "\0"])
def test_a_strange_user_id_has_a_folder_of_its_own(tmp_path: Path, user: str) -> None:
    folders = Folders(tmp_path, per_person=True)
    other = type(ANA)(user, "acme")
    with folders.open(other):
        assert tmp_path / "acme" == folders.path_of(other).parent
        assert folders.path_of(other) != folders.path_of(ANA)


async def test_a_person_reads_only_their_own_folder(rig: Rig) -> None:
    assert f"     1  {CANARY}" == (await rig.call("read_file", BEA, path="diary.txt"))["lines"]
    with pytest.raises(ToolError, match=r"no diary\.txt"):
        await rig.call("read_file", path="diary.txt")


async def test_a_directory_swapped_for_a_link_gives_nothing_away(rig: Rig) -> None:
    inner, link = rig.folder / "inner", rig.folder / "link"
    inner.mkdir()
    (inner / "secret.txt").write_text("harmless")
    link.symlink_to(rig.outside)
    is_over = threading.Event()
    libc = ctypes.CDLL(None)

    def swap() -> None:
        while not is_over.is_set():
            libc.renameat2(AT_FDCWD, bytes(inner), AT_FDCWD, bytes(link), RENAME_EXCHANGE)

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen = set()
    try:
        for number in range(300):
            try:
                seen.add((await rig.call("read_file", path="inner/secret.txt"))["lines"])
                await rig.call("write_file", path=f"inner/new-{number % 7}.txt", content="x")
            except ToolError:
                seen.add("refused")
    finally:
        is_over.set()
        swapping.join()
    assert seen <= {"     1  harmless", "refused"}
    assert not rig.is_harmed()


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "**/../../*", "~/*", "\\\\server\\*"])
async def test_a_pattern_that_leads_out_is_refused(rig: Rig, pattern: str) -> None:
    with pytest.raises(ToolError):
        await rig.call("glob", pattern=pattern)
    with pytest.raises(ToolError):
        await rig.call("grep", pattern="canary", files=pattern)


async def test_a_pattern_that_explodes_ends(rig: Rig) -> None:
    (rig.folder / ("a" * 200)).write_text("a" * 5000)
    assert [] == (await rig.call("glob", pattern="*a" * 90 + "*b"))["files"]
    assert {} == (await rig.call("grep", pattern=r"(a|b|ab)*c"))["files"]
