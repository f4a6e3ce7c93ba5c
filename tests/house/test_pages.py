"""Commands, keys, files and variables in README and docs: each exists."""

import json
import re
import subprocess
import tomllib
from collections.abc import Callable, Mapping
from configparser import ConfigParser
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from agent.delegation.definitions import parse_definition
from agent.evals.case_file import parse_case
from agent.memory.files import read_memory
from agent.skills.skill import SkillSource, parse_skill
from gateway.cli.root import root
from gateway.config.settings import Settings, load
from gateway.config.sources import annotation_at
from tests.house.tree import ROOT
from tests.tools.configuration_page import PAGE, page

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / ".github" / "CONTRIBUTING.md"]
TOKEN = "123456789:" + "AbC-_" * 7
COMMAND = re.compile(r"(?<![\w/.@-])(?:[\w./]*/bin/)?tenk ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)([^\n`|;']*)")
VARIABLE = re.compile(r"\b((?:TENK|TELEGRAM|DISCORD|SLACK|OPENAI|ANTHROPIC|DATABASE)_[A-Z_]+)\b")
FILES = {"gateway.toml", "secrets.toml", "secrets.key", "pairing.key", "tenk.db", "tenk.service", "compose.yaml"}
NO_TABLES = {"gateway", "channels", "agent", "tenk", "context", "pyproject", "clerk", "sys"}
"""First parts of dotted names that are modules, entry points or files."""
DEPLOYMENT = {"TENK_CONFIG"}
"""Read by `config/deploy/compose.yaml`."""

each_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)


def code_of(text: str) -> str:
    """Return fenced blocks and inline code."""
    return "\n".join(re.findall(r"```.*?\n(.*?)```", text, re.DOTALL) + re.findall(r"`([^`\n]+)`", text))


def command_of(words: list[str]) -> click.Command:
    """Return the command that these words name, a group if they name one."""
    context = click.Context(root)
    command = root.get_command(context, words[0])
    assert command is not None, words
    if isinstance(command, click.Group) and len(words) > 1:
        inner = command.get_command(context, words[1])
        assert inner is not None or command.invoke_without_command, words
        return inner or command
    return command


@each_page
def test_every_command_and_option_exists(path: Path) -> None:
    for words, rest in COMMAND.findall(code_of(path.read_text(encoding="utf-8"))):
        command = command_of(words.split())
        known = {"--help", *(name for parameter in command.params for name in parameter.opts)}
        assert set() == set(re.findall(r"--[a-z-]+", rest)) - known, (words, rest)
        assert 0 == CliRunner().invoke(command, ["--help"]).exit_code


def is_syntax_of_shell(block: str) -> bool:
    return 0 == subprocess.run(["sh", "-n"], input=block, text=True, capture_output=True, timeout=10).returncode


def is_file_of_systemd(block: str) -> bool:
    unit = ConfigParser(strict=False, interpolation=None)
    unit.read_string(block)
    return {"Service", "Timer"} & {*unit} != set()


def is_file_of_ours(block: str) -> bool:
    """Return True if a block describes an agent, a skill or a memory."""

    def describes(read: Callable[[str], object]) -> bool:
        with suppress(ValueError):
            return bool(read(block))
        return False

    now = datetime(2026, 11, 1, tzinfo=UTC)
    return any(
        describes(read)
        for read in (
            lambda text: parse_definition(text, Path("agent.md")),
            lambda text: parse_skill(text, "warm-up", SkillSource.USER),
            lambda text: read_memory(text, now),
        )
    )


READERS: Mapping[str, Callable[[str], object]] = {
    "shell": is_syntax_of_shell,
    "ini": is_file_of_systemd,
    "json": json.loads,
    "markdown": is_file_of_ours,
    "yaml": lambda block: parse_case(block, Path("case.yaml")),
}
RUN_ELSEWHERE = {"python", "sh", "toml", "toml-secrets"}
"""By `tests/journeys/test_documents.py`, and below."""
SHOWN = {"nginx", "sql", "text"}
"""Files of programs that are not here, and output."""


