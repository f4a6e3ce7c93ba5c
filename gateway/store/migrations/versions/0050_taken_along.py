"""A conversation may go on from one of another chat of the same person: what was said there stands before it."""

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One column, empty so far, and by what it is found."""
    op.add_column("sessions", sa.Column("continues_id", sa.String(length=36)))
    where = sa.text("continues_id IS NOT NULL")
    op.create_index("ix_sessions_continues", "sessions", ["continues_id"], sqlite_where=where, postgresql_where=where)
