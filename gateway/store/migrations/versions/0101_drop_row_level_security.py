"""Drop row-level security: the tenant filter of `gateway.store.tenancy` alone keeps tenants apart."""

import sqlalchemy as sa
from alembic import op

revision = "0101"
down_revision = "0100"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Drop the policies of every table, those of agents included."""
    if op.get_bind().dialect.name != "postgresql":
        return
    policies = sa.text(
        "SELECT tablename FROM pg_policies WHERE policyname = 'of_its_tenant' AND schemaname = current_schema()"
    )
    for table in op.get_bind().execute(policies).scalars().all():
        op.execute(f"DROP POLICY of_its_tenant ON {table}")
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
