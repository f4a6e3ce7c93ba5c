"""Turns are found by their person, among a million others."""

from alembic import op

revision = "0043"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One index more."""
    op.create_index(op.f("ix_turns_user_id"), "turns", ["user_id"], unique=False)
