"""Tasks that an agent's turns have given to agents of their own."""

import sqlalchemy as sa

from gateway.store.tables.base import Id, Instant, metadata, partial_index, tenant_column

children = sa.Table(
    "children",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),  # key of the call that began it: turn/step/index
    tenant_column(),
    sa.Column("user_id", Id, nullable=False, index=True),  # the principal, the same as of the turn that began it
    sa.Column("parent_key", sa.String(512), nullable=False),  # of the session that gets the result
    sa.Column("parent_turn_id", Id, nullable=False, index=True),
    sa.Column("session_key", sa.String(512), nullable=False),  # see gateway.store.children.key_of
    sa.Column("label", sa.String(64), nullable=False),
    sa.Column("description", sa.String(200), nullable=False),
    sa.Column("type", sa.String(64), nullable=False),  # name of an agent definition, or a built-in one
    sa.Column("model", sa.String(200)),  # None: as the definition says
    sa.Column("in_background", sa.Boolean, nullable=False),  # its result is an event of the session; else a call's
    sa.Column("state", sa.String(16), nullable=False),  # see gateway.store.children.ChildState
    sa.Column("result", sa.Text, nullable=False),  # "" as long as it runs
    sa.Column("began_at", Instant, nullable=False),
    sa.Column("ended_at", Instant),  # None: it runs
    sa.UniqueConstraint("tenant_id", "session_key"),
    sa.Index(None, "tenant_id", "parent_key"),
)
partial_index("ix_children_running", children.c.state, where=children.c.state == "running")
