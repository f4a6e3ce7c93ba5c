"""What is to be said knows its reader's language: what delivery says about it is said in that."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One column; what waits at that moment has none, and is apologised for in English."""
    op.add_column("outbox", sa.Column("locale", sa.String(length=35), nullable=True))
