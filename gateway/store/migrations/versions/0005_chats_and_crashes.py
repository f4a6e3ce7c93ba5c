"""Chats and crashes."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Chats and crashes: where people who are let in talk to the bot, and what was at work when a process died.

    The direct conversations known so far stand in the inbox: a gap that begins with the upgrade loses none of them.
    """
    op.create_table(
        "chats",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("channel", sa.String(length=32), nullable=False),
        sa.Column("account", sa.String(length=64), nullable=False),
        sa.Column("chat", sa.String(length=128), nullable=False),
        sa.Column("thread", sa.String(length=128), nullable=False),
        sa.Column("direct", sa.Boolean(), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("heard_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("channel", "account", "chat", "thread", name=op.f("pk_chats")),
    )
    op.create_index(
        op.f("ix_chats_channel_account_heard_at"), "chats", ["channel", "account", "heard_at"], unique=False
    )
    op.create_table(
        "crashes",
        sa.Column("work", sa.String(length=64), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("at_work", sa.SmallInteger(), nullable=False),
        sa.Column("deaths", sa.SmallInteger(), nullable=False),
        sa.Column("alone", sa.SmallInteger(), nullable=False),
        sa.Column("events", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("work", name=op.f("pk_crashes")),
    )
    op.execute(
        "INSERT INTO chats (tenant_id, channel, account, chat, thread, direct, user_id, heard_at) "
        "SELECT min(tenant_id), channel, account, chat, '', true, max(user_id), max(admitted_at) FROM inbox "
        "WHERE user_id IS NOT NULL AND session_key LIKE '%:direct:%' AND payload LIKE '%\"kind\":\"direct\"%' "
        "GROUP BY channel, account, chat"
    )
