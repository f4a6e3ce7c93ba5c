"""What an operator said in a group before it was allowed: kept for a day, to be answered once it is."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Three columns; nothing is kept of before."""
    with op.batch_alter_table("groups", schema=None) as batch_op:
        batch_op.add_column(sa.Column("kept", sa.Text()))
        batch_op.add_column(sa.Column("kept_of", sa.String(length=36)))
        batch_op.add_column(sa.Column("kept_at", sa.BigInteger()))
