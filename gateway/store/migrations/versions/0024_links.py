"""Links: identities of one person that became one user, and what that moved."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Two tables and a column; nobody is linked yet."""
    op.create_table(
        "links",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("sender", sa.String(length=160), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("other_id", sa.String(length=36), nullable=True),
        sa.Column("other_sender", sa.String(length=160), nullable=True),
        sa.Column("other_place", sa.Text(), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("role_before", sa.String(length=16), nullable=True),
        sa.Column("other_role", sa.String(length=16), nullable=True),
        sa.Column("role", sa.String(length=16), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_links")),
    )
    op.create_index(op.f("ix_links_user_id"), "links", ["user_id"])
    op.create_index(op.f("ix_links_other_id"), "links", ["other_id"])
    op.create_index(op.f("ix_links_state_expires_at"), "links", ["state", "expires_at"])
    op.create_table(
        "link_moves",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("link_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("row", sa.String(length=320), nullable=False),
        sa.Column("was", sa.String(length=36), nullable=True),
        sa.PrimaryKeyConstraint("link_id", "kind", "row", name=op.f("pk_link_moves")),
    )
    with op.batch_alter_table("users", schema=None) as batch_op:
        batch_op.add_column(sa.Column("joined", sa.String(length=36), nullable=True))
