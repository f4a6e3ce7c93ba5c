"""`tenk doctor` on the capabilities of each tenant, before the first start."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import UnixStreamServer
from threading import Thread
from typing import Any

from tests.unit.cli.test_cli import TOKEN, tenk

DISCORD_TOKEN = f"{'A' * 24}.{'b' * 6}.{'C' * 38}"
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


def test_a_channel_that_the_running_gateway_calls_degraded_needs_fixing(tmp_path: Path) -> None:
    home = tmp_path / "var"
    home.mkdir(mode=0o700)
    parts = {"telegram:main": "degraded (Bad Gateway)", "discord:main": "ready"}
    tokens = {"TELEGRAM_BOT_TOKEN": TOKEN, "DISCORD_BOT_TOKEN": DISCORD_TOKEN}
    with gateway_saying(
        home / "control.sock", {"parts": parts, "connections": {"discord:main": "1 of 1 shards"}}
    ) as asked:
        done = tenk(
            "doctor", "--json", "--local", home=tmp_path, TENK_HTTP="127.0.0.1:0", TENK_MODEL="offline", **tokens
        )
    found = {each["part"]: (each["ok"], each["found"]) for each in json.loads(done.stdout)}
    assert (False, "the running gateway reports: degraded (Bad Gateway)") == found["telegram:main"]
    assert (True, "the running gateway reports: ready; 1 of 1 shards open") == found["discord:main"]
    assert ["/v1/status"] == asked


@contextmanager
def gateway_saying(path: Path, status: dict[str, Any]) -> Iterator[list[str]]:
    """Answer each request on a control socket with this status; yield the paths that are asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def address_string(self) -> str:
            return "a process"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(status).encode())

    with UnixStreamServer(str(path), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield asked
        server.shutdown()
        thread.join()
