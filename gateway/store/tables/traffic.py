"""Tables of what came in, what goes out, and how far each channel account has read."""

import sqlalchemy as sa

from channels.base import OWN_VIEWS
from gateway.store.tables.base import Id, Instant, Sequence64, metadata, partial_index, tenant_column

REDACTED = '{"type":"redacted"}'
"""The payload of an inbox row whose words are blanked."""

channel_accounts = sa.Table(
    "channel_accounts",
    metadata,
    tenant_column(),
    sa.Column("channel", sa.String(32), nullable=False),
    sa.Column("account", sa.String(64), nullable=False),
    sa.Column("cursor", sa.Text),  # the adapter's own resume point
    sa.Column("last_heard_at", Instant),
    sa.PrimaryKeyConstraint("channel", "account", "tenant_id"),
)

chats = sa.Table(  # where people who are let in talk to the bot: what a channel reads back after a gap
    "chats",
    metadata,
    tenant_column(),
    sa.Column("channel", sa.String(32), nullable=False),
    sa.Column("account", sa.String(64), nullable=False),
    sa.Column("chat", sa.String(128), nullable=False),
    sa.Column("thread", sa.String(128), nullable=False),  # "": the chat itself
    sa.Column("direct", sa.Boolean, nullable=False),
    sa.Column("user_id", Id, nullable=False),  # who was heard there last
    sa.Column("heard_at", Instant, nullable=False),  # within an hour: it is not written with every message
    sa.PrimaryKeyConstraint("channel", "account", "chat", "thread", "tenant_id"),
    sa.Index(None, "channel", "account", "heard_at"),
)

groups = sa.Table(  # as operators set them from the chat itself; others are as the configuration says
    "groups",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_column(),
    sa.Column("channel", sa.String(32), nullable=False),
    sa.Column("account", sa.String(64), nullable=False),
    sa.Column("chat", sa.String(128), nullable=False),
    sa.Column("allowed", sa.Boolean, nullable=False),
    sa.Column("every_message", sa.Boolean, nullable=False),  # the bot is meant by all that is said
    sa.Column("context", sa.SmallInteger, nullable=False),  # messages said before that it reads
    sa.Column("agent", sa.String(32)),  # chosen by an operator; None: as the configuration says
    sa.Column("kept", sa.Text),  # what was said last by who asked for the bot there in vain, the event as JSON
    sa.Column("kept_of", Id),  # the user who said it
    sa.Column("kept_at", Instant),
    sa.UniqueConstraint("tenant_id", "channel", "account", "chat"),
)

inbox = sa.Table(
    "inbox",
    metadata,
    sa.Column("id", Sequence64, primary_key=True),  # the order of admission
    tenant_column(),
    sa.Column("channel", sa.String(32), nullable=False),
    sa.Column("account", sa.String(64), nullable=False),
    sa.Column("event_id", sa.String(256), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),  # the event's `type`, "rejected" for what could not be read
    sa.Column("chat", sa.String(128), nullable=False),
    sa.Column("message_id", sa.String(128)),
    sa.Column("sender", sa.String(160), nullable=False),  # canonical: telegram:42
    sa.Column("user_id", Id),  # whom access found the sender to be; None for strangers
    sa.Column("session_key", sa.String(512)),  # None where it never reaches a session
    sa.Column("from_turn", Id),  # the turn that sent it to this session; None: no turn did
    sa.Column("payload", sa.Text, nullable=False),  # the event as JSON; "" where nothing of it is kept
    sa.Column("received_at", Instant, nullable=False),
    sa.Column("admitted_at", Instant, nullable=False),
    sa.Column("turn_id", Id),  # the turn that claimed it
    sa.Column(
        "attempts", sa.SmallInteger, nullable=False, default=0
    ),  # since its last journaled step; its claim writes the first
    sa.Column("outcome", sa.String(16)),  # None while open; see gateway.store.inbox.Outcome
    sa.Column("detail", sa.Text),  # why refused, what failed
    sa.Column("done_at", Instant),
    sa.Column("shard", sa.SmallInteger),  # the session's, see gateway.store.journal.shard_of; None without a session
    sa.UniqueConstraint("channel", "account", "event_id", "tenant_id"),
)
partial_index("ix_inbox_open", inbox.c.session_key, inbox.c.id, where=inbox.c.outcome.is_(None))
IS_WAITING = sa.and_(inbox.c.outcome.is_(None), inbox.c.turn_id.is_(None), inbox.c.session_key.is_not(None))
partial_index("ix_inbox_waiting", inbox.c.outcome, inbox.c.id, where=IS_WAITING)
_is_claimed = inbox.c.turn_id.is_not(None)  # no plan for the rows without a turn takes this index
partial_index("ix_inbox_claimed", inbox.c.turn_id, where=_is_claimed)
_is_handed = inbox.c.from_turn.is_not(None)
partial_index("ix_inbox_handed", inbox.c.from_turn, where=_is_handed)
_is_settled = inbox.c.done_at.is_not(None)
partial_index("ix_inbox_settled", inbox.c.outcome, inbox.c.done_at, where=_is_settled)
_is_read_along = sa.and_(inbox.c.outcome.in_(["context", "quarantined"]), inbox.c.payload != "")
partial_index(
    "ix_inbox_read_along", inbox.c.channel, inbox.c.account, inbox.c.chat, inbox.c.outcome, inbox.c.id,
    where=_is_read_along,
)  # fmt: skip
sa.Index("ix_inbox_message", inbox.c.channel, inbox.c.account, inbox.c.chat, inbox.c.message_id)

