"""What the pages for operators tell people to type is there: commands with their options, keys, files, variables."""

import re
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from gateway.cli.root import root
from gateway.config.settings import Settings, load
from gateway.config.sources import annotation_at
from tests.house.test_readme import code_of
from tests.house.tree import ROOT

PAGES = sorted((ROOT / ".github" / "running").glob("*.md"))
TOKEN = "123456789:" + "AbC-_" * 7
COMMAND = re.compile(r"(?<![\w/.@-])(?:[\w./]*/bin/)?tenk ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)([^\n`|;']*)")

pytestmark = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def command_of(words: list[str]) -> click.Command:
    """The command that these words name, a group's own where they name one."""
    context = click.Context(root)
    command = root.get_command(context, words[0])
    assert command is not None, words
    if isinstance(command, click.Group) and len(words) > 1:
        inner = command.get_command(context, words[1])
        assert inner is not None or command.invoke_without_command, words
        return inner or command
    return command


def test_every_command_and_option_exists(page: Path) -> None:
    """`tenk X Y --option` is one."""
    for words, rest in COMMAND.findall(code_of(page.read_text(encoding="utf-8"))):
        command = command_of(words.split())
        known = {name for parameter in command.params for name in parameter.opts}
        assert set() == set(re.findall(r"--[a-z-]+", rest)) - known, (words, rest)
        assert 0 == CliRunner().invoke(command, ["--help"]).exit_code


def test_every_table_of_keys_can_be_used(page: Path, tmp_path: Path) -> None:
    """Blocks of TOML are configurations, with tokens where accounts need them."""
    for block in re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        (tmp_path / "gateway.toml").write_text(block)
        accounts = tomllib.loads(block).get("channels", {}).get("telegram", {})
        tables = (f'[channels.telegram.{name}]\ntoken = "{bot}{TOKEN}"\n' for bot, name in enumerate(accounts, 1))
        secrets = "".join(tables)
        (tmp_path / "secrets.toml").touch(0o600)
        (tmp_path / "secrets.toml").write_text(secrets)
        load(tmp_path / "gateway.toml", {})


def test_every_key_named_exists(page: Path) -> None:
    """`table.key` in a sentence, and behind `config set`."""
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", text) + re.findall(r"config set ([a-z_.]+)", text)
    files = {"gateway.toml", "secrets.toml", "secrets.key", "pairing.key", "tenk.db", "tenk.service", "compose.yaml"}
    for key in set(named) - files:
        assert annotation_at(Settings, key.split(".")) is not None, key


def test_every_link_leads_somewhere_and_every_default_is_one(page: Path) -> None:
    """Relative links name files; `retention.X_days`, N is what is in force where nothing is set."""
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert [] == [link for link in links if not (page.parent / link).exists()]
    for key, days in re.findall(r"`retention\.(\w+)`, (\d+)", text):
        assert int(days) == getattr(Settings().retention, key)
