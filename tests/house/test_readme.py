"""What the README tells people to type is there."""

import re
import textwrap
from typing import Any

from click.testing import CliRunner

from gateway.cli.root import root
from gateway.command_set import list_commands
from gateway.product import AgentProduct
from tests.house.tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")

IMPORTS = """
from datetime import datetime
from zoneinfo import ZoneInfo
from pydantic import BaseModel
from agent.context.sections import Section, compose
from agent.ports import Principal, SystemPrompt
from agent.tools.base import Effect, ToolContext, tool, tools_of
from channels.base import CommandOption
from gateway.commands.base import Command, Invocation, Reply
from gateway.product import AgentProduct
"""
"""What the agent that it shows is made of."""


def code_of(text: str) -> str:
    """Fenced blocks and inline code."""
    return "\n".join(re.findall(r"```.*?\n(.*?)```", text, re.DOTALL) + re.findall(r"`([^`\n]+)`", text))


def test_every_make_target_named_exists() -> None:
    """`make X` in the README is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set() == set(re.findall(r"\bmake ([a-z]+)", code_of(README))) - targets


def test_every_command_named_exists() -> None:
    """`tenk X` in the README is a command, and so is `tenk X Y` where X is a group."""
    for words in sorted(set(re.findall(r"\btenk ([a-z-]+)(?: ([a-z]+))?", code_of(README)))):
        arguments = [word for word in words if word]
        done = CliRunner().invoke(root, [*arguments, "--help"])
        assert (0, None) == (done.exit_code, done.exception), arguments


def test_every_variable_named_is_read() -> None:
    """An environment variable in the README is one that the settings know."""
    source = "".join(path.read_text() for path in (ROOT / "gateway").rglob("*.py"))
    variables = set(re.findall(r"\b((?:TENK|TELEGRAM|DISCORD|SLACK|OPENAI|ANTHROPIC|DATABASE)_[A-Z_]+)\b", README))
    assert set() == {name for name in variables if f'"{name}"' not in source}


def test_every_link_inside_the_project_leads_somewhere() -> None:
    """Relative links of the README name files that are there."""
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", README) if "://" not in link]
    assert [] == [link for link in links if not (ROOT / link).exists()]


def test_the_agent_that_it_shows_is_one() -> None:
    """Its lines, with nothing but their imports before them, describe an agent with a tool and a command."""
    (shown,) = re.findall(r"```python\n((?:(?!```).)*AgentProduct\(.*?)```", README, re.DOTALL)
    assert len([line for line in shown.splitlines() if line.strip()]) <= 20
    names: dict[str, object] = {}
    exec(IMPORTS + textwrap.dedent(shown), names)
    product = names["CLERK"]
    assert isinstance(product, AgentProduct)
    store: Any = None  # it asks nothing of it
    assert ["get_time"] == [tool.name for tool in product.tools(store)]
    table = list_commands(product)
    assert ["clerk", "time"] == [spec.name for spec in table.menus()["en"]][:2]
