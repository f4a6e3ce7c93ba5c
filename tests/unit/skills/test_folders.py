"""Reading folders: nothing outside of them, nothing without a bound."""

import os
import shutil

import pytest

from agent.skills.folders import MAX_FILES, MAX_SKILLS, BadFile, read_skill, read_skills
from agent.skills.skill import BadSkill, SkillSource
from tests.unit.skills.shelf import text_of, write_skill

USER = SkillSource.USER


def flaws_of(folder):
    return {path.rpartition("/")[2]: why for path, why in read_skills(folder, USER).flaws.items()}


def test_skills_are_read_in_the_order_of_their_names(tmp_path):
    for name in ("b", "a"):
        write_skill(tmp_path, name)
    (tmp_path / "README.md").write_text("not a skill")
    (tmp_path / "empty").mkdir()
    found = read_skills(tmp_path, USER)
    assert (["a", "b"], {}) == ([skill.name for skill in found.skills], found.flaws)


def test_a_broken_skill_leaves_the_others_as_they_are(tmp_path):
    write_skill(tmp_path, "good")
    write_skill(tmp_path, "bad", "---\n- x\n---\nBody")
    assert ["good"] == [skill.name for skill in read_skills(tmp_path, USER).skills]
    assert {"bad": "its frontmatter is no mapping of keys to values"} == flaws_of(tmp_path)


def test_a_folder_that_vanishes_has_no_skills(tmp_path):
    write_skill(tmp_path / "skills")
    shutil.rmtree(tmp_path / "skills")
    assert ((), {}) == (read_skills(tmp_path / "skills", USER).skills, read_skills(tmp_path / "skills", USER).flaws)


def test_every_file_of_a_skill_counts_for_its_digest(tmp_path):
    folder = write_skill(tmp_path)
    digests = {read_skill(folder, USER).digest}
    (folder / "notes.md").write_text("1")
    digests.add(read_skill(folder, USER).digest)
    (folder / "notes.md").write_text("2")
    digests.add(read_skill(folder, USER).digest)
    (folder / "notes.md").rename(folder / "other.md")
    digests.add(read_skill(folder, USER).digest)
    assert 4 == len(digests)
    assert read_skill(folder, USER).digest in digests


def test_a_skill_is_read_again_only_if_a_file_of_it_has_changed(tmp_path):
    folder, known = write_skill(tmp_path), {}
    first = read_skills(tmp_path, USER, known).skills[0]
    assert first is read_skills(tmp_path, USER, known).skills[0]
    (folder / "SKILL.md").write_text(text_of(body="New."))
    assert "New." == read_skills(tmp_path, USER, known).skills[0].body
    (folder / "SKILL.md").write_text("broken")
    assert ((), {}) == (read_skills(tmp_path, USER, known).skills, known)


def test_links_out_of_the_folder_are_refused(tmp_path):
    outside = write_skill(tmp_path / "outside", "secret")
    inside = tmp_path / "skills"
    write_skill(inside, "ok")
    (inside / "secret").symlink_to(outside)
    write_skill(inside, "file")
    (inside / "file" / "SKILL.md").unlink()
    (inside / "file" / "SKILL.md").symlink_to(outside / "SKILL.md")
    write_skill(inside, "part")
    (inside / "part" / "data").symlink_to(tmp_path / "outside")
    assert ["ok"] == [skill.name for skill in read_skills(inside, USER).skills]
    assert {"secret", "file", "part"} == set(flaws_of(inside))
    assert all("link out of the folder" in why for why in flaws_of(inside).values())


def test_links_inside_of_the_folder_are_followed(tmp_path):
    write_skill(tmp_path / "skills" / "..data", "scales")
    (tmp_path / "skills" / "scales").symlink_to("..data/scales")
    assert ["scales"] == [skill.name for skill in read_skills(tmp_path / "skills", USER).skills]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda folder: (folder / "SKILL.md").write_text(text_of(body="x" * 1_000_000)), "more than"),
        (lambda folder: (folder / "SKILL.md").write_bytes(text_of().encode("utf-16")), "no text in UTF-8"),
        (lambda folder: (folder / "big.bin").write_bytes(b"x" * 1_000_001), "1,000,000 bytes"),
        (lambda folder: [(folder / f"{n}").touch() for n in range(MAX_FILES + 1)], "more than 50 files"),
        (lambda folder: os.mkfifo(folder / "pipe"), "pipe is no ordinary file"),
    ],
)
def test_what_is_too_large_or_no_text_is_refused(tmp_path, spoil, why):
    folder = write_skill(tmp_path)
    spoil(folder)
    with pytest.raises((BadFile, BadSkill), match=why):
        read_skill(folder, USER)


def test_a_folder_of_too_many_entries_says_so(tmp_path):
    for number in range(MAX_SKILLS + 1):
        (tmp_path / f"s{number}").mkdir()
    assert {tmp_path.name: "it has more than 200 entries; some are not used"} == flaws_of(tmp_path)
