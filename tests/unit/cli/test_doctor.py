"""`tenk doctor` on the capabilities of each tenant, before the first start."""

import json
from pathlib import Path

from tests.unit.cli.test_cli import tenk

CONFIG = """
[cli.shell]
binary = "sh"
subcommands = ["view"]

[tenants.bell.cli.lost]
binary = "no-such-program"
subcommands = ["view"]
"""


def test_each_tenants_programs_are_checked(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(CONFIG)
    done = tenk("doctor", "--json", "--config", str(file), home=tmp_path, TENK_HTTP="127.0.0.1:0", TENK_MODEL="offline")
    found = {each["part"]: each for each in json.loads(done.stdout)}
    assert found["cli:shell"]["ok"]
    assert "may run: view" in found["cli:shell"]["found"]
    lost = found["cli:lost @bell"]
    assert (1, False) == (done.returncode, lost["ok"])
    assert ("there is no program 'no-such-program' that could be run", "install it, or correct the setting") == (
        lost["found"],
        lost["to_do"],
    )
    assert "cli:lost" not in found


def test_the_mcp_server_is_named_and_its_flaw(tmp_path: Path) -> None:
    file, found = tmp_path / "gateway.toml", []
    for enabled in ("true", "false"):
        file.write_text(f"[channels.api]\nmcp = true\nenabled = {enabled}\n")
        done = tenk(
            "doctor", "--json", "--config", str(file), home=tmp_path, TENK_HTTP="127.0.0.1:0", TENK_MODEL="offline"
        )
        found += [each for each in json.loads(done.stdout) if each["part"] == "mcp server"]
    assert [True, False] == [each["ok"] for each in found]
    assert "serves /mcp" in found[0]["found"] and "no effect" in found[1]["found"]
