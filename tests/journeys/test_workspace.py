"""A person's folder: the agent reads it at once, and asks before it writes; over the simulated Telegram."""

import json
from pathlib import Path
from typing import Any

from gateway.testing.gateway import TestGateway
from gateway.testing.model import Call, Reply

CONFIG = """
[workspace]
root = "{root}"
folders = "tenant"
shell = true
"""


def results(gateway: TestGateway) -> list[dict[str, Any]]:
    """Return the results of tools that the last request holds."""
    messages = gateway.model.requests[-1].body["messages"]
    return [json.loads(each["content"]) for each in messages if each["role"] == "tool"]


async def test_a_typo_in_the_readme_is_fixed_after_a_press(tmp_path: Path) -> None:
    readme = tmp_path / "folders" / "default" / "README.md"
    readme.parent.mkdir(parents=True)
    readme.write_text("# Scales\n\nPlay them dayly.\n")
    edit = Call("edit_file", json.dumps({"path": "README.md", "old": "dayly", "new": "daily"}))
    async with TestGateway(CONFIG.format(root=tmp_path / "folders")) as gateway:
        gateway.model.answers(
            Reply(calls=(Call("read_file", '{"path": "README.md"}'),)), Reply(calls=(edit,)), "It says daily now."
        )
        ada = gateway.person("telegram")
        await ada.say("Read the README of my repo and fix the typo.")
        asked = await ada.answer("May I use edit_file?")
        assert "dayly" in asked.text
        assert "Play them dayly." in readme.read_text()
        await ada.press("Allow once")
        await ada.answer("It says daily now.")
        assert ["# Scales", "", "Play them daily."] == readme.read_text().splitlines()
        read, written = results(gateway)
        assert "     3  Play them dayly." in read["data"]["lines"]
        assert {"written": "README.md"} == written["data"]
