"""Model rests: which models are left alone, and until when, over a restart."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One table; no model rests yet."""
    op.create_table(
        "model_rests",
        sa.Column("model", sa.String(length=255), nullable=False),
        sa.Column("gate", sa.String(length=16), nullable=False),
        sa.Column("why", sa.String(length=16), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("strikes", sa.Integer(), nullable=False),
        sa.Column("mark", sa.String(length=16), nullable=False),
        sa.PrimaryKeyConstraint("model", "gate", name=op.f("pk_model_rests")),
    )
