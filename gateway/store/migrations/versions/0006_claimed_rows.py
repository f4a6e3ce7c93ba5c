"""Claimed rows: the index of turns leaves out the rows without one.

As a whole index it was as good as the one of waiting rows to a planner without statistics, which then read all settled
rows that never had a turn.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One index for another."""
    where = sa.text("turn_id IS NOT NULL")
    op.drop_index("ix_inbox_turn_id", "inbox")
    op.create_index("ix_inbox_claimed", "inbox", ["turn_id"], unique=False, sqlite_where=where, postgresql_where=where)
