"""Memories of an agent about its people."""

import sqlalchemy as sa

from gateway.store.tables.base import Id, Instant, metadata, tenant_column

memories = sa.Table(
    "memories",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_column(),
    sa.Column("agent", sa.String(64), nullable=False),
    sa.Column("user_id", Id, nullable=False),  # gateway.store.memory.TEAM: of everyone in the tenant
    sa.Column("name", sa.String(64), nullable=False),  # slug, the name of its file
    sa.Column("type", sa.String(16), nullable=False),  # see agent.memory.memory.MemoryType
    sa.Column("description", sa.Text, nullable=False),  # its line in the index
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("origin", sa.String(16), nullable=False),  # see agent.memory.memory.MemoryOrigin
    sa.Column("source", sa.String(200), nullable=False),  # key of the call, command or event that wrote it last
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("updated_at", Instant, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),  # 1, and one more with each change
    sa.UniqueConstraint("tenant_id", "agent", "user_id", "name"),
    sa.Index(None, "user_id", "updated_at"),
)
