"""Hooks as functions and programs: their answers, and their failures in one line."""

import sys
from pathlib import Path

import pytest

from agent.hooks.chain import program_hook, python_hook, read_said
from agent.hooks.points import HookFailed, HookSaid

GIVEN = {"point": "pre_tool", "tool": "pay", "input": {"to": "acme; rm -rf /"}}


def program(directory: Path, code: str) -> tuple[str, str]:
    file = directory / "hook.py"
    file.write_text(f"import json, os, sys\n{code}\n")
    return sys.executable, str(file)


async def test_its_arguments_are_its_own(tmp_path: Path):
    code = 'print(json.dumps({"reason": sys.argv[1]}))'
    assert "$(id) && x" == (await program_hook((*program(tmp_path, code), "$(id) && x"))(GIVEN)).reason


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("print('fine')", "printed this instead of JSON: 'fine'"),
        ("pass", "printed this instead of JSON: ''"),
        ("sys.exit(1)", "exited with 1"),
        ("sys.exit('no such user')", "exited with 1: no such user"),
        ("print('[1]')", "answered with list in place of an object"),
        ('print(\'{"decison": "deny"}\')', "decison: there is no such key"),
        ('print(\'{"decision": "perhaps"}\')', "decision: it has to be one of: allow, ask, deny"),
        ("os.kill(os.getpid(), 9)", "exited with -9"),
    ],
)
async def test_what_a_program_does_wrong_is_told(tmp_path: Path, code: str, words: str):
    with pytest.raises(HookFailed, match=words.replace("[", r"\[")):
        await program_hook(program(tmp_path, code))(GIVEN)


async def test_a_program_that_is_not_there_is_told():
    with pytest.raises(HookFailed, match="gone cannot be started: No such file"):
        await program_hook(("/nowhere/gone",))(GIVEN)


async def test_a_function_may_be_async_or_not_and_say_it_in_a_dict():

    async def later(given):
        return {"decision": "allow", "reason": given["tool"]}

    assert HookSaid(decision="allow", reason="pay") == await python_hook(later)(GIVEN)
    assert HookSaid(context="x") == await python_hook(lambda _: HookSaid(context="x"))(GIVEN)
    assert HookSaid() == await python_hook(lambda _: None)(GIVEN)
    assert HookSaid() == read_said({})
