"""Zones: where each person's came from, so that one that nobody said may be guessed."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One column more: who has another zone than UTC has said so."""
    with op.batch_alter_table("users", schema=None) as batch_op:
        batch_op.add_column(sa.Column("zone_from", sa.String(length=8), nullable=False, server_default="nobody"))
    op.execute("UPDATE users SET zone_from = 'person' WHERE timezone != 'UTC'")
