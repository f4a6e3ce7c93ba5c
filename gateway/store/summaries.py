"""What stands for the older part of a conversation in one person's prompts: a row a session and person, replaced whole.

Plain functions over a connection. `agent.context` makes summaries.
"""

from datetime import datetime

import sqlalchemy as sa

from agent.ports import Summary
from gateway.store.dialect import insert_into, upsert
from gateway.store.journal import TurnRow
from gateway.store.tables.people import users
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
    """The summaries of a session, by whose prompts they stand in; of two who are linked the newest."""
    owner = sa.func.coalesce(users.c.joined, summaries.c.user_id).label("owner")
    query = sa.select(summaries, owner).outerjoin_from(summaries, users, users.c.id == summaries.c.user_id)
    rows = connection.execute(query.where(summaries.c.session_id == session_id).order_by(summaries.c.kept_at))
    return {
        row.owner: Summary(row.notes, row.turn_id, row.step, row.condensed, row.left_out, row.kept_at) for row in rows
    }


def take_along(connection: sa.Connection, session_id: str, into: str) -> None:
    """Let what stands for the older part of a conversation do so also where it is gone on with."""
    columns = [column for column in summaries.c if column.name != "session_id"]
    copied = sa.select(sa.literal(into), *columns).where(summaries.c.session_id == session_id)
    names = ["session_id", *(column.name for column in columns)]
    connection.execute(insert_into(connection, summaries).from_select(names, copied))
