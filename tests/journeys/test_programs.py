"""A program with a secret: it reads at once, asks before it changes a thing, and no one sees the secret."""

import json
import os
import sys
from pathlib import Path

from gateway.testing.gateway import TestGateway
from gateway.testing.model import Call, Reply

TOKEN = "tracker-token-5f1d2c7a9b3e"
CONFIG = """
[cli.tracker]
binary = "{binary}"
subcommands = ["issue list", "issue comment"]
read_only_subcommands = ["issue list"]

[cli.lost]
binary = "no-such-program"
subcommands = ["view"]
"""


def use(*arguments: str) -> Reply:
    return Reply(calls=(Call("cli__tracker", json.dumps({"arguments": arguments})),))


async def test_a_person_lists_and_comments_on_an_issue(tmp_path: Path) -> None:
    tracker, notes = tmp_path / "tracker", tmp_path / "notes"
    note = f"open({str(notes)!r}, 'a').write(f'{{sys.argv[1:]}}\\n')"
    tracker.write_text(f"#!{sys.executable}\nimport os, sys\n{note}\nprint(sys.argv[2], os.environ['TOKEN'])\n")
    tracker.chmod(0o700)
    secrets = tmp_path / "secrets.toml"
    secrets.write_text(f'[cli.tracker.secrets]\nTOKEN = "{TOKEN}"\n')
    secrets.chmod(0o600)
    async with TestGateway(CONFIG.format(binary=tracker), directory=tmp_path) as gateway:
        gateway.model.answers(
            use("issue", "list"),
            use("--all", "issue", "delete", "7"),
            use("issue", "comment", "7", "tuned"),
            "I commented on issue 7.",
        )
        ada = gateway.person()
        await ada.say("Comment on issue 7 that the piano is tuned.")
        asked = await ada.answer("May I use cli__tracker?")
        assert "tuned" in asked.text
        assert ["['issue', 'list']"] == notes.read_text().splitlines()
        await ada.press("Allow once")
        await ada.answer("I commented on issue 7.")
        listed, refused, commented = (
            each["content"] for each in gateway.model.requests[-1].body["messages"] if each["role"] == "tool"
        )
        status = await gateway.operator("GET /v1/status")
        parts = [part for part in status["parts"].values() if "lost" in part]
    assert "list [REDACTED]" in listed
    assert "The first arguments must be one of: issue list, issue comment." in refused
    assert "comment [REDACTED]" in commented
    assert ["degraded (cli:lost: there is no program 'no-such-program' that could be run)"] == parts
    assert ["['issue', 'list']", "['issue', 'comment', '7', 'tuned']"] == notes.read_text().splitlines()
    home = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert [] == [path for path in home if TOKEN.encode() in path.read_bytes()]
    assert "TOKEN" not in os.environ
