"""Rows about what operators trust: the digest of each skill, file or command as they saw it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gateway.store.rows import Rows
from gateway.store.tables.people import trusted


class TrustKind(StrEnum):
    """The kind of a thing that runs only if it is trusted."""

    PLUGIN = "plugin"  # an installed entry point
    SKILL = "skill"  # a folder
    HOOK = "hook"
    MCP = "mcp"  # a server's command or URL
    INSTRUCTIONS = "instructions"  # a file
    WORKSPACE = "workspace"  # a folder


@dataclass(frozen=True, slots=True)
class TrustedRow:
    """One trusted thing of a tenant."""

    tenant: str
    kind: TrustKind
    name: str
    digest: str  # SHA-256, hex
    trusted_at: datetime
    trusted_by: str  # user id or "cli"


TRUSTED = Rows(trusted, TrustedRow)
