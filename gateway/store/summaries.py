"""What stands for the older part of a conversation in one person's prompts: a row a session and person, replaced whole.

Plain functions over a connection. How a summary is made is `agent.context`'s matter.
"""

from datetime import datetime

import sqlalchemy as sa

from agent.ports import Summary
from gateway.store.dialect import upsert
from gateway.store.journal import TurnRow
from gateway.store.tables.turns import summaries

_VALUES = ("notes", "turn_id", "step", "condensed", "left_out", "kept_at")


def keep(connection: sa.Connection, turn: TurnRow, summary: Summary, now: datetime) -> Summary | None:
    """Put a summary in place of the one before, which is given back; None where it is the first."""
    before = find(connection, turn.session_id).get(turn.user_id)
    row = {
        "session_id": turn.session_id,
        "user_id": turn.user_id,
        "tenant_id": turn.tenant,
        "notes": summary.notes,
        "turn_id": summary.turn_id,
        "step": summary.step,
        "condensed": summary.condensed,
        "left_out": summary.left_out,
        "kept_at": now,
    }
    connection.execute(upsert(connection, summaries, _VALUES), row)
    return before


def find(connection: sa.Connection, session_id: str) -> dict[str, Summary]:
    """The summaries of a session, by whose prompts they stand in."""
    rows = connection.execute(sa.select(summaries).where(summaries.c.session_id == session_id))
    return {
        row.user_id: Summary(row.notes, row.turn_id, row.step, row.condensed, row.left_out, row.kept_at) for row in rows
    }
