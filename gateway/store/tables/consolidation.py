"""Tables of the consolidation of conversations: its passages, abstracts, and facts about people."""

import sqlalchemy as sa

from gateway.store.tables.base import Id, Instant, metadata, tenant_column

consolidations = sa.Table(  # one row for each passage of a conversation
    "consolidations",
    metadata,
    sa.Column("session_id", Id, sa.ForeignKey("sessions.id"), nullable=False),
    sa.Column("from_seq", sa.Integer, nullable=False),  # first place of the passage in the journal
    tenant_column(),
    sa.Column("agent", sa.String(64), nullable=False),
    sa.Column("user_id", Id, nullable=False),
    sa.Column("to_seq", sa.Integer, nullable=False),  # first place behind the passage
    sa.Column("outcome", sa.String(16), nullable=False),  # see gateway.store.consolidation.PassageOutcome
    sa.Column("tries", sa.SmallInteger, nullable=False),
    sa.Column("messages", sa.Integer, nullable=False),  # of the person that were read
    sa.Column("stated", sa.Integer, nullable=False),  # facts in it
    sa.Column("remembered", sa.Integer, nullable=False),  # memories added or changed
    sa.Column("model", sa.String(128), nullable=False),  # "": none was asked
    sa.Column("cost_microusd", sa.BigInteger),  # of all tries; NULL: unknown
    sa.Column("at", Instant, nullable=False),
    sa.PrimaryKeyConstraint("session_id", "from_seq"),
    sa.Index(None, "at"),
    sa.Index(None, "user_id"),
)

abstracts = sa.Table(  # one for each conversation, replaced as it goes on
    "abstracts",
    metadata,
    sa.Column("session_id", Id, sa.ForeignKey("sessions.id"), primary_key=True),
    tenant_column(),
    sa.Column("agent", sa.String(64), nullable=False),
    sa.Column("user_id", Id, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("at", Instant, nullable=False, index=True),
    sa.Index(None, "user_id", "at"),
)

entities = sa.Table(  # persons, places and things that a person's facts name
    "entities",
    metadata,
    tenant_column(),
    sa.Column("agent", sa.String(64), nullable=False),
    sa.Column("user_id", Id, nullable=False),
    sa.Column("key", sa.String(512), nullable=False),  # normal form of the name
    sa.Column("name", sa.String(80), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),  # person | organisation | place | thing | activity
    sa.Column("mentions", sa.Integer, nullable=False),
    sa.Column("first_at", Instant, nullable=False),
    sa.Column("last_at", Instant, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "agent", "user_id", "key"),
    sa.Index(None, "user_id"),
)

facts = sa.Table(  # see agent.memory.facts.Fact
    "facts",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_column(),
    sa.Column("agent", sa.String(64), nullable=False),
    sa.Column("user_id", Id, nullable=False),
    sa.Column("subject", sa.String(80), nullable=False),
    sa.Column("relation", sa.String(16), nullable=False),
    sa.Column("object", sa.String(80), nullable=False),
    sa.Column("valid_from", Instant, nullable=False),
    sa.Column("valid_to", Instant),
    sa.Column("mentions", sa.Integer, nullable=False),
    sa.Column("confidence", sa.Double, nullable=False),
    sa.Column("first_at", Instant),
    sa.Column("last_at", Instant),
    sa.Column("score", sa.Double, nullable=False),
    sa.Index(None, "user_id", "score"),
)

dreams = sa.Table(  # people whose facts are to be scored and merged
    "dreams",
    metadata,
    tenant_column(),
    sa.Column("agent", sa.String(64), nullable=False),
    sa.Column("user_id", Id, nullable=False),
    sa.Column("session_key", sa.String(512), nullable=False),  # of the last consolidation; its shard's owner dreams
    sa.Column("wanted_at", Instant, nullable=False),  # of the last consolidation
    sa.PrimaryKeyConstraint("tenant_id", "agent", "user_id"),
    sa.Index(None, "user_id"),
)
