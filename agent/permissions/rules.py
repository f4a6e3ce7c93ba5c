"""Rules say of a call allow, deny or ask; each has a source, and sources have a rank. Pure.

A deny of any source holds. Else the highest source that says anything decides, and within it allow goes before ask:
so nobody below can open what somebody above has closed, and nobody above is needed to close something.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase


class Verdict(StrEnum):
    """What is said of a call."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"  # the person the turn acts for has to confirm
    PASSTHROUGH = "passthrough"  # no opinion: whoever is asked next decides


class Source(StrEnum):
    """Whose rule it is, the highest first."""

    POLICY = "policy"  # the operator's last word
    PROJECT = "project"  # the agent's own description
    FLAG = "flag"
    LOCAL = "local"  # the operator's wishes
    USER = "user"  # what the person wants remembered
    CLI = "cli"
    COMMAND = "command"
    SESSION = "session"


RANKS = {source: rank for rank, source in enumerate(Source)}

WHOLE = "*"
_RULE = re.compile(r"([\w*?\[\]!.:-]{1,128})(?:\(([A-Za-z_]\w{0,63})=([^()\n]{0,256})\))?\Z")


class BadRule(ValueError):
    """A rule that cannot be read; the message says how one is written."""


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """One rule: `pay`, `mcp__*` or `pay(to=acme*)`; case-sensitive."""

    verdict: Verdict
    source: Source
    tool: str  # a name, or a pattern of names
    argument: str | None = None  # the rule is about calls with this argument
    value: str = WHOLE  # pattern of what that argument says

    @property
    def text(self) -> str:
        """The rule as it is written."""
        return self.tool if self.argument is None else f"{self.tool}({self.argument}={self.value})"

    @property
    def names_one_tool(self) -> bool:
        """Whether it is about one tool by its name."""
        return not re.search(r"[*?\[]", self.tool)

    def matches(self, tool: str, given: Mapping[str, object]) -> bool:
        """Whether it is about a call of this tool with these arguments."""
        if not fnmatchcase(tool, self.tool):
            return False
        return self.argument is None or fnmatchcase(str(given.get(self.argument, "")), self.value)


def parse_rule(text: str, verdict: Verdict, source: Source) -> PermissionRule:
    """A rule as an operator writes it.

    Raises:
        BadRule: it is none.
    """
    found = _RULE.match(text.strip())
    if found is None:
        raise BadRule(f"a rule is a tool's name or pattern, or TOOL(ARGUMENT=PATTERN); {text[:80]!r} is none")
    tool, argument, value = found.groups()
    return PermissionRule(verdict, source, tool, argument, WHOLE if value is None else value)


def ruling_of(rules: Iterable[PermissionRule], tool: str, given: Mapping[str, object]) -> PermissionRule | None:
    """The rule that decides about a call; None where none is about it."""
    matching = [rule for rule in rules if rule.matches(tool, given)]
    denied = [rule for rule in matching if rule.verdict is Verdict.DENY]
    order = (Verdict.ALLOW, Verdict.ASK)
    return min(
        denied or matching,
        key=lambda rule: (RANKS[rule.source], rule.verdict in order and order.index(rule.verdict)),
        default=None,
    )
