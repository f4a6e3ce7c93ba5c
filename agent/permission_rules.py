"""Rules that allow, deny or ask about a call; each has a source, and sources have ranks. Pure.

A deny of any source holds. Otherwise the highest source with a matching rule decides, and within it allow goes before
ask. A lower source cannot allow what a higher one denies, but can deny by itself. `TurnPermissions` has the rules of
one session or turn; what they can loosen is in `agent.permissions.chain`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import islice

from agent.wellformed import clean, normalize, unicode_pattern


class Verdict(StrEnum):
    """The possible decisions about a call."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"  # the person of the turn must approve
    PASSTHROUGH = "passthrough"  # no opinion: the next source decides


class Source(StrEnum):
    """The source of a rule, the highest first."""

    POLICY = "policy"  # the installation's, for every tenant
    PROJECT = "project"  # of the agent's own description
    FLAG = "flag"  # options of the command that started the gateway
    LOCAL = "local"  # of the operator's settings
    COMMAND = "command"  # of a command or a skill, for the rest of its turn
    SESSION = "session"  # the person's own, for one conversation


class Mode(StrEnum):
    """The decision about a call that no rule matches."""

    DEFAULT = "default"  # ask before changes of the outside world
    PLAN = "plan"  # deny every change, whatever a rule allows
    BYPASS = "bypass"  # allow everything
    AUTO = "auto"  # a small model decides; a person is asked if it is unsure


RANKS = {source: rank for rank, source in enumerate(Source)}

WHOLE = "*"
_RULE = re.compile(r"([\w*?\[\]!.:-]{1,128})(?:\(([A-Za-z_]\w{0,63})=([^()\n]{0,256})\))?\Z")


class BadRule(ValueError):
    """The text is not a rule; the message gives the syntax."""


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """One rule: `pay`, `mcp__*` or `pay(to=acme*)`; names are case-sensitive."""

    verdict: Verdict
    source: Source
    tool: str  # name or pattern
    argument: str | None = None  # only for calls with this argument
    value: str = WHOLE  # pattern of that argument's value
    fingerprint: str = ""  # of the one call that it is about, see `agent.consent`; "": of any

    @property
    def text(self) -> str:
        """Return the rule as it is written."""
        return self.tool if self.argument is None else f"{self.tool}({self.argument}={self.value})"

    @property
    def names_one_tool(self) -> bool:
        """Return True if it has one tool's name and no pattern."""
        return not re.search(r"[*?\[]", self.tool)

    def matches(self, tool: str, given: Mapping[str, object], fingerprint: str = "") -> bool:
        """Return True if it applies to a call of this tool with these arguments and this fingerprint."""
        if not fnmatchcase(tool, self.tool):
            return False
        if self.fingerprint:
            return self.fingerprint == fingerprint
        if self.argument is None:
            return True
        said = given.get(self.argument, "")
        if self.verdict is Verdict.ALLOW:
            return fnmatchcase(str(said), self.value)
        return any(fnmatchcase(_plain(text), _plain(self.value)) for text in _texts(said))


@dataclass(frozen=True, slots=True)
class TurnPermissions:
    """The rules and the mode of one session or turn, beside the configured ones."""

    rules: tuple[PermissionRule, ...] = ()
    mode: Mode | None = None  # None: the configured one

    def __bool__(self) -> bool:
        return bool(self.rules) or self.mode is not None


NO_PERMISSIONS = TurnPermissions()


def _plain(text: str) -> str:
    """Normalise a text: case, width, spaces and invisible characters do not matter."""
    invisible = unicode_pattern(r"\p{Default_Ignorable_Code_Point}+")
    return clean(invisible.sub("", normalize("NFKC", text))).casefold()


def _texts(said: object) -> Iterator[str]:
    """Yield each value of an argument as text, including those in lists and objects."""
    if isinstance(said, Mapping):
        said = list(said.values())
    if isinstance(said, list | tuple | set):
        for value in said:
            yield from _texts(value)
    else:
        yield str(said)


_ADDRESS = re.compile(r"[/\\]{2,}([^\s\"'<>]{1,512})", re.ASCII)
_NAMED = re.compile(r"(?:.*_)?(?:url|uri|href|link|host|hostname|domain|site)", re.IGNORECASE | re.ASCII)
_HOST = re.compile(r"(?:[^/?#@\\]*@)?(\[[0-9a-f:.]+\]|[\w.-]+)(?::\d{1,5})?(?:[/?#].*)?", re.IGNORECASE | re.DOTALL)
MOST_ADDRESSES = 200
PUNCTUATION = ".,;:!?)}"
"""Characters after an address that belong to the sentence or bracket around it."""


def host_outside(given: object, domains: Sequence[str], name: str = "") -> str | None:
    """Return the first host in the arguments that is in none of these domains, or None.

    Text after two slashes is an address, and so is the value of an argument called url, host or the like. An address
    whose host is unreadable is outside of every domain.
    """
    if isinstance(given, Mapping):
        inner = [(value, str(key)) for key, value in given.items()]
    elif isinstance(given, list | tuple | set):
        inner = [(value, name) for value in given]
    else:
        return _outside_of_text(given, domains, name) if isinstance(given, str) else None
    return next((host for value, key in inner if (host := host_outside(value, domains, key)) is not None), None)


def _outside_of_text(text: str, domains: Sequence[str], name: str) -> str | None:
    found = [match[1].rstrip(PUNCTUATION) for match in islice(_ADDRESS.finditer(text), MOST_ADDRESSES)]
    if len(found) == MOST_ADDRESSES:
        return "more addresses than are looked at"
    if not found and text.strip() and _NAMED.fullmatch(name):
        found = [text.strip()]
    for address in found:
        read = _HOST.fullmatch(address)
        host = address[:80] if read is None else read[1].lower().rstrip(".")
        if read is None or not any(host == each or host.endswith(f".{each}") for each in map(str.lower, domains)):
            return host
    return None


def parse_rule(text: str, verdict: Verdict, source: Source) -> PermissionRule:
    """Parse a rule as an operator writes it.

    Raises:
        BadRule: the syntax is wrong.
    """
    found = _RULE.match(text.strip())
    if found is None:
        raise BadRule(f"a rule is a tool's name or pattern, or TOOL(ARGUMENT=PATTERN); {text[:80]!r} is none")
    tool, argument, value = found.groups()
    return PermissionRule(verdict, source, tool, argument, WHOLE if value is None else value)


def ruling_of(
    rules: Iterable[PermissionRule], tool: str, given: Mapping[str, object], fingerprint: str = ""
) -> PermissionRule | None:
    """Return the rule that decides about a call, or None if none applies."""
    matching = [rule for rule in rules if rule.matches(tool, given, fingerprint)]
    denied = [rule for rule in matching if rule.verdict is Verdict.DENY]
    order = (Verdict.ALLOW, Verdict.ASK)
    return min(
        denied or matching,
        key=lambda rule: (RANKS[rule.source], rule.verdict in order and order.index(rule.verdict)),
        default=None,
    )
