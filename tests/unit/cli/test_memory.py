"""`tenk memory` as an operator types it."""

from pathlib import Path

from tests.unit.cli.test_cli import tenk


def test_no_memories_are_imported_for_an_agent_that_there_is_not(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "rules.md").write_text("---\nname: rules\ntype: user\ndescription: Ours\n---\nBe kind.")
    told = tenk("memory", "import", "team", str(tmp_path / "rules"), "--agent", "coahc", home=tmp_path)
    assert 1 == told.returncode
    assert 'there is no agent "coahc"; there are: coach' in told.stderr
