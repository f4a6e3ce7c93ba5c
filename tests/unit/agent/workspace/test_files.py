"""The tools for files: windows, exact edits, versions that were read, searches."""

import os
from contextlib import chdir
from pathlib import Path

import pytest

from agent.tools.base import ToolError
from agent.workspace.folder import Folders
from tests.fakes.workspace import ANA, NO_SANDBOX, SANDBOX, Rig, make_rig


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return make_rig(tmp_path)


async def test_a_file_is_read_in_windows_of_a_hundred_lines(rig: Rig) -> None:
    (rig.folder / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 251)))
    first = await rig.call("read_file", path="long.txt")
    assert (100, 250, 101) == (len(first["lines"].splitlines()), first["of"], first["next_line"])
    last = await rig.call("read_file", path="/workspace/long.txt", first_line=201)
    assert "   201  line 201" == last["lines"].splitlines()[0]
    assert last["next_line"] is None
    with pytest.raises(ToolError, match="250 lines only"):
        await rig.call("read_file", path="long.txt", first_line=251)


async def test_a_persons_folder_is_deleted_whatever_it_holds(rig: Rig) -> None:
    folders = Folders(rig.config.root, per_person=True)
    with chdir(rig.folder):
        for _ in range(1200):
            Path("a").mkdir()
            os.chdir("a")  # a path of all would be too long
        Path("file").touch()
    (rig.folder / "link").symlink_to(rig.outside)
    (rig.folder / "shut" / "inner").mkdir(parents=True)
    (rig.folder / "shut" / "inner").chmod(0)
    (rig.folder / "shut").chmod(0)
    for _ in range(2):
        folders.delete(ANA)
        assert not rig.folder.exists()
    assert not rig.is_harmed()


async def test_a_file_that_is_no_text_or_too_large_is_refused(rig: Rig) -> None:
    (rig.folder / "picture").write_bytes(b"\x89PNG\0\0")
    (rig.folder / "huge").write_bytes(b"a" * 2_000_001)
    with pytest.raises(ToolError, match="no text file; it has 6 bytes"):
        await rig.call("read_file", path="picture")
    with pytest.raises(ToolError, match="larger than 2000000 bytes"):
        await rig.call("read_file", path="huge")


async def test_an_edit_replaces_exactly_one_text(rig: Rig) -> None:
    file = rig.folder / "a.txt"
    file.write_text("one two two\n")
    file.chmod(0o4755)
    with pytest.raises(ToolError, match="contains that text 2 times"):
        await rig.call("edit_file", path="a.txt", old="two", new="three")
    with pytest.raises(ToolError, match="does not contain"):
        await rig.call("edit_file", path="a.txt", old="four", new="three")
    assert {"written": "a.txt"} == await rig.call("edit_file", path="a.txt", old="one", new="1")
    assert {"written": "a.txt"} == await rig.call("edit_file", path="a.txt", old="two", new="2", all=True)
    assert "1 2 2\n" == file.read_text()
    assert 0o755 == file.stat().st_mode & 0o7777
    assert [file] == list(rig.folder.iterdir())


async def test_a_file_that_changed_since_it_was_read_is_not_changed(rig: Rig) -> None:
    file = rig.folder / "a.txt"
    file.write_text("one")
    await rig.call("read_file", path="a.txt")
    file.write_text("one, and more")
    for name, arguments in (("edit_file", {"old": "one", "new": "1"}), ("write_file", {"content": "1"})):
        with pytest.raises(ToolError, match="changed since it was read"):
            await rig.call(name, path="a.txt", **arguments)
    assert "one, and more" == file.read_text()


@pytest.mark.parametrize(
    ("name", "arguments"), [("edit_file", {"old": "one", "new": "1"}), ("write_file", {"content": "1"})]
)
async def test_a_file_that_changes_while_the_person_is_asked_is_not_changed(
    rig: Rig, tmp_path: Path, name: str, arguments: dict[str, str]
) -> None:
    file = rig.folder / "a.txt"
    file.write_text("one")
    given, context = await rig.prepare(name, path="a.txt", **arguments)
    file.write_text("one, and more")
    with pytest.raises(ToolError, match="changed since it was read"):
        await rig.tools[name].run(context, given)
    assert "one, and more" == file.read_text()


