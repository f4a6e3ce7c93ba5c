"""`tenk agents` as an operator types it."""

from pathlib import Path

from tests.unit.cli.test_cli import tenk


def test_agents_are_listed_with_what_they_may_do_and_where_they_answer(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    head = "---\ndescription: Finds things out\ntools: [log_practice]\nsteps: 3\npermission_mode: plan\n---\n"
    (tmp_path / "agents" / "finder.md").write_text(f"{head}You find things out.\n")
    file = tmp_path / "gateway.toml"
    file.write_text(
        '[model]\nname = "openai:m"\nbase_url = "http://127.0.0.1:9/v1"\n[agent.accounts]\n"web:main" = "finder"'
    )
    listed = tenk("agents", "list", "--config", str(file), home=tmp_path)
    assert (0, "") == (listed.returncode, listed.stderr)
    lines = [line.split() for line in listed.stdout.splitlines()[1:]]
    assert ["coach", "openai:m", "default", "5", "all"] == lines[0][:5]
    assert ["finder", "openai:m", "plan", "3", "log_practice", "web:main"] == lines[1][:6]
