"""Places for many who ask, what they said kept until they are in, and invitations."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

PENDING = sa.text("state = 'pending'")


def upgrade() -> None:
    """Nobody who waits now has lost a place before, and nothing of theirs was kept."""
    with op.batch_alter_table("pairing_requests", schema=None) as batch_op:
        batch_op.add_column(sa.Column("again", sa.Boolean(), server_default=sa.false(), nullable=False))
        batch_op.add_column(sa.Column("kept", sa.Text(), nullable=True))
        batch_op.create_index(
            batch_op.f("ix_pairing_requests_channel_account_created_at"),
            ["channel", "account", "created_at"],
            unique=False,
        )
        batch_op.create_index(
            "ix_pairing_requests_pending", ["expires_at"], unique=False, sqlite_where=PENDING, postgresql_where=PENDING
        )
    op.create_table(
        "invites",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("code_mac", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("founding", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=128), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=True),
        sa.Column("used_by", sa.String(length=160), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invites")),
        sa.UniqueConstraint("code_mac", name=op.f("uq_invites_code_mac")),
    )
    op.create_table(
        "invite_guesses",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("sender", sa.String(length=160), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invite_guesses")),
    )
    with op.batch_alter_table("invite_guesses", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_invite_guesses_at"), ["at"], unique=False)
        batch_op.create_index(batch_op.f("ix_invite_guesses_sender_at"), ["sender", "at"], unique=False)
