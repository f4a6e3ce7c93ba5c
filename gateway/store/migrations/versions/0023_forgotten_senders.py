"""Marks of people who were forgotten; links at which people agree that the bot uses an account of theirs."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Two tables; nobody is marked and no link is open. Links of before were in memory."""
    op.create_table(
        "forgotten_senders",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("mark", sa.String(length=64), nullable=False),
        sa.Column("former_id", sa.String(length=36), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "mark", name=op.f("pk_forgotten_senders")),
    )
    op.create_index(op.f("ix_forgotten_senders_at"), "forgotten_senders", ["at"])
    op.create_table(
        "oauth_flows",
        sa.Column("state_hash", sa.String(length=64), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("provider", sa.String(length=32), nullable=False),
        sa.Column("sealed", sa.Text(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_oauth_flows_user_id")),
        sa.PrimaryKeyConstraint("state_hash", name=op.f("pk_oauth_flows")),
        sa.UniqueConstraint("tenant_id", "user_id", "provider", name=op.f("uq_oauth_flows_tenant_id_user_id_provider")),
    )
    op.create_index(op.f("ix_oauth_flows_ends_at"), "oauth_flows", ["ends_at"])
