"""Pictures: a file may belong to a turn, and is kept as long as that; those from before belong to none."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One column and its index more."""
    with op.batch_alter_table("blobs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("turn_id", sa.String(length=36), nullable=True))
        batch_op.create_index(batch_op.f("ix_blobs_turn_id"), ["turn_id"], unique=False)
