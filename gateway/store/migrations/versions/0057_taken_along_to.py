"""What is gone on with in another chat ends at a place in its journal: the clocks of two machines are not the same."""

import sqlalchemy as sa
from alembic import op

revision = "0057"
down_revision = "0055"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One column; what was taken up until now ends where it ended by the clock."""
    op.add_column("sessions", sa.Column("continues_seq", sa.Integer()))
    op.execute(
        "UPDATE sessions SET continues_seq = (SELECT coalesce(max(events.seq) + 1, 0) FROM events"
        " WHERE events.session_id = sessions.continues_id AND events.at <= sessions.created_at)"
        " WHERE continues_id IS NOT NULL"
    )
