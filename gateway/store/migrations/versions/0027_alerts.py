"""Alerts: what owners were told of troubles that last, and of those that are over."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One table; nobody was told of anything yet."""
    op.create_table(
        "alerts",
        sa.Column("key", sa.String(length=160), nullable=False),
        sa.Column("began_at", sa.BigInteger(), nullable=False),
        sa.Column("told_at", sa.BigInteger(), nullable=True),
        sa.Column("over_at", sa.BigInteger(), nullable=True),
        sa.Column("level", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_alerts")),
    )
