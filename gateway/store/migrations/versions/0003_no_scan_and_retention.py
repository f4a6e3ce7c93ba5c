"""Indexes for what waits, what ended and what failed."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

PARTIAL = (
    ("ix_inbox_read_along", "inbox", ["channel", "account", "chat", "outcome", "id"],
     "outcome IN ('context', 'quarantined') AND payload != ''"),
    ("ix_inbox_settled", "inbox", ["outcome", "done_at"], "done_at IS NOT NULL"),
    ("ix_inbox_waiting", "inbox", ["outcome", "id"],
     "outcome IS NULL AND turn_id IS NULL AND session_key IS NOT NULL"),
    ("ix_outbox_failed", "outbox", ["state"], "state IN ('unknown', 'dead')"),
    ("ix_outbox_over", "outbox", ["done_at"], "done_at IS NOT NULL"),
    ("ix_turns_open", "turns", ["end_reason", "session_id", "id"], "end_reason IS NULL"),
    ("ix_turns_ended", "turns", ["ended_at"], "ended_at IS NOT NULL"),
)  # fmt: skip


def upgrade() -> None:
    """Starts and `tenk status` read no settled row any more, and retention finds what is old."""
    op.drop_index("ix_turns_open", "turns")
    for name, table, columns, condition in PARTIAL:
        where = sa.text(condition)
        op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)
    for table, column in (("audit", "at"), ("blobs", "created_at"), ("events", "turn_id"), ("usage", "at")):
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column])
