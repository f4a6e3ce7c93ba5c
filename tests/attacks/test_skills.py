"""A workspace whose owner means ill: what they write there neither runs nor stops what the operator has trusted."""

import os
from pathlib import Path

from agent.skills.config import SkillsConfig
from agent.workspace.config import WorkspaceConfig
from gateway.capabilities.skills import FoundFiles, SkillFiles
from gateway.config.settings import Settings
from tests.unit.skills.shelf import text_of, write_skill

BOMB = "---\na: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b]\n---\nBody"

BAD = {
    "bomb": BOMB,
    "deep": f"---\na: {'{a: ' * 1500}\n---\nBody",
    "list": "---\n- a\n- b\n---\nBody",
    "huge": text_of("huge", "x" * 1_000_000),
    "slash": text_of("../../etc"),
    "python": "---\ndescription: !!python/object/apply:os.system ['touch ran']\n---\nBody",
    "binary": "---\ndescription: \x00\x01\n---\nBody",
    "open": "---\ndescription: 'never closed\n---\nBody",
    "numbers": f"---\ndescription: {'9' * 7000}\n---\nBody",
    "placeholders": text_of("placeholders", "$ARGUMENTS" * 5000),
    "Name With\nA Line": text_of("x"),
}


def read(root: Path, directory: Path) -> FoundFiles:
    config = SkillsConfig(bundled=False, user=directory / "none")
    settings = Settings(skills=config, workspace=WorkspaceConfig(root=root))
    return SkillFiles(config, settings, "default").read()


def test_bad_files_are_refused_each_with_a_reason_and_the_others_stay(tmp_path: Path) -> None:
    folder = tmp_path / "root/default/mallory/skills"
    for name, text in BAD.items():
        write_skill(folder, name, text)
    for windows, text in (("bom", "\ufeff"), ("crlf", "")):
        (write_skill(folder, windows) / "SKILL.md").write_bytes(
            (text + text_of(windows)).replace("\n", "\r\n").encode()
        )
    os.mkfifo(write_skill(folder, "fifo") / "pipe")
    (write_skill(folder, "device") / "zero").symlink_to("/dev/zero")
    (write_skill(folder, "loop") / "loop").symlink_to(folder / "loop")
    (write_skill(folder, "self") / "self").symlink_to(folder / "self/self")
    for number in range(60):
        (write_skill(folder, "many") / f"{number}").touch()
    (folder / "many" / "SKILL.md").chmod(0o000)
    found = read(tmp_path / "root", tmp_path).folders["mallory"]
    flaws = {path.rpartition("/skills/")[2]: why for path, why in found.flaws.items()}
    expected = {*BAD, "fifo", "device", "loop", "self", "many"}
    assert (expected, {"bom", "crlf"}) == (set(flaws), {skill.name for skill in found.skills})
    assert all(why and len(why) < 400 for why in flaws.values()), flaws
    assert not (Path.cwd() / "ran").exists()


def test_a_folder_that_may_not_be_read_takes_nothing_from_others(tmp_path: Path) -> None:
    for person in ("ana", "mallory"):
        write_skill(tmp_path / "root/default" / person / "skills")
    write_skill(tmp_path / "root/default/ana/skills", os.fsdecode(b"\xff"), "x")
    (tmp_path / "root/default/mallory").chmod(0o000)
    try:
        found = read(tmp_path / "root", tmp_path).folders
    finally:
        (tmp_path / "root/default/mallory").chmod(0o700)
    assert ["scales"] == [skill.name for skill in found["ana"].skills]
    assert ["\ufffd"] == [path.rpartition("/")[2] for path in found["ana"].flaws]


def test_a_folder_full_of_folders_is_read_to_a_bound(tmp_path: Path) -> None:
    for number in range(1_000):
        write_skill(tmp_path / "root/default/mallory/skills", f"s{number}")
    write_skill(tmp_path / "root/default/ana/skills")
    found = read(tmp_path / "root", tmp_path).folders
    assert (["scales"], True) == ([skill.name for skill in found["ana"].skills], len(found["mallory"].skills) <= 201)
    assert ["it has more than 200 entries; some are not used"] == list(found["mallory"].flaws.values())
