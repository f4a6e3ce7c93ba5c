"""`tenk trust` as an operator types it, without a running gateway."""

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


def test_without_a_thing_that_needs_trust_the_commands_say_so(tmp_path: Path) -> None:
    added = tenk("trust", "add", "skill:scales", home=tmp_path)
    assert (1, True) == (added.returncode, "'skill:scales' is nothing that needs trust" in added.stderr)
    removed = tenk("trust", "remove", "skill:scales", home=tmp_path)
    assert (1, True) == (removed.returncode, "skill:scales is not trusted" in removed.stderr)
    assert 0 == tenk("trust", "list", home=tmp_path).returncode
