"""Programs with secrets against a model that was talked into stealing them, and against programs that misbehave."""

import base64
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from agent.programs.config import ProgramConfig
from agent.programs.program import Program, ProgramArguments
from agent.tools.base import Effect, ToolError
from tests.fakes.virtual_time import passes

TOKEN = "tok-5f1d2c7a9b3e"
KEY = "-----BEGIN KEY-----\nMIIEowIBAAKCAQEA\n-----END KEY-----"
SECRETS = {"TOKEN": SecretStr(TOKEN), "PRIVATE_KEY": SecretStr(KEY)}


def make(tmp_path: Path, script: str, **more: Any) -> Program:
    """Return a program that is this Python script."""
    binary = tmp_path / "prog"
    binary.write_text(f"#!{sys.executable}\nimport base64, os, signal, sys, time\n{script}\n")
    binary.chmod(0o700)
    given: dict[str, Any] = {"subcommands": ("issue list", "view"), "secrets": SECRETS} | more
    environ = {**os.environ, "OPENAI_API_KEY": "sk-of-the-gateway", "LANG": "C.UTF-8"}
    return Program("gh", ProgramConfig(binary=str(binary), **given), environ)


async def call(program: Program, *arguments: str) -> dict[str, Any]:
    """Run the program as the pipeline does, after its checks."""
    tool, given = program.tool(), ProgramArguments(arguments=list(arguments))
    context: Any = None
    assert tool.validate is not None
    checked = tool.validate(context, given)
    assert checked is not None
    await checked
    found: Any = await tool.run(context, given)
    return dict(found)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["delete"],
        ["--repo", "x", "view"],
        ["--config=view", "view"],
        ["-c", "view"],
        ["issue"],
        ["issue", "--web", "list"],
        ["issue", "list2"],
        ["issue list"],
        ["VIEW"],
        [" view"],
        ["view\n"],
        ["", "view"],
        ["view", "a\x00b"],
        ["view", "a\x1b[2Jb"],
        ["view", "a\rb"],
    ],
)
async def test_no_other_subcommand_and_no_control_character_reaches_the_program(
    tmp_path: Path, arguments: list[str]
) -> None:
    with pytest.raises(ToolError):
        await call(make(tmp_path, "print('ran')"), *arguments)


async def test_no_shell_reads_an_argument(tmp_path: Path) -> None:
    hard = ["$(id)", "`id`", "; id", "| id", "a\nb", "*", "~", "$TOKEN", "-x", "'"]
    done = await call(make(tmp_path, "print(sys.argv[1:])"), "view", *hard)
    assert f"{['view', *hard]}\n" == done["output"]


async def test_a_program_gets_its_secrets_and_nothing_else_of_the_gateway(tmp_path: Path) -> None:
    script = "print(sorted(os.environ)); print(os.listdir()); print(os.environ['TOKEN'] == sys.argv[2])"
    done = await call(make(tmp_path, script), "view", TOKEN)
    names, files, is_same = done["output"].splitlines()
    assert {"HOME", "LANG", "PATH", "PRIVATE_KEY", "TOKEN"} >= set(eval(names)) - {"LC_CTYPE"}
    assert ("[]", "True") == (files, is_same)


PRINTS = {
    "plain": "print(os.environ['TOKEN'])",
    "to its errors": "print(os.environ['TOKEN'], file=sys.stderr)",
    "inside a word": "print('x' + os.environ['TOKEN'] + 'x')",
    "a private key by lines": "[print('>', line) for line in os.environ['PRIVATE_KEY'].splitlines()]",
    "in Base64": "[print(base64.b64encode(f'{at}{os.environ[\"TOKEN\"]}:p'.encode())) for at in ('', 'u', 'u:')]",
    "behind a megabyte": "print('x' * (1_000_000 - 7) + os.environ['TOKEN'])",
    "a thousand times": "print(os.environ['PRIVATE_KEY'] * 100_000)",
}


@pytest.mark.parametrize("how", PRINTS)
async def test_a_secret_that_a_program_prints_is_hidden(tmp_path: Path, how: str) -> None:
    done = await call(make(tmp_path, PRINTS[how]), "view")
    seen = str(done)
    parts = [TOKEN[:6], "MIIEow", *(base64.b64encode(f"{'u:'[:n]}{TOKEN}".encode()).decode()[4:12] for n in range(3))]
    assert [] == [part for part in parts if part in seen]
    assert how == "behind a megabyte" or "[REDACTED]" in seen


async def test_a_hundred_megabytes_of_output_are_cut(tmp_path: Path) -> None:
    script = "chunk = b'x' * 1_000_000\nfor _ in range(100): os.write(1, chunk); os.write(2, b'y')"
    done = await call(make(tmp_path, script, max_output_chars=1_000), "view")
    assert (0, 100) == (done["exit_code"], len(done["errors"]))
    assert done["output"].endswith("[cut: it wrote at least 1,000,000 bytes]")
    assert len(done["output"]) < 1_100


async def test_a_program_that_ignores_a_request_to_end_is_killed_with_its_children(tmp_path: Path) -> None:
    script = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
open(sys.argv[2], "a").write(f"{os.getpid()} ")
time.sleep(600)
"""
    pids = tmp_path / "pids"
    with pytest.raises(ToolError, match="killed after 2 s"):
        await call(make(tmp_path, script, timeout_s=2.0), "view", str(pids))
    until_s = time.monotonic() + 30
    running = [int(pid) for pid in pids.read_text().split()]
    assert 2 == len(running)
    while any(runs(pid) for pid in running):
        assert time.monotonic() < until_s
        await passes(0.02)


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def test_a_missing_program_is_told(tmp_path: Path) -> None:
    program = make(tmp_path, "")
    (tmp_path / "prog").unlink()
    assert "there is no program" in program.why_missing()
    with pytest.raises(ToolError, match="an operator must install it"):
        await call(program, "view")


def test_a_call_is_unsafe_unless_the_operator_says_that_it_only_reads(tmp_path: Path) -> None:
    tool = make(tmp_path, "", read_only_subcommands=("issue list",)).tool()
    reads, writes = (ProgramArguments(arguments=given) for given in (["issue", "list", "--web"], ["view"]))
    context: Any = None
    assert tool.permission is not None
    assert Effect.UNSAFE is tool.effect
    assert [True, False] == [tool.only_reads(each) for each in (reads, writes)]
    assert ["allow", "passthrough"] == [tool.permission(context, each) for each in (reads, writes)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"binary": "./gh"},
        {"binary": "../bin/gh"},
        {"subcommands": ()},
        {"subcommands": ("--help",)},
        {"subcommands": ("issue --web",)},
        {"subcommands": ("issue  list",)},
        {"subcommands": ("",)},
        {"read_only_subcommands": ("issue",)},
        {"secrets": {"A=B": SecretStr("x")}},
    ],
)
def test_settings_that_would_open_more_than_they_say_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ProgramConfig.model_validate({"binary": "gh", "subcommands": ("issue list",)} | wrong)
