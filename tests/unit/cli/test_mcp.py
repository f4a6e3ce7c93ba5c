"""`tenk mcp` as an operator types it, without a running gateway."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli.root import root

SERVER = Path(__file__).parents[2] / "fakes" / "plain_mcp_server.py"


@pytest.fixture(autouse=True)
def _same_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


def test_a_server_is_added_tried_listed_and_removed(tmp_path: Path) -> None:
    config = tmp_path / "gateway.toml"
    config.write_text("# mine\n")
    environ = {"TENK_HOME": str(tmp_path / "var")}

    def tenk(*words: str, given: str = "") -> str:
        done = CliRunner().invoke(root, ["mcp", *words[:1], "--config", str(config), *words[1:]], given, environ)
        return f"{done.output}{done.exception or ''}"

    program = "--", sys.executable, "-I", str(SERVER)
    assert "give either a program after `--`, or --url" in tenk("add", "plain")
    assert "the value of EXAMPLE_KEY is empty" in tenk("add", "plain", "--env", "EXAMPLE_KEY", *program)
    tenk("add", "plain", "--env", "EXAMPLE_KEY", *program, given="a-secret\n")
    assert config.read_text().startswith("# mine\n")
    assert "a-secret" not in config.read_text()
    assert 'EXAMPLE_KEY = "a-secret"' in (tmp_path / "secrets.toml").read_text()
    assert "there is an MCP server plain already" in tenk("add", "plain", "--url", "http://127.0.0.1:9/")
    tried = tenk("test", "plain")
    assert ("Waiting at most 30 s for the tools of ", True) == (tried[:38], "mcp__plain__echo" in tried)
    assert "no gateway runs" in tenk("list")
    added = config.read_text()
    config.write_text(f'{added}\n[permissions]\ndeny = ["mcp__plain__echo"]\n')
    assert 'permissions.deny: there is no tool "mcp__plain__echo"' in tenk("remove", "plain")
    assert "[mcp.plain]" in config.read_text()
    config.write_text(added)
    assert "The server plain is removed" in tenk("remove", "plain")
    assert "there is no MCP server 'plain'; there is: none" in tenk("test", "plain")
    assert "# mine\n" == config.read_text()
