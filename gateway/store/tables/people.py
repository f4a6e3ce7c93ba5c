"""People, their identities on channels, what they may do, pairing, and the record of changes to all that."""

import sqlalchemy as sa
from pydantic import TypeAdapter

from channels.messages import Address
from gateway.store.tables.base import (
    Id,
    Instant,
    Json,
    Sequence64,
    Words,
    metadata,
    partial_index,
    tenant_column,
)

_CHOICES: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])
_TEXTS: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[str, ...])

users = sa.Table(
    "users",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_column(),
    sa.Column("role", sa.String(16), nullable=False),  # owner | operator | member | blocked
    sa.Column("display_name", sa.Text, nullable=False),
    sa.Column("locale", sa.String(35)),  # of the platform, then of what they write, or as they chose
    sa.Column("keeps_language", sa.Boolean, nullable=False, default=False),  # whatever they write in
    sa.Column("timezone", sa.String(64), nullable=False),
    sa.Column("week_start", sa.SmallInteger, nullable=False),  # 0 Monday ... 6 Sunday
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("zone_from", sa.String(8), nullable=False, server_default="nobody"),  # nobody | device | person
    sa.Column("alias_of", Id, index=True),  # the user who they are by a link; None: not linked to another
    sa.Column("agents", Json(_CHOICES)),  # chosen with /agent, by account; None: none
    sa.Column("model", sa.String(128)),  # by which they want to be answered; None: the first of the configuration
    sa.Column("wants_voice", sa.Boolean, nullable=False, server_default=sa.false()),  # answers by voice, too
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

tickets = sa.Table(  # see gateway.store.tickets.Ticket, which says what each column is
    "tickets",
    metadata,
    sa.Column("id", Id, primary_key=True),  # short codes are derived from it
    tenant_column(),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("created_by", sa.String(128), nullable=False, server_default=""),
    sa.Column("expires_at", Instant, nullable=False),
    sa.Column("ended_at", Instant),
    sa.Column("ended_by", sa.String(160)),
    sa.Column("code_mac", sa.String(64), unique=True),
    sa.Column("user_id", Id, nullable=False, server_default="", index=True),
    sa.Column("sender", sa.String(160), nullable=False, server_default=""),
    sa.Column("channel", sa.String(32), nullable=False, server_default=""),
    sa.Column("account", sa.String(64), nullable=False, server_default=""),
    sa.Column("chat", sa.String(128), nullable=False, server_default=""),
    sa.Column("thread", sa.String(128)),
    sa.Column("display_name", sa.Text, nullable=False, server_default=""),
    sa.Column("locale", sa.String(35)),
    sa.Column("told_at", Instant),
    sa.Column("again", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("kept", sa.Text),
    sa.Column("role", sa.String(16), nullable=False, server_default=""),
    sa.Column("other_id", Id, index=True),
    sa.Column("other_sender", sa.String(160)),
    sa.Column("other_place", Json(TypeAdapter(Address))),
    sa.Column("provider", sa.String(32), nullable=False, server_default=""),
    sa.Column("sealed", sa.Text),  # see gateway.safety.vault
    sa.Index(None, "channel", "account", "state"),
    sa.Index(None, "channel", "account", "sender"),
    sa.Index(None, "channel", "account", "created_at"),
)
partial_index(
    "ix_tickets_waiting",
    tickets.c.expires_at,
    where=tickets.c.state.in_([sa.literal_column(f"'{state}'") for state in ("pending", "given", "agreed")]),
)

ticket_guesses = sa.Table(  # wrong codes
    "ticket_guesses",
    metadata,
    sa.Column("id", Sequence64, primary_key=True),
    tenant_column(),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("who", sa.String(160), nullable=False),  # user id, "cli" or canonical sender
    sa.Column("at", Instant, nullable=False, index=True),
    sa.Index(None, "who", "at"),
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

trusted = sa.Table(  # what operators allow to run, as it was when they looked at it
    "trusted",
    metadata,
    tenant_column(),
    sa.Column("kind", sa.String(16), nullable=False),  # see gateway.store.trusted.TrustKind
    sa.Column("name", sa.String(512), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),  # SHA-256
    sa.Column("trusted_at", Instant, nullable=False),
    sa.Column("trusted_by", sa.String(128), nullable=False),  # user id or "cli"
    sa.PrimaryKeyConstraint("tenant_id", "kind", "name"),
)

pauses = sa.Table(  # tenants whose agents are paused
    "pauses",
    metadata,
    tenant_column(),
    sa.Column("whole", sa.Boolean, nullable=False),  # of every tenant
    sa.Column("since", Instant, nullable=False),
    sa.Column("paused_by", sa.String(128), nullable=False),  # user id, "cli" or an API key
    sa.PrimaryKeyConstraint("tenant_id"),
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
    sa.Column("senders", Json(_TEXTS), nullable=False),  # list: who they were, canonical
    sa.Column("keys", Json(_TEXTS), nullable=False),  # list of session keys
    sa.Column("lanes", Json(_TEXTS), nullable=False),  # list: their direct chats
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
