"""Rows that say which passages of conversations were consolidated, and what that cost."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa

from gateway.store.rows import Rows
from gateway.store.tables.consolidation import consolidations


class PassageOutcome(StrEnum):
    """The outcomes of a passage."""

    DONE = "done"
    SILENT = "silent"  # the person said nothing themselves
    GIVEN_UP = "given_up"  # the model's answers were broken; tried once more after the next conversation
    SKIPPED = "skipped"  # given up twice


@dataclass(frozen=True, slots=True)
class Consolidation:
    """A passage of a conversation that was consolidated, or given up."""

    session_id: str
    from_seq: int
    tenant: str
    agent: str
    user_id: str
    to_seq: int  # first place behind it
    outcome: PassageOutcome
    tries: int
    messages: int
    stated: int  # facts
    remembered: int  # memories added or changed
    model: str
    cost_microusd: int | None  # None: unknown
    at: datetime


CONSOLIDATIONS = Rows(consolidations, Consolidation)


def count_since(connection: sa.Connection, since: datetime) -> tuple[dict[str, int], int]:
    """Return how many passages had each outcome since then, and what they cost in microdollars, as far as is known."""
    columns = consolidations.c.outcome, sa.func.count(), sa.func.sum(consolidations.c.cost_microusd)
    recent = sa.select(*columns).where(consolidations.c.at >= since).group_by(consolidations.c.outcome)
    found = connection.execute(recent).all()
    return {row[0]: row[1] for row in found}, sum(int(row[2] or 0) for row in found)


def list_newest(connection: sa.Connection, limit: int) -> list[Consolidation]:
    """Return the newest consolidations of a tenant."""
    return CONSOLIDATIONS.find(connection, order=consolidations.c.at.desc(), limit=limit)
