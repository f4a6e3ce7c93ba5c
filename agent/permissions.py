"""Rules say whether a tool may run: deny before allow before ask. Who is asked, and how, is not known here."""

from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase


class Decision(StrEnum):
    """What the rules say of a call."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"  # a person would have to confirm


@dataclass(frozen=True, slots=True)
class Permissions:
    """Rules by tool name pattern (`mcp__*`, `save_?`), case-sensitive."""

    deny: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()

    def decide(self, tool_name: str, *, contained: bool) -> Decision:
        """Deny before allow; what no rule names is allowed where it is contained (reads, own data), else asked for."""
        if any(fnmatchcase(tool_name, pattern) for pattern in self.deny):
            return Decision.DENY
        if any(fnmatchcase(tool_name, pattern) for pattern in self.allow):
            return Decision.ALLOW
        return Decision.ALLOW if contained else Decision.ASK
