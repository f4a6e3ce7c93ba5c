"""Which model a person wants to be answered by."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One column more; nobody has chosen."""
    with op.batch_alter_table("users", schema=None) as batch_op:
        batch_op.add_column(sa.Column("model", sa.String(length=128)))
