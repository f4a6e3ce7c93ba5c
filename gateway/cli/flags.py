"""Options of `tenk run` and `tenk chat` that allow or deny tools for as long as that gateway runs."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from agent.permission_rules import BadRule, PermissionRule, Source, Verdict, parse_rule

F = TypeVar("F", bound=Callable[..., object])


def flag_options(allow: str, deny: str) -> Callable[[F], F]:
    """Add these two options, whose values the command gets as `allow` and `deny`."""

    def add(command: F) -> F:
        denied = _rule_option(deny, "deny", "Deny these calls: a tool's name, a pattern, or TOOL(ARGUMENT=PATTERN).")
        return _rule_option(allow, "allow", "Run these calls without approval.")(denied(command))

    return add


def _rule_option(name: str, parameter: str, told: str) -> Callable[[F], F]:
    return click.option(name, parameter, metavar="RULE", multiple=True, callback=_read_rules, help=told)


def _read_rules(_context: click.Context, option: click.Parameter, texts: Sequence[str]) -> tuple[PermissionRule, ...]:
    verdict = Verdict.ALLOW if option.name == "allow" else Verdict.DENY
    try:
        return tuple(parse_rule(text, verdict, Source.FLAG) for text in texts)
    except BadRule as bad:
        raise click.BadParameter(str(bad)) from None
