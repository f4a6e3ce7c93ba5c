"""Summaries: what stands for the older part of a conversation, for each of its people."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A table that begins empty: conversations go on with all that is in their journal."""
    op.create_table(
        "summaries",
        sa.Column("session_id", sa.String(length=36), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.String(length=36), nullable=False),
        sa.Column("step", sa.SmallInteger(), nullable=False),
        sa.Column("condensed", sa.Integer(), nullable=False),
        sa.Column("left_out", sa.Integer(), nullable=False),
        sa.Column("kept_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_summaries_session_id")),
        sa.PrimaryKeyConstraint("session_id", "user_id", name=op.f("pk_summaries")),
    )
    op.create_index("ix_summaries_kept_at", "summaries", ["kept_at"], unique=False)
