"""Discarded responses: what was thrown away is paid for as well, and what nobody counted is marked as an estimate."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Two columns more: rows from before stand, and their provider counted them."""
    with op.batch_alter_table("usage", schema=None) as batch_op:
        batch_op.add_column(sa.Column("discarded", sa.SmallInteger(), nullable=False, server_default="0"))
        batch_op.add_column(sa.Column("estimated", sa.Boolean(), nullable=False, server_default=sa.false()))
        batch_op.drop_constraint(batch_op.f("uq_usage_turn_id_step"), type_="unique")
        batch_op.create_unique_constraint(
            batch_op.f("uq_usage_turn_id_step_discarded"), ["turn_id", "step", "discarded"]
        )
