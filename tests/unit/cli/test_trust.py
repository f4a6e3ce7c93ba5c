"""`tenk trust` as an operator types it, without a running gateway."""

import json
from pathlib import Path

import pytest

from gateway.extensions import InstalledPlugin, list_installed
from tests.unit.cli.test_cli import tenk


def test_plugins_of_others_are_listed_with_their_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "pantry-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pantry\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[tenk.tools]\nlarder = larder:Larder\n[tenk.hooks]\nguard = larder:HOOK\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert [
        InstalledPlugin("hooks", "guard", "larder:HOOK", "pantry 1.2"),
        InstalledPlugin("tools", "larder", "larder:Larder", "pantry 1.2"),
    ] == [plugin for plugin in list_installed() if plugin.distribution == "pantry 1.2"]


def test_a_skill_is_trusted_as_it_was_seen(tmp_path: Path) -> None:
    file, config = tmp_path / "folders" / "default" / "skills" / "scales" / "SKILL.md", tmp_path / "gateway.toml"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: scales\ndescription: Practise scales.\n---\nSlowly.\n")
    config.write_text(f'[skills]\n[workspace]\nroot = "{tmp_path / "folders"}"\n')

    def run(*arguments: str) -> tuple[int, str]:
        done = tenk("trust", *arguments, "--config", str(config), home=tmp_path)
        return done.returncode, done.stdout + done.stderr

    def listed() -> dict[str, str]:
        rows = json.loads(run("list", "--json")[1])
        (row,) = (row for row in rows if row["what"].startswith("skill:"))  # others may have installed plug-ins
        return dict(row)

    seen = listed()
    assert ("skill:scales", "waiting", "Practise scales.") == (seen["what"], seen["state"], seen["runs"])
    now = seen["digest"][:12]
    refused = {
        ("add", "skill:gig"): "'skill:gig' is nothing that needs trust; there is: ",
        ("add", "skill:scales", "--digest", "000000000000"): f"skill:scales has changed: its digest is {now}",
        ("remove", "skill:scales"): "skill:scales is not trusted",
        ("remove", "scales"): "'scales' is no KIND:NAME",
    }
    assert [] == [words for given, words in refused.items() if f"error: {words}" not in run(*given)[1]]
    assert 0 == run("add", "skill:scales", "--digest", seen["digest"][:12])[0]
    assert {**seen, "state": "trusted"} == listed()
    file.write_text(file.read_text() + "Or quickly.\n")
    assert "changed" == listed()["state"]
    file.unlink()
    assert "gone" == listed()["state"]
    assert (0, "skill:scales is no longer trusted.\n") == run("remove", "skill:scales")
