"""People, their identities on channels, what they may do, pairing, and the record of changes to all that."""

import sqlalchemy as sa

from gateway.store.tables.base import Id, Instant, Sequence64, metadata, tenant_column

users = sa.Table(
    "users",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_column(),
    sa.Column("role", sa.String(16), nullable=False),  # owner | operator | member | blocked
    sa.Column("display_name", sa.Text, nullable=False),
    sa.Column("locale", sa.String(35)),
    sa.Column("timezone", sa.String(64), nullable=False),
    sa.Column("week_start", sa.SmallInteger, nullable=False),  # 0 Monday ... 6 Sunday
    sa.Column("created_at", Instant, nullable=False),
)

identities = sa.Table(
    "identities",
    metadata,
    tenant_column(),
    sa.Column("channel", sa.String(32), nullable=False),
    sa.Column("scope", sa.String(64), nullable=False),  # "" where sender ids are unique on the platform, else the team
    sa.Column("sender", sa.String(128), nullable=False),
    sa.Column("user_id", Id, sa.ForeignKey("users.id"), nullable=False, index=True),
    sa.Column("linked_at", Instant, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "channel", "scope", "sender"),
)

grants = sa.Table(
    "grants",
    metadata,
    tenant_column(),
    sa.Column("user_id", Id, sa.ForeignKey("users.id"), nullable=False),
    sa.Column("channel", sa.String(32), nullable=False),
    sa.Column("account", sa.String(64), nullable=False),
    sa.Column("granted_by", sa.String(128), nullable=False),  # user id, "cli" or "policy"
    sa.Column("granted_at", Instant, nullable=False),
    sa.PrimaryKeyConstraint("user_id", "channel", "account"),
)

pairing_requests = sa.Table(
    "pairing_requests",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_column(),
    sa.Column("channel", sa.String(32), nullable=False),
    sa.Column("account", sa.String(64), nullable=False),
    sa.Column("sender", sa.String(128), nullable=False),
    sa.Column("display_name", sa.Text, nullable=False),
    sa.Column("chat", sa.String(128), nullable=False),
    sa.Column("locale", sa.String(35)),  # as the platform told it; the language of what is said at the decision
    sa.Column("state", sa.String(16), nullable=False),  # pending | approved | denied | expired | displaced
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("expires_at", Instant, nullable=False),
    sa.Column("replied_at", Instant),  # when this person was last told; at most one reply every 10 min
    sa.Column("decided_at", Instant),
    sa.Column("decided_by", sa.String(128)),
    sa.Index(None, "channel", "account", "state"),
    sa.Index(None, "channel", "account", "sender"),
)

pairing_guesses = sa.Table(
    "pairing_guesses",
    metadata,
    sa.Column("id", Sequence64, primary_key=True),
    sa.Column("approver", sa.String(128), nullable=False),  # user id, or "cli"
    sa.Column("at", Instant, nullable=False, index=True),
)

audit = sa.Table(
    "audit",
    metadata,
    sa.Column("id", Sequence64, primary_key=True),
    tenant_column(),
    sa.Column("at", Instant, nullable=False, index=True),
    sa.Column("actor", sa.String(128), nullable=False),  # user id, "cli" or "policy"
    sa.Column("action", sa.String(64), nullable=False),
    sa.Column("subject", sa.String(256), nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
)
