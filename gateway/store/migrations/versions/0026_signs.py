"""Signs: what a person's message carries, or is owed, so that a start after a death puts it right."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One column, and an index of the few rows that have something in it; what is shown now is known to nobody."""
    op.add_column("inbox", sa.Column("sign", sa.String(length=8), nullable=True))
    is_signed = sa.text("sign IS NOT NULL")
    op.create_index("ix_inbox_signed", "inbox", ["sign", "id"], sqlite_where=is_signed, postgresql_where=is_signed)
