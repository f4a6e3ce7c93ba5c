"""No deadline: a turn's column that nothing has read since its first version goes."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One column less; both databases take it away in place."""
    op.drop_column("turns", "deadline_at")
