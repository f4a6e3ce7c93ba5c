"""Tools and hooks named in the settings: each exists, or the error names its line."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from gateway.coach.product import COACH
from gateway.config.settings import load, read_sources
from gateway.errors import SettingsError
from gateway.product import check_names, load_hooks, unusable_tools
from gateway.store.engine import Store, engine_for
from tests.fakes.agents import a_tool


def check(directory: Path, text: str) -> None:
    file = directory / "gateway.toml"
    file.write_text(text)
    check_names(load(file, {}), read_sources(file, {}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[permissions]\ndeny = ["log_practise"]', r'toml:2: permissions\.deny: .*"log_practise"; did you mean "log_p'),
        (
            '[permissions.policy]\nask = ["zz"]',
            r"toml:2: permissions\.policy\.ask: there is no tool \"zz\"; there are: .*log_practice",
        ),
        (
            '[permissions]\ndeny = ["log_practice(minuts=5)"]',
            r'toml:2: permissions\.deny: log_practice takes no "minuts"; did',
        ),
        (
            '[agent]\ndeny_tools = ["log_practise"]',
            r'toml:2: agent\.deny_tools: there is no tool "log_practise"; did you',
        ),
        (
            '[permissions]\ndeny = ["shel"]\n[workspace]\nroot = "x"',
            r'toml:2: permissions\.deny: there is no tool "shel"; did you mean "shell"',
        ),
        ('[permissions]\nallow = ["pay it"]', r"toml:2: permissions\.allow\S*: a rule is a tool's name or pattern"),
        (
            '[tenants.acme.permissions]\ndeny = ["log_practise"]',
            r'toml:2: tenants\.acme\.permissions\.deny: .*"log_practise"; did you mean "log_p',
        ),
        (
            '[tenants.acme.agent]\ndeny_tools = ["log_practise"]',
            r'toml:2: tenants\.acme\.agent\.deny_tools: there is no tool "log_practise"; did you',
        ),
        (
            '[tenants.acme]\n[[tenants.acme.hooks]]\npoint = "pre_tool"\ntools = ["log_practise"]\ncommand = ["true"]',
            r'tenants\.acme\.hooks\.0\.tools: there is no tool "log_practise"; did you',
        ),
        ("[tenants.acme.budgets]\nday_usd = 3", r"toml:2: tenants\.acme\.budgets\.day_usd: .* write tenant_usd"),
        ("[retention]\naudit_days = true", r"toml:2: retention\.audit_days: a whole number is wanted"),
        ('[permissions]\nmode = "paln"', r"toml:2: permissions\.mode: it has to be one of: default, plan"),
        ('[permissions]\nconfrim = "risky"', r'toml:2: permissions\.confrim: .*did you mean "confirm"'),
        (
            '[tenants.acme.permissions.policy]\nallow = ["log_practice"]',
            r"toml:1: tenants\.acme\.permissions: a tenant has no policy of its own",
        ),
        ('[[hooks]]\nuse = "x"\n[[hooks]]\npiont = "stop"', r"toml:4: hooks\.1\.piont: .*did you mean \"point\""),
        (
            '[[hooks]]\npoint = "pre_tol"\ncommand = ["a"]',
            r"toml:2: hooks\.0\.point: it has to be one of: session_start",
        ),
        ('[[hooks]]\npoint = "stop"', r"toml:1: hooks\.0: a hook is one of: command, python, use"),
        ('[[hooks]]\ncommand = ["sh"]', r"toml:1: hooks\.0: a hook needs its point; there are session_start"),
        ('[[hooks]]\npoint = "stop"\nuse = "x"', r"toml:1: hooks\.0: a hook named by `use` has its own point"),
        ('\n[[hooks]]\nuse = "audit"', r"toml:2: hooks\.0: there is no hook \"audit\"; there are: "),
        ('[[hooks]]\npoint = "stop"\ncommand = ["/no/such"]', r"toml:1: hooks\.0: there is no program '/no/such'"),
        (
            '[[hooks]]\npoint = "stop"\npython = "tests.fakes.hooks:nute"',
            r"toml:1: hooks\.0: .*names no function; did you mean tests\.fakes\.hooks:note\?",
        ),
        ('[[hooks]]\npoint = "stop"\npython = "no.such:thing"', r"toml:1: hooks\.0: .*cannot be imported: No module"),
        (
            '[[hooks]]\npoint = "stop"\npython = "tests.fakes.hooks:note"\ntools = ["log_practise"]',
            r'toml:1: hooks\.0\.tools: there is no tool "log_practise"; did you mean "log_practice"\?',
        ),
    ],
)
def test_what_is_not_there_is_told_with_file_line_and_nearest_name(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        check(tmp_path, text + "\n")


def test_a_tool_that_no_model_can_be_told_of_is_named() -> None:

    class Odd(BaseModel):
        callback: Callable[[], None]

    class Tree(BaseModel):
        branches: "list[Tree]" = []

    class Fine(BaseModel):
        n: int = 0

    Tree.model_rebuild(_types_namespace={"Tree": Tree})
    tools = [a_tool(kind.__name__.lower(), _nothing, kind) for kind in (Odd, Tree, Fine)]
    odd, tree, name = unusable_tools([*tools, a_tool("Bad_tööl", _nothing)])
    assert name.startswith("the tool 'Bad_tööl' needs a name of 1 to 64 letters")
    assert odd.startswith("the schema of what the tool 'odd' takes cannot be used: ") and "\n" not in odd
    assert tree.endswith("'tree' takes cannot be used: it holds itself")


async def _nothing(_context: object, _arguments: object) -> None:
    pass


@pytest.mark.parametrize(
    ("tools", "why"),
    [
        (lambda _store: [object()], "object is no Tool"),
        ((), "'tuple' object is not callable"),
        (lambda _store: None, "'NoneType' object is not iterable"),
    ],
)
def test_a_product_whose_tools_are_none_is_told_how_to_write_them(tools: Any, why: str) -> None:
    with pytest.raises(SettingsError, match=r"write tools=lambda store: tools_of\(OBJECT\): ") as refused:
        replace(COACH, tools=tools).make_tools(Store(engine_for("sqlite:///never-opened.db")))
    assert why in str(refused.value)


def test_what_is_there_is_taken(tmp_path: Path) -> None:
    check(
        tmp_path,
        '[permissions]\ndeny = ["log_practice(skill=x*)", "mcp__*"]\n'
        '[permissions.policy]\nask = ["log_practice"]\n'
        '[[hooks]]\npoint = "pre_tool"\npython = "tests.fakes.hooks:note"\ntools = ["log_*"]\n'
        '[[hooks]]\npoint = "stop"\ncommand = ["sh", "-c", "echo {}"]\n',
    )


def test_hooks_are_asked_in_the_order_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(
        '[[hooks]]\npoint = "stop"\ncommand = ["sh"]\ntimeout_s = 1.5\n'
        '[[hooks]]\npoint = "pre_tool"\npython = "tests.fakes.hooks:note"\nrequired = false\n'
    )
    first, second = load_hooks(load(file, {}).hooks)
    assert ("sh", "stop", 1.5, True) == (first.name, first.point, first.timeout_s, first.required)
    assert ("tests.fakes.hooks:note", "pre_tool", False) == (second.name, second.point, second.required)


TWO_BOTS = """
[channels.{channel}.main]
{more}
[channels.{channel}.other]
"""


@pytest.mark.parametrize(
    ("channel", "key", "token"),
    [("telegram", "token", "1:canary-abc"), ("discord", "token", "ca.na.ry"), ("slack", "bot_token", "xoxb-canary")],
)
def test_two_accounts_that_are_one_bot_are_refused(tmp_path: Path, channel: str, key: str, token: str) -> None:
    (tmp_path / "secrets.toml").touch(0o600)
    line = f'{key} = "{token}"' + ('\napp_token = "xapp-1"' if channel == "slack" else "")
    (tmp_path / "secrets.toml").write_text(f"[channels.{channel}.main]\n{line}\n[channels.{channel}.other]\n{line}\n")
    twice = TWO_BOTS.format(channel=channel, more="")
    with pytest.raises(
        SettingsError, match=rf"channels\.{channel}\.other\.{key}: .* the bot of .*main, .* twice; give"
    ) as told:
        check(tmp_path, twice)
    assert "secrets.toml:4" in str(told.value) or "secrets.toml:5" in str(told.value)
    assert token not in str(told.value)
    check(tmp_path, TWO_BOTS.format(channel=channel, more='api_base = "http://127.0.0.1:9/"'))