@pytest.mark.parametrize(
    ("name", "arguments"), [("edit_file", {"old": "a", "new": "aa"}), ("write_file", {"content": "aa"})]
)
async def test_a_change_that_was_written_before_a_crash_is_not_made_twice(
    rig: Rig, name: str, arguments: dict[str, str]
) -> None:
    file = rig.folder / "a.txt"
    file.write_text("a")
    given, context = await rig.prepare(name, path="a.txt", **arguments)
    for _ in range(2):  # the second time by the process that found the journaled intent
        assert {"written": "a.txt"} == await rig.tools[name].run(context, given)
        await rig.tools[name].validate(context, given)
    assert "aa" == file.read_text()


async def test_a_new_file_is_written_with_its_directories(rig: Rig) -> None:
    given, context = await rig.prepare("write_file", path="src/deep/new.py", content="x = 1\n")
    assert given.version.startswith("new>")
    await rig.tools["write_file"].run(context, given)
    assert "x = 1\n" == (rig.folder / "src" / "deep" / "new.py").read_text()
    with pytest.raises(ToolError, match="is a directory"):
        await rig.call("write_file", path="src/deep", content="x")


async def test_glob_lists_the_last_changed_files_first(rig: Rig) -> None:
    for at, name in enumerate(["old.py", "src/middle.py", "src/a/new.py", "src/note.md", ".git/config.py"]):
        (rig.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (rig.folder / name).touch()
        os.utime(rig.folder / name, (at, at))
    found = {"files": ["src/a/new.py", "src/middle.py", "old.py"], "truncated": False}
    assert found == await rig.call("glob", pattern="**/*.py")
    assert found == await rig.call("glob", pattern="*.py")
    assert ["src/a/new.py", "src/middle.py"] == (await rig.call("glob", pattern="src/**/*.py"))["files"]
    assert ["src/middle.py"] == (await rig.call("glob", pattern="src/m?ddl[a-f].py"))["files"]
    assert ["src/note.md"] == (await rig.call("glob", pattern="src/note.md"))["files"]


async def test_many_files_are_cut_and_said_to_be(rig: Rig) -> None:
    for number in range(201):
        (rig.folder / f"{number}.txt").write_text("same\n")
    listed = await rig.call("glob", pattern="*")
    found = await rig.call("grep", pattern="s.me")
    assert (200, True) == (len(listed["files"]), listed["truncated"])
    assert (100, True) == (len(found["files"]), found["truncated"])


async def test_grep_shows_lines_with_their_numbers(rig: Rig) -> None:
    (rig.folder / "a.py").write_text("x = 1\ny = 2\n" + "x = 3\n" * 20)
    (rig.folder / "b.md").write_text("x = 4\n")
    (rig.folder / "c.bin").write_bytes(b"x = 5\0")
    found = await rig.call("grep", pattern=r"^x = \d", files="*.py")
    assert ["a.py"] == list(found["files"])
    assert ["1: x = 1", "3: x = 3"] == found["files"]["a.py"][:2]
    assert "…" == found["files"]["a.py"][10]
    with pytest.raises(ToolError, match="no regular expression"):
        await rig.call("grep", pattern="(")


@pytest.mark.skipif(SANDBOX is None, reason=NO_SANDBOX)
async def test_an_edit_that_breaks_a_file_is_not_written(rig: Rig) -> None:
    file = rig.folder / "a.py"
    file.write_text("x = 1\n")
    with pytest.raises(
        ToolError, match=r"(?s)Not written, because the linter refuses it: .*a\.py as edited.*SyntaxError"
    ):
        await rig.call("edit_file", path="a.py", old="1", new="(")
    assert "x = 1\n" == file.read_text()
    assert "passed" == (await rig.call("edit_file", path="a.py", old="1", new="2"))["linter"]
    file.write_text("x = (\n")
    await rig.call("read_file", path="a.py")
    assert (await rig.call("edit_file", path="a.py", old="(", new="((", key="t/1/0"))["linter"].startswith(
        "fails, as before"
    )


@pytest.mark.skipif(SANDBOX is None, reason=NO_SANDBOX)
async def test_a_linter_runs_beside_configuration_of_the_folder_only_if_it_is_trusted(tmp_path: Path) -> None:
    steals = ("sh", "-c", "sh ./package.json; cat > /dev/null")
    for trusted in (False, True):
        rig = make_rig(tmp_path / str(trusted), trusted=trusted, linters={"js": steals})
        (rig.folder / "a.js").write_text("1")
        (rig.folder / "package.json").write_text("echo ran; touch ran; touch ../bea/ran; exit 0")
        linted = (await rig.call("edit_file", path="a.js", old="1", new="2"))["linter"]
        assert (
            "passed" if trusted else "not run: the operator does not trust this folder with its package.json"
        ) == linted
        assert ["a.js", "package.json"] == sorted(path.name for path in rig.folder.iterdir())
        assert not rig.is_harmed()