outbox = sa.Table(
    "outbox",
    metadata,
    sa.Column("id", Sequence64, primary_key=True),  # the order within a lane
    tenant_column(),
    sa.Column("kind", sa.String(16), nullable=False),  # of the cause, see gateway.store.causes
    sa.Column("cause", sa.String(64), nullable=False),  # turn id, or what else it answers: "inbox:17"
    sa.Column("part", sa.SmallInteger, nullable=False),
    sa.Column("op", sa.SmallInteger, nullable=False),  # 0 the placeholder or the only send, 1 its final edit
    sa.Column("action", sa.String(16), nullable=False),  # placeholder | send | edit
    sa.Column("lane", sa.String(256), nullable=False),
    sa.Column("channel", sa.String(32), nullable=False),
    sa.Column("account", sa.String(64), nullable=False),
    sa.Column("chat", sa.String(128), nullable=False),
    sa.Column("thread", sa.String(128)),
    sa.Column("target", sa.String(128)),  # message to edit, where it is not op 0 of the same part
    sa.Column("reply_to", sa.String(128)),
    sa.Column("rendered", sa.Text, nullable=False),
    sa.Column("markup", sa.Text),
    sa.Column("plain", sa.Text, nullable=False),  # sent instead when the rendering is refused
    sa.Column("secret_ref", sa.String(128)),  # what fills the eight bullets at the moment of sending
    sa.Column("answers", Sequence64),  # the inbox row whose own way to answer it may use; None: the chat
    sa.Column("buttons", sa.Text),  # JSON list of {label, data, style, words}
    sa.Column("buttons_of", Id),  # the user whose next words take the buttons away; None: a decision does
    sa.Column("buttons_until", Instant),  # when the buttons are taken away; None: there are none any more
    sa.Column("media", sa.Text),  # JSON list of {kind, name, mime, blob}
    sa.Column("idem_key", sa.String(32), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),  # ready | sending | sent | unknown | dead | discarded
    sa.Column("not_before", Instant),
    sa.Column("attempts", sa.SmallInteger, nullable=False, default=0),
    sa.Column("platform_id", sa.String(128)),
    sa.Column("marked", sa.Boolean, nullable=False, default=False),  # an earlier attempt may have arrived
    sa.Column("error", sa.Text),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("done_at", Instant),
    sa.Column("locale", sa.String(35)),  # of whoever reads it, for what is said about it
    sa.UniqueConstraint("cause", "part", "op"),
)
partial_index("ix_outbox_open", outbox.c.lane, outbox.c.id, where=outbox.c.state.in_(["ready", "sending"]))
_has_buttons = outbox.c.buttons_until.is_not(None)
partial_index("ix_outbox_buttons", outbox.c.lane, where=_has_buttons)
partial_index("ix_outbox_buttons_over", outbox.c.buttons_until, where=_has_buttons)
_is_failed = outbox.c.state.in_(["unknown", "dead"])
partial_index("ix_outbox_failed", outbox.c.state, where=_is_failed)
_is_discarded = outbox.c.state == "discarded"  # few among the many that were sent
partial_index("ix_outbox_discarded", outbox.c.id, where=_is_discarded)
_is_over = outbox.c.done_at.is_not(None)
partial_index("ix_outbox_over", outbox.c.done_at, where=_is_over)
IN_OWN_VIEWS = outbox.c.channel.in_([sa.literal_column(f"'{channel}'") for channel in sorted(OWN_VIEWS)])
"""Written out, because the index below serves no query that binds the channel."""
partial_index("ix_outbox_views", outbox.c.chat, outbox.c.id, where=IN_OWN_VIEWS)

parked_lanes = sa.Table(
    "parked_lanes",
    metadata,
    tenant_column(),
    sa.Column("lane", sa.String(256), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("parked_at", Instant, nullable=False),
    sa.PrimaryKeyConstraint("lane", "tenant_id"),
)

moved_chats = sa.Table(
    "moved_chats",
    metadata,
    tenant_column(),
    sa.Column("channel", sa.String(32), nullable=False),
    sa.Column("account", sa.String(64), nullable=False),
    sa.Column("old_chat", sa.String(128), nullable=False),
    sa.Column("new_chat", sa.String(128), nullable=False),
    sa.Column("moved_at", Instant, nullable=False),
    sa.PrimaryKeyConstraint("channel", "account", "old_chat", "tenant_id"),
)

reply_routes = sa.Table(
    "reply_routes",
    metadata,
    sa.Column("inbox_id", Sequence64, sa.ForeignKey("inbox.id"), primary_key=True, autoincrement=False),
    tenant_column(),
    sa.Column("kind", sa.String(32), nullable=False),  # interaction | response_url
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("expires_at", Instant, nullable=False),
    sa.Column("uses_left", sa.Integer, nullable=False),
)
