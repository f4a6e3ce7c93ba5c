"""Costs: what a model call cost when it was recorded, and a person's calls are found by when they were."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One column and one index more: what rows from before cost is unknown."""
    with op.batch_alter_table("usage", schema=None) as batch_op:
        batch_op.add_column(sa.Column("cost_microusd", sa.BigInteger(), nullable=True))
        batch_op.create_index(batch_op.f("ix_usage_user_id_at"), ["user_id", "at"], unique=False)
