"""People, their identities on channels, what they may do, pairing, and the record of changes to all that."""

import sqlalchemy as sa

from gateway.store.tables.base import Id, Instant, Sequence64, Words, metadata, partial_index, tenant_column

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
    sa.Column("zone_from", sa.String(8), nullable=False, server_default="nobody"),  # nobody | device | person
    sa.Column("alias_of", Id, index=True),  # the user who they are by a link; None: not linked to another
    sa.Column("model", sa.String(128)),  # by which they want to be answered; None: the first of the configuration
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
    sa.Column("again", sa.Boolean, nullable=False, server_default=sa.false()),  # an earlier one of theirs was lost
    sa.Column("kept", sa.Text),  # what they said last, the event as JSON; only while it is pending
    sa.Index(None, "channel", "account", "state"),
    sa.Index(None, "channel", "account", "sender"),
    sa.Index(None, "channel", "account", "created_at"),
)
partial_index(
    "ix_pairing_requests_pending",
    pairing_requests.c.expires_at,
    where=pairing_requests.c.state == sa.literal_column("'pending'"),
)

pairing_guesses = sa.Table(
    "pairing_guesses",
    metadata,
    sa.Column("id", Sequence64, primary_key=True),
    tenant_column(),
    sa.Column("approver", sa.String(128), nullable=False),  # user id, or "cli"
    sa.Column("at", Instant, nullable=False, index=True),
)

invites = sa.Table(
    "invites",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_column(),
    sa.Column("code_mac", sa.String(64), nullable=False, unique=True),  # HMAC of the code, whose key is elsewhere
    sa.Column("role", sa.String(16), nullable=False),  # of whoever takes it
    sa.Column("founding", sa.Boolean, nullable=False),  # it holds only while the tenant has no owner
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("created_by", sa.String(128), nullable=False),  # user id or "cli"
    sa.Column("expires_at", Instant, nullable=False),  # the first moment it no longer holds
    sa.Column("used_at", Instant),
    sa.Column("used_by", sa.String(160)),  # canonical sender: telegram:42
    sa.Column("revoked_at", Instant),
)

invite_guesses = sa.Table(
    "invite_guesses",
    metadata,
    sa.Column("id", Sequence64, primary_key=True),
    tenant_column(),
    sa.Column("sender", sa.String(160), nullable=False),  # canonical: telegram:42
    sa.Column("at", Instant, nullable=False, index=True),
    sa.Index(None, "sender", "at"),
)

links = sa.Table(  # two users that are one person, from the offer of one of them to its end
    "links",
    metadata,
    sa.Column("id", Id, primary_key=True),  # the code is derived from it
    tenant_column(),
    sa.Column("user_id", Id, nullable=False, index=True),  # who offered it, and stays
    sa.Column("sender", sa.String(160), nullable=False),  # canonical, where they offered it
    sa.Column("place", sa.Text, nullable=False),  # JSON: the chat of that
    sa.Column("other_id", Id, index=True),  # who gave the code, and joins them
    sa.Column("other_sender", sa.String(160)),
    sa.Column("other_place", sa.Text),
    sa.Column("state", sa.String(16), nullable=False),  # offered | given | agreed | linked | undone | over
    sa.Column("other_role", sa.String(16)),  # of who joins, before the link
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("expires_at", Instant, nullable=False),  # the first moment it can be agreed to no more
    sa.Column("ended_at", Instant),  # linked, undone or over
    sa.Index(None, "state", "expires_at"),
)

api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),  # stands in the key itself, and in its people's sender ids
    tenant_column(),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),  # SHA-256 of the whole key; the key is nowhere
    sa.Column("scopes", Words, nullable=False),  # chat read operate, with blanks between
    sa.Column("user_id", Id),  # whom it speaks for; None: for people of its own
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("created_by", sa.String(128), nullable=False),  # user id or "cli"
    sa.Column("revoked_at", Instant),
)

credentials = sa.Table(
    "credentials",
    metadata,
    sa.Column("id", Sequence64, primary_key=True),
    tenant_column(),
    sa.Column("user_id", Id, sa.ForeignKey("users.id"), nullable=False),
    sa.Column("provider", sa.String(32), nullable=False),
    sa.Column("kind", sa.String(8), nullable=False),  # api | oauth
    sa.Column("sealed", sa.Text, nullable=False),  # see gateway.safety.vault; of an older key until it is rotated
    sa.Column("connected_at", Instant, nullable=False),
    sa.UniqueConstraint("tenant_id", "user_id", "provider"),
)

erasures = sa.Table(  # people who want to be forgotten, until they are
    "erasures",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_column(),
    sa.Column("user_id", Id, nullable=False),
    sa.Column("extent", sa.String(16), nullable=False),  # talk | everything
    sa.Column("senders", sa.Text, nullable=False),  # JSON list: who they were, canonical
    sa.Column("keys", sa.Text, nullable=False),  # JSON list of session keys
    sa.Column("lanes", sa.Text, nullable=False),  # JSON list: their direct chats
    sa.Column("inbox_id", Sequence64, nullable=False),  # the row it was asked with
    sa.Column("asked_at", Instant, nullable=False),
)

forgotten_senders = sa.Table(  # who was forgotten lately, as nobody can read it: see gateway.access.policy
    "forgotten_senders",
    metadata,
    tenant_column(),
    sa.Column("mark", sa.String(64), nullable=False),  # keyed hash of the sender
    sa.Column("former_id", Id, nullable=False),  # the user they were: by it their caps are counted on
    sa.Column("at", Instant, nullable=False, index=True),  # what they said up to then is not taken in again
    sa.PrimaryKeyConstraint("tenant_id", "mark"),
)

web_devices = sa.Table(  # the browsers of people on the chat page: each can be signed out alone
    "web_devices",
    metadata,
    tenant_column(),
    sa.Column("chat", sa.String(128), nullable=False),  # whose they are
    sa.Column("device", sa.String(16), nullable=False),  # in its cookie; "": those that have no number of their own yet
    sa.Column("browser", sa.Text, nullable=False),  # what it calls itself
    sa.Column("came_at", Instant, nullable=False),
    sa.Column("seen_at", Instant, nullable=False, index=True),  # within ten minutes: it is not written each time
    sa.Column("out_at", Instant),  # None: it may come
    sa.PrimaryKeyConstraint("tenant_id", "chat", "device"),
)

oauth_flows = sa.Table(  # links at which people may agree, each until it is used or over
    "oauth_flows",
    metadata,
    sa.Column("state_hash", sa.String(64), primary_key=True),  # SHA-256
    tenant_column(),
    sa.Column("user_id", Id, sa.ForeignKey("users.id"), nullable=False),
    sa.Column("provider", sa.String(32), nullable=False),
    sa.Column("sealed", sa.Text, nullable=False),  # JSON of state and verifier, see gateway.safety.vault
    sa.Column("ends_at", Instant, nullable=False, index=True),
    sa.UniqueConstraint("tenant_id", "user_id", "provider"),
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
