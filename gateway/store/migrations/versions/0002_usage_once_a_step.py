"""Usage once a step."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Usage once a step: rows from before are numbered within their turn, in the order they were written."""
    with op.batch_alter_table("usage", schema=None) as batch_op:
        batch_op.add_column(sa.Column("step", sa.SmallInteger(), nullable=True))
    op.execute(
        'UPDATE "usage" SET step = (SELECT count(*) FROM "usage" AS earlier '
        'WHERE earlier.turn_id = "usage".turn_id AND earlier.id < "usage".id)'
    )
    with op.batch_alter_table("usage", schema=None) as batch_op:
        batch_op.alter_column("step", existing_type=sa.SmallInteger(), nullable=False)
        batch_op.drop_index(batch_op.f("ix_usage_turn_id"))
        batch_op.create_unique_constraint(batch_op.f("uq_usage_turn_id_step"), ["turn_id", "step"])
