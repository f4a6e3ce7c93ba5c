"""Rules allow, deny or ask about a call; each has a source, and sources have a rank. Pure.

A deny of any source holds. Otherwise the highest source with a matching rule decides, and within it allow goes before
ask. A lower source cannot open what a higher one closed, and can close something without a higher one.
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
    ASK = "ask"  # the person the turn acts for has to confirm
    PASSTHROUGH = "passthrough"  # no opinion: the next source decides


class Source(StrEnum):
    """The source of a rule, the highest first."""

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
    """One rule: `pay`, `mcp__*` or `pay(to=acme*)`; names are case-sensitive."""

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
        """Return whether it is about one tool by its name."""
        return not re.search(r"[*?\[]", self.tool)

    def matches(self, tool: str, given: Mapping[str, object]) -> bool:
        """Return whether it is about a call of this tool with these arguments."""
        if not fnmatchcase(tool, self.tool):
            return False
        if self.argument is None:
            return True
        said = given.get(self.argument, "")
        if self.verdict is Verdict.ALLOW:
            return fnmatchcase(str(said), self.value)
        return any(fnmatchcase(_plain(text), _plain(self.value)) for text in _texts(said))


def _plain(text: str) -> str:
    """Return the text without what only its writing differs in: case, width, spaces, invisible characters."""
    invisible = unicode_pattern(r"\p{Default_Ignorable_Code_Point}+")
    return clean(invisible.sub("", normalize("NFKC", text))).casefold()


def _texts(said: object) -> Iterator[str]:
    """Yield each value of an argument as text, also inside lists and objects."""
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
"""What ends a sentence, or a bracket around an address, is none of it."""


def host_outside(given: object, domains: Sequence[str], name: str = "") -> str | None:
    """Return the first host that arguments name in an address and that is in none of these domains; None: there
    is none.

    What stands behind two slashes is an address, and so is all that an argument called url, host or the like says. One
    whose host cannot be made out is outside of every domain.
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
    """Return a rule as an operator writes it.

    Raises:
        BadRule: it is none.
    """
    found = _RULE.match(text.strip())
    if found is None:
        raise BadRule(f"a rule is a tool's name or pattern, or TOOL(ARGUMENT=PATTERN); {text[:80]!r} is none")
    tool, argument, value = found.groups()
    return PermissionRule(verdict, source, tool, argument, WHOLE if value is None else value)


def ruling_of(rules: Iterable[PermissionRule], tool: str, given: Mapping[str, object]) -> PermissionRule | None:
    """Return the rule that decides about a call; None where none is about it."""
    matching = [rule for rule in rules if rule.matches(tool, given)]
    denied = [rule for rule in matching if rule.verdict is Verdict.DENY]
    order = (Verdict.ALLOW, Verdict.ASK)
    return min(
        denied or matching,
        key=lambda rule: (RANKS[rule.source], rule.verdict in order and order.index(rule.verdict)),
        default=None,
    )
