"""Boards: the tasks that agents of one person share."""

import sqlalchemy as sa

from gateway.store.tables.base import Id, Instant, Words, metadata, tenant_column

tasks = sa.Table(  # see gateway.store.boards.Task
    "tasks",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    tenant_column(),
    sa.Column("user_id", Id, nullable=False),
    sa.Column("agent", sa.String(64), nullable=False),
    sa.Column("group_key", sa.String(512), nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("about", sa.Text, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("blocked_by", Words, nullable=False),
    sa.Column("created_by", sa.String(128), nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("place", sa.SmallInteger, nullable=False),
    sa.Column("worker", sa.String(128), nullable=False),
    sa.Column("turn_id", Id),
    sa.Column("until", Instant),
    sa.Column("claims", sa.Integer, nullable=False),
    sa.Column("result", sa.Text, nullable=False),
    sa.Column("changed_at", Instant, nullable=False),
    sa.Index(None, "changed_at"),
    sa.Index(None, "user_id", "agent"),
)
