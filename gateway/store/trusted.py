"""Rows about what operators trust: the digest of each skill or file as they saw it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gateway.store.rows import Rows
from gateway.store.tables.people import trusted


class TrustKind(StrEnum):
    """The kind of a thing that runs only if it is trusted."""

    SKILL = "skill"  # a folder of a workspace
    INSTRUCTIONS = "instructions"  # a file of a workspace
    WORKSPACE = "workspace"  # the configuration of linters in a workspace


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
