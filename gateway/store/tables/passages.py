"""Passages of full-text search: the words of each memory, and of each turn in a person's direct chats.

They are made of memories and journals and go with these, by whichever way these are deleted.
"""

import sqlalchemy as sa

from gateway.store.tables.base import Id, Instant, Sequence64, metadata, tenant_column

passages = sa.Table(
    "passages",
    metadata,
    sa.Column("id", Sequence64, primary_key=True),
    tenant_column(),
    sa.Column("agent", sa.String(64), nullable=False),
    sa.Column("user_id", Id, nullable=False),
    sa.Column("memory_id", Id, sa.ForeignKey("memories.id", ondelete="CASCADE")),  # NULL: of a turn
    sa.Column("turn_id", Id, sa.ForeignKey("turns.id", ondelete="CASCADE")),  # NULL: of a memory
    sa.Column("at", Instant, nullable=False),  # when the memory was changed last or the turn ended
    sa.Column("mark", sa.String(32), nullable=False),  # of person, agent and kind, before each word in the index
    sa.Column("words", sa.Text, nullable=False),  # folded, each once
    sa.UniqueConstraint("memory_id"),
    sa.UniqueConstraint("turn_id"),
    sa.Index(None, "user_id"),
)
