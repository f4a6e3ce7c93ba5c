"""Usage summed by day, person and model; and an index of the parts that operators gave up."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0031"
branch_labels = None
depends_on = None

COUNTED = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def upgrade() -> None:
    """The sums of what is recorded so far are made at once: a second for a million calls."""
    op.create_table(
        "usage_days",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        *(sa.Column(name, sa.BigInteger()) for name in COUNTED),
        sa.Column("discarded", sa.BigInteger(), nullable=False),
        sa.Column("estimated", sa.BigInteger(), nullable=False),
        sa.Column("cost_microusd", sa.BigInteger()),
        sa.Column("unpriced", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "day", "user_id", "model", name=op.f("pk_usage_days")),
    )
    op.create_index(op.f("ix_usage_days_day"), "usage_days", ["day"], unique=False)
    op.execute(
        "INSERT INTO usage_days (tenant_id, day, user_id, model, calls, input_tokens, output_tokens, "
        "cache_read_tokens, cache_write_tokens, discarded, estimated, cost_microusd, unpriced) "
        "SELECT tenant_id, at / 86400000000, user_id, model, count(*), sum(input_tokens), sum(output_tokens), "
        "sum(cache_read_tokens), sum(cache_write_tokens), sum(CASE WHEN discarded > 0 THEN 1 ELSE 0 END), "
        "sum(CASE WHEN estimated THEN 1 ELSE 0 END), CAST(sum(cost_microusd) AS BIGINT), "
        'count(*) - count(cost_microusd) FROM "usage" GROUP BY 1, 2, 3, 4'
    )
    discarded = sa.text("state = 'discarded'")
    op.create_index(
        "ix_outbox_discarded", "outbox", ["id"], unique=False, sqlite_where=discarded, postgresql_where=discarded
    )
