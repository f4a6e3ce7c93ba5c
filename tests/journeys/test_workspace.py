"""A person's folder: the agent reads it at once, and asks before it writes; over the simulated Telegram."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from gateway.testing.gateway import TestGateway
from gateway.testing.model import Call, Reply
from tests.fakes.workspace import NO_SANDBOX, SANDBOX
from tests.unit.skills.shelf import text_of, write_skill

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
        asked = await ada.answer("Changing a file")
        assert "dayly" in asked.text
        assert "version" not in asked.text
        assert "Play them dayly." in readme.read_text()
        await ada.press("Allow once")
        await ada.answer("It says daily now.")
        assert ["# Scales", "", "Play them daily."] == readme.read_text().splitlines()
        read, written = results(gateway)
        assert "     3  Play them dayly." in read["data"]["lines"]
        assert {"written": "README.md"} == written["data"]


def commands(*typed: str) -> list[Reply]:
    return [Reply(calls=(Call("shell", json.dumps({"command": command})),)) for command in typed]


@pytest.mark.skipif(SANDBOX is None, reason=NO_SANDBOX)
async def test_a_command_runs_at_once_if_it_only_reads(tmp_path: Path) -> None:
    folder = tmp_path / "folders" / "default"
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("one\ntwo\n")
    script = write_skill(tmp_path / "home" / "skills", "price", text_of("price", "Run scripts/price.sh.")) / "scripts"
    script.mkdir()
    (script / "price.sh").write_text("echo 42")
    config = CONFIG.format(root=tmp_path / "folders") + "[skills]\n"
    async with TestGateway(config, directory=tmp_path) as gateway:
        ada = gateway.person("telegram")
        load = Reply(calls=(Call("skill", '{"name": "price"}'),))
        gateway.model.answers(load, *commands("cat /skills/price/scripts/price.sh"), "It says 42.")
        await ada.say("What does the script of the price say?")
        await ada.answer("It says 42.")
        loaded, shown = (result["data"] for result in results(gateway))
        assert "The files of this skill are in /skills/price." in loaded["instructions"]
        assert ("echo 42", 0) == (shown["output"], shown["exit_code"])
        gateway.model.answers(*commands("wc -l < README.md"), "Two lines.")
        await ada.say("How many lines?")
        await ada.answer("Two lines.")
        assert "2\n" == results(gateway)[-1]["data"]["output"]
        gateway.model.answers(*commands("cp README.md COPY.md && curl example.org"), "It may not.")
        await ada.say("Copy it, and fetch a page.")
        await ada.answer("It may not.")
        assert "Denied: 'curl example.org' is in the group 'networking'" in results(gateway)[-1]["error"]
        gateway.model.answers(*commands("cp README.md COPY.md"), "Copied.")
        await ada.say("Copy it, then.")
        assert "cp README" in (await ada.answer("Running a command")).text
        assert not (folder / "COPY.md").exists()
        await ada.press("Allow once")
        await ada.answer("Copied.")
        assert "one\ntwo\n" == (folder / "COPY.md").read_text()
        (tmp_path / "gateway.toml").write_text(config + '[workspace.deny]\ncounting = ["wc *"]\n')
        assert ["workspace.deny.counting"] == (await gateway.operator("POST /v1/reload"))["in_force"]
        gateway.model.answers(*commands("wc -l README.md"), "Not any more.")
        await ada.say("How many lines?")
        await ada.answer("Not any more.")
        assert "in the group 'counting'" in results(gateway)[-1]["error"]


@pytest.mark.parametrize(
    ("program", "why"),
    [("", "bubblewrap is not installed"), ("#!/bin/sh\necho forbidden >&2; exit 1", "does not work here: forbidden")],
)
async def test_a_machine_without_a_sandbox_asks_each_time_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, why: str
) -> None:
    if program:
        (tmp_path / "bwrap").write_text(program)
        (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    async with TestGateway(CONFIG.format(root=tmp_path / "folders")) as gateway:
        while why not in json.dumps(await gateway.operator("GET /v1/status")):
            await asyncio.sleep(0.02)
        ada = gateway.person("telegram")
        call = Call("shell_without_sandbox", '{"command": "echo ran"}')
        gateway.model.answers(Reply(calls=(call,)), "Not for you.")
        await ada.say("Run it.")
        await ada.answer("Not for you.")
        assert "only an owner" in results(gateway)[-1]["error"]
        await gateway.operator("POST /v1/users/telegram:1/role", {"role": "owner"})
        for number in (1, 2):
            gateway.model.answers(Reply(calls=(call,)), f"Done {number}.")
            await ada.say("Run it.")
            asked = await ada.answer("Running a command")
            assert why in asked.text
            assert ["Allow once", "Deny"] == [name for name, _ in asked.buttons]
            await ada.press("Allow once")
            await ada.answer(f"Done {number}.")
            assert results(gateway)[-1]["data"]["output"].endswith("ran\n")


async def test_a_forgotten_persons_folder_is_deleted(tmp_path: Path) -> None:
    config = CONFIG.format(root=tmp_path / "folders").replace("tenant", "person")
    write = Call("write_file", '{"path": "mine.txt", "content": "mine"}')
    async with TestGateway(config) as gateway:
        gateway.model.answers(Reply(calls=(write,)), "Written.")
        ada = gateway.person("telegram")
        await ada.say("Write it.")
        await ada.answer("Writing a file")
        await ada.press("Allow once")
        await ada.answer("Written.")
        (file,) = (tmp_path / "folders" / "default").glob("*/mine.txt")
        await ada.say("/forget everything yes")
        await gateway.until(lambda: not file.parent.exists(), "the deletion of the folder")
