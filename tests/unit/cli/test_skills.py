"""`tenk skills` as an operator types it."""

from pathlib import Path

from tests.unit.cli.test_cli import tenk
from tests.unit.skills.shelf import text_of, write_skill


def with_skills(directory: Path, config: str = "[skills]\n") -> tuple[str, str]:
    (directory / "gateway.toml").write_text(config)
    return "--config", str(directory / "gateway.toml")


def test_a_skill_is_added_once_and_listed(tmp_path: Path) -> None:
    config = with_skills(tmp_path, '[skills]\ndisabled = ["breaking-a-plateau"]\n')
    folder = write_skill(tmp_path / "mine", text=text_of(allowed_tools="pay", user_invocable="true"))
    (folder / "price.sh").write_text("echo 42")
    added = tenk("skills", "add", str(folder), *config, home=tmp_path)
    assert (0, "") == (added.returncode, added.stderr)
    assert "Calls without approval: pay" in added.stdout
    assert "It brings files that only the shell reads: set workspace.shell" in added.stdout
    again = tenk("skills", "add", str(folder), *config, home=tmp_path)
    assert (1, True) == (again.returncode, "replace it with --replace" in again.stderr)
    assert 0 == tenk("skills", "add", str(folder), "--replace", *config, home=tmp_path).returncode
    listed = tenk("skills", "list", *config, home=tmp_path)
    assert (0, "") == (listed.returncode, listed.stderr)
    lines = {line.split()[0]: line.split()[1:] for line in listed.stdout.splitlines()}
    assert ["user", "used", "/scales"] == [*lines["scales"][:2], lines["scales"][3]]
    assert ["bundled", "used"] == lines["practice-session"][:2]
    assert ["bundled", "disabled"] == lines["breaking-a-plateau"][:2]


def test_what_is_no_skill_is_not_added(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "mine", text="Play.")
    added = tenk("skills", "add", str(folder), home=tmp_path)
    assert (1, True) == (added.returncode, "does not begin with frontmatter" in added.stderr)


def test_a_skill_of_a_workspace_waits_until_it_is_trusted_and_a_broken_one_says_why(tmp_path: Path) -> None:
    root = tmp_path / "folders"
    config = with_skills(tmp_path, f'[skills]\nbundled = false\n[workspace]\nroot = "{root}"\nfolders = "tenant"\n')
    write_skill(root / "default" / "skills")
    write_skill(root / "default" / "skills", "broken", "---\n- x\n---\nBody")

    def states() -> dict[str, str]:
        listed = tenk("skills", "list", *config, home=tmp_path).stdout
        return {line.split()[0].rpartition("/")[2]: line for line in listed.splitlines()[1:]}

    assert "waiting" in states()["scales"] and "no mapping of keys" in states()["broken"]
    late = tenk("skills", "trust", "scales", "--digest", "000000", *config, home=tmp_path)
    assert (1, True) == (late.returncode, "skill:scales has changed" in late.stderr)
    digest = states()["scales"].split()[3]
    trusted = tenk("skills", "trust", "scales", "--digest", digest, *config, home=tmp_path)
    assert (0, "") == (trusted.returncode, trusted.stderr)
    assert "trusted" in states()["scales"]
    write_skill(root / "default" / "skills", text=text_of(body="Other."))
    assert "changed" in states()["scales"]