@each_page
def test_every_block_is_run_or_read(path: Path) -> None:
    for language, block in re.findall(
        r"^```(\S*)\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    ):
        assert language in {*READERS, *RUN_ELSEWHERE, *SHOWN}, f"name the language, or shell: {block}"
        assert language not in READERS or READERS[language](block), block
        assert language != "sh" or path.parent == ROOT / "docs", "blocks of sh are run for pages of the docs alone"


@each_page
def test_every_make_target_exists(path: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set() == set(re.findall(r"\bmake ([a-z]+)", code_of(path.read_text(encoding="utf-8")))) - targets


@each_page
def test_every_variable_is_read(path: Path) -> None:
    source = "".join(each.read_text() for each in (ROOT / "gateway").rglob("*.py"))
    variables = set(VARIABLE.findall(path.read_text(encoding="utf-8"))) - DEPLOYMENT
    assert set() == {name for name in variables if f'"{name}"' not in source}


@each_page
def test_every_block_of_toml_is_a_configuration(path: Path, tmp_path: Path) -> None:
    for block in re.findall(r"```toml\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
        (tmp_path / "gateway.toml").write_text(block)
        channels = tomllib.loads(block).get("channels", {})
        secrets = "".join(
            f'[channels.{channel}.{name}]\n{"bot_token" if channel == "slack" else "token"} = "{number}{TOKEN}"\n'
            for channel, accounts in channels.items()
            for number, name in enumerate(filter(lambda name: isinstance(accounts[name], dict), accounts), 1)
        )
        (tmp_path / "secrets.toml").touch(0o600)
        (tmp_path / "secrets.toml").write_text(secrets + '[model]\napi_key = "sk-test"\n')
        load(tmp_path / "gateway.toml", {"ANTHROPIC_API_KEY": "sk-test", "OPENAI_API_KEY": "sk-test"})


@each_page
def test_every_block_of_secrets_is_a_file_of_secrets(path: Path, tmp_path: Path) -> None:
    for block in re.findall(r"```toml-secrets\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
        (tmp_path / "gateway.toml").touch()
        (tmp_path / "secrets.toml").touch(0o600)
        (tmp_path / "secrets.toml").write_text(block)
        load(tmp_path / "gateway.toml", {})


@pytest.mark.parametrize(
    "path", [path for path in PAGES if path.parent.name != "decisions"], ids=lambda path: path.stem
)
def test_every_key_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", text) + re.findall(r"config (?:un)?set ([a-z_.]+)", text)
    keys = {name for name in named if name.partition(".")[0] not in NO_TABLES} - FILES
    for key in keys:
        assert key.endswith((".po", ".py")) or annotation_at(Settings, key.split(".")), f"there is no setting {key}"


@each_page
def test_every_link_leads_somewhere_and_every_default_is_one(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert [] == [link for link in links if not (path.parent / link).exists()]
    for key, days in re.findall(r"`retention\.(\w+)`, (\d+)", text):
        assert int(days) == getattr(Settings().retention, key)


def test_the_configuration_reference_is_that_of_the_settings() -> None:
    is_fresh = page() == PAGE.read_text(encoding="utf-8")
    assert is_fresh, "run `make generated`"


def test_tests_are_chosen_by_the_name_of_a_module() -> None:
    modules = [path.stem for path in (ROOT / "tests").rglob("test_*.py")]
    chosen = re.findall(r'make test ARGS="-k (\w+)"', PAGES[-1].read_text(encoding="utf-8"))
    assert chosen and [] == [word for word in chosen if not any(word in module for module in modules)]


def test_readme_and_contributing_are_short() -> None:
    lines = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in (PAGES[0], PAGES[-1])}
    assert lines["README.md"] <= 180
    assert lines["CONTRIBUTING.md"] <= 120
