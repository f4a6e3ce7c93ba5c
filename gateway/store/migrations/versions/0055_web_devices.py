"""Browsers of the chat page, each with a number of its own: one can be signed out alone."""

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One table; whoever comes is noted in it."""
    op.create_table(
        "web_devices",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("chat", sa.String(length=128), nullable=False),
        sa.Column("device", sa.String(length=16), nullable=False),
        sa.Column("browser", sa.Text(), nullable=False),
        sa.Column("came_at", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("out_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("tenant_id", "chat", "device", name=op.f("pk_web_devices")),
    )
    op.create_index(op.f("ix_web_devices_seen_at"), "web_devices", ["seen_at"], unique=False)
