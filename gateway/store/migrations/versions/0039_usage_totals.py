"""Totals of everybody's usage, of each day that is over."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Those of the recorded days, but for the last two, which may not be over; the housekeeper goes on."""
    op.create_table(
        "usage_totals",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost_microusd", sa.BigInteger()),
        sa.PrimaryKeyConstraint("tenant_id", "day", name=op.f("pk_usage_totals")),
    )
    op.execute(
        "INSERT INTO usage_totals (tenant_id, day, calls, tokens, cost_microusd) SELECT tenant_id, day, sum(calls), "
        "coalesce(sum(input_tokens), 0) + coalesce(sum(output_tokens), 0), CAST(sum(cost_microusd) AS BIGINT) "
        "FROM usage_days WHERE day < (SELECT max(day) - 1 FROM usage_days) GROUP BY 1, 2"
    )
