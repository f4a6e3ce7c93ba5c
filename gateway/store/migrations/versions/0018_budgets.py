"""Budgets: what is used of each cap, and what is set aside for calls under way."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Two tables; nothing counts from before."""
    op.create_table(
        "budget_use",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("scope", sa.String(length=16), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("microusd", sa.BigInteger(), nullable=False),
        sa.Column("most_tokens", sa.BigInteger(), nullable=True),
        sa.Column("most_microusd", sa.BigInteger(), nullable=True),
        sa.Column("resets_at", sa.BigInteger(), nullable=True),
        sa.Column("told", sa.Boolean(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "scope", "key", "day", name=op.f("pk_budget_use")),
    )
    op.create_index(op.f("ix_budget_use_at"), "budget_use", ["at"], unique=False)
    op.create_table(
        "budget_holds",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("microusd", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_budget_holds")),
    )
