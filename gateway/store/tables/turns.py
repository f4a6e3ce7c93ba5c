"""Sessions, their turns, the journal of each turn, who owns them, what they cost, and what people allowed in them."""

from typing import Literal

import sqlalchemy as sa

from gateway.store.tables.base import Id, Instant, Sequence64, metadata, partial_index, tenant_column

SHARDS = 256
"""Sessions hash to this many shards; it can never change in a living store."""

Mode = Literal["steer", "followup", "collect", "interrupt"]
"""The modes of a session for messages that arrive mid-turn."""

shards = sa.Table(
    "shards",
    metadata,
    sa.Column("shard", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("owner", sa.String(64)),
    sa.Column("epoch", sa.BigInteger, nullable=False, default=0),  # rises each time a process takes it
)

final_dump = sa.Table(
    "final_dump",
    metadata,
    sa.Column("at", Instant, primary_key=True),  # with a row in it no gateway uses the database
)

leases = sa.Table(
    "leases",
    metadata,
    sa.Column("name", sa.String(128), primary_key=True),  # see gateway.store.leases: "in telegram:main", "chores"
    sa.Column("owner", sa.String(64)),
    sa.Column("epoch", sa.BigInteger, nullable=False),  # rises each time a process takes it
)
"""The leases of a cluster beside shards; they belong to the installation, not to a tenant."""

members = sa.Table(
    "members",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),  # NODE:PID, as owners are called
    sa.Column("host", sa.String(128), nullable=False),
    sa.Column("version", sa.String(32), nullable=False),
    sa.Column("key_mark", sa.String(64), nullable=False),  # of the keys of its home: all members have the same
    sa.Column("joined_at", Instant, nullable=False),
    sa.Column("until", Instant, nullable=False),  # by the database's clock: what it owns is free from then on
    sa.Column("fenced", sa.BigInteger, nullable=False),  # writes that were refused to it
    sa.Column("leaving", sa.Boolean, nullable=False),  # it drains, and takes nothing more
)
"""The processes of a cluster that are alive, and shortly after; none has a tenant."""

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_column(),
    sa.Column("key", sa.String(512), nullable=False),
    sa.Column("generation", sa.Integer, nullable=False),  # `/new` raises it; the highest is the living one
    sa.Column("mode", sa.String(16), nullable=False),  # steer | followup | collect | interrupt
    sa.Column("permission_mode", sa.String(16)),  # see agent.permission_rules.Mode; NULL: the configured one
    sa.Column("title", sa.Text),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("continues_id", Id),  # the conversation of another chat that it goes on from, as it was when it began
    sa.Column("continues_seq", sa.Integer),  # the first place in the other's journal that was free then
    sa.UniqueConstraint("tenant_id", "key", "generation"),
)
partial_index("ix_sessions_continues", sessions.c.continues_id, where=sessions.c.continues_id.is_not(None))

turns = sa.Table(
    "turns",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_column(),
    sa.Column("session_id", Id, sa.ForeignKey("sessions.id"), nullable=False, index=True),
    sa.Column("user_id", Id, nullable=False, index=True),  # the principal
    sa.Column("kind", sa.String(16), nullable=False),  # chat | plan
    sa.Column("address", sa.Text, nullable=False),  # where the answer goes, JSON
    sa.Column("reply_to", sa.String(128)),
    sa.Column("started_at", Instant, nullable=False),
    sa.Column("end_reason", sa.String(32)),  # None while it runs
    sa.Column("ended_at", Instant),
    sa.Column("parked_at", Instant),  # None unless it waits for its person's word: nothing of it runs then
)
partial_index(  # `end_reason` is NULL in all of it: with it, SQLite prefers this index to the one of the order
    "ix_turns_open", turns.c.end_reason, turns.c.session_id, turns.c.id, where=turns.c.end_reason.is_(None)
)
partial_index("ix_turns_ended", turns.c.ended_at, where=turns.c.ended_at.is_not(None))

model_rests = sa.Table(
    "model_rests",
    metadata,
    sa.Column("model", sa.String(255), primary_key=True),
    sa.Column("gate", sa.String(16), primary_key=True),  # see agent.models.health.Gate
    sa.Column("why", sa.String(16), nullable=False),  # see agent.errors.FailureKind
    sa.Column("until", Instant, nullable=False),
    sa.Column("strikes", sa.Integer, nullable=False),
    sa.Column("mark", sa.String(16), nullable=False),  # of the key and the server it was
)
"""Models that are not asked for a while; none has an owner, they are the installation's."""

events = sa.Table(
    "events",
    metadata,
    sa.Column("session_id", Id, sa.ForeignKey("sessions.id"), nullable=False),
    sa.Column("seq", sa.Integer, nullable=False),
    tenant_column(),
    sa.Column("turn_id", Id, nullable=False, index=True),
    sa.Column("step", sa.SmallInteger, nullable=False),
    sa.Column("call_key", sa.String(64)),  # turn/step/index of a tool call
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("version", sa.SmallInteger, nullable=False, default=1),
    sa.Column("payload", sa.Text, nullable=False),
    sa.Column("at", Instant, nullable=False),
    sa.PrimaryKeyConstraint("session_id", "seq"),
    sa.UniqueConstraint("call_key", "kind"),
)

summaries = sa.Table(  # what stands for the older part of a conversation in one person's prompts
    "summaries",
    metadata,
    sa.Column("session_id", Id, sa.ForeignKey("sessions.id"), primary_key=True),
    sa.Column("user_id", Id, primary_key=True),
    tenant_column(),
    sa.Column("notes", sa.Text, nullable=False),
    sa.Column("turn_id", Id, nullable=False),  # what is kept word for word begins with this turn
    sa.Column("step", sa.SmallInteger, nullable=False),  # and, of its steps, with this one
    sa.Column("condensed", sa.Integer, nullable=False),  # messages in the notes
    sa.Column("left_out", sa.Integer, nullable=False),  # messages that are gone without a note
    sa.Column("kept_at", Instant, nullable=False, index=True),
)

usage = sa.Table(
    "usage",
    metadata,
    sa.Column("id", Sequence64, primary_key=True),
    tenant_column(),
    sa.Column("user_id", Id, nullable=False),
    sa.Column("session_id", Id, nullable=False),
    sa.Column("turn_id", Id, nullable=False),
    sa.Column("model", sa.String(128), nullable=False),
    sa.Column("input_tokens", sa.Integer),
    sa.Column("output_tokens", sa.Integer),
    sa.Column("cache_read_tokens", sa.Integer),
    sa.Column("cache_write_tokens", sa.Integer),
    sa.Column("at", Instant, nullable=False, index=True),
    sa.Column("step", sa.SmallInteger, nullable=False),  # of the response in its turn: one row each
    sa.Column("discarded", sa.SmallInteger, nullable=False, server_default="0"),  # 0 stands; else thrown away as n-th
    sa.Column("estimated", sa.Boolean, nullable=False, server_default=sa.false()),  # nobody counted these tokens
    sa.Column("cost_microusd", sa.BigInteger),  # as it was when it was recorded; NULL: unknown, which is not 0
    sa.UniqueConstraint("turn_id", "step", "discarded"),
    sa.Index(None, "user_id", "at"),
)

usage_days = sa.Table(  # `usage` summed by UTC day, person and model, in the commit of each call
    "usage_days",
    metadata,
    tenant_column(),
    sa.Column("day", sa.Integer, nullable=False, index=True),  # days since 1970-01-01 UTC
    sa.Column("user_id", Id, nullable=False),
    sa.Column("model", sa.String(128), nullable=False),
    sa.Column("calls", sa.BigInteger, nullable=False),
    sa.Column("input_tokens", sa.BigInteger),  # these four NULL: nobody ever counted them
    sa.Column("output_tokens", sa.BigInteger),
    sa.Column("cache_read_tokens", sa.BigInteger),
    sa.Column("cache_write_tokens", sa.BigInteger),
    sa.Column("discarded", sa.BigInteger, nullable=False),  # calls among them, as are the next and the last
    sa.Column("estimated", sa.BigInteger, nullable=False),
    sa.Column("cost_microusd", sa.BigInteger),  # of those whose cost is known; NULL: of none
    sa.Column("unpriced", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "day", "user_id", "model"),
)

usage_totals = sa.Table(  # `usage` of all people by quarter of an hour, which adds up to days in any zone
    "usage_totals",
    metadata,
    tenant_column(),
    sa.Column("quarter", sa.Integer, nullable=False),  # quarters of an hour since 1970-01-01 UTC
    sa.Column("calls", sa.BigInteger, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),  # in and out
    sa.Column("cost_microusd", sa.BigInteger),
    sa.PrimaryKeyConstraint("tenant_id", "quarter"),
)

budget_use = sa.Table(  # what is used of each cap, with what is set aside for calls under way
    "budget_use",
    metadata,
    tenant_column(),
    sa.Column("scope", sa.String(16), nullable=False),  # turn | user | channel | tenant | day
    sa.Column("key", sa.String(255), nullable=False),  # whose: a turn's or a person's id, an account; "" for all
    sa.Column("day", sa.String(10), nullable=False),  # ISO date, of the zone it goes by; "" for a turn
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("microusd", sa.BigInteger, nullable=False),
    sa.Column("most_tokens", sa.BigInteger),  # the cap as it was last asked for; NULL: none
    sa.Column("most_microusd", sa.BigInteger),
    sa.Column("resets_at", Instant),  # NULL: never
    sa.Column("told", sa.Boolean, nullable=False),  # an owner knows that it is nearly used
    sa.Column("reached", sa.Boolean, nullable=False, server_default=sa.false()),  # a call was refused, which is news
    sa.Column("at", Instant, nullable=False, index=True),  # of the last call
    sa.PrimaryKeyConstraint("tenant_id", "scope", "key", "day"),
)

budget_holds = sa.Table(  # calls under way, with what is set aside for each
    "budget_holds",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_column(),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("microusd", sa.BigInteger, nullable=False),
    sa.Column("at", Instant, nullable=False),
)

blobs = sa.Table(
    "blobs",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_column(),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Column("created_at", Instant, nullable=False, index=True),
    sa.Column("turn_id", Id, index=True),  # whose picture it is, and as long as which it is kept; None: of no turn
)

approvals = sa.Table(
    "approvals",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_column(),
    sa.Column("turn_id", Id, nullable=False, index=True),
    sa.Column("user_id", Id, nullable=False),  # whose word it needs
    sa.Column("call_key", sa.String(64), nullable=False),  # turn/step/index of the tool call
    sa.Column("tool", sa.String(128), nullable=False),
    sa.Column("fingerprint", sa.String(64), nullable=False),  # SHA-256 of tool and arguments
    sa.Column("about", sa.Text, nullable=False),  # its arguments, shortened
    sa.Column("may_remember", sa.Boolean, nullable=False),
    sa.Column("numbered", sa.Boolean, nullable=False),  # the channel has no buttons: the answer is typed
    sa.Column("state", sa.String(16), nullable=False),  # see agent.consent.Consent
    sa.Column("asked_at", Instant, nullable=False),
    sa.Column("until", Instant, nullable=False),
    sa.Column("answered_at", Instant),
)

remembered_tools = sa.Table(
    "remembered_tools",
    metadata,
    tenant_column(),
    sa.Column("user_id", Id, nullable=False),
    sa.Column("tool", sa.String(128), nullable=False),
    sa.Column("since", Instant, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "tool"),
)

session_rules = sa.Table(  # calls that a person denied in a conversation, and rules that they set there
    "session_rules",
    metadata,
    tenant_column(),
    sa.Column("session_id", Id, sa.ForeignKey("sessions.id"), nullable=False),
    sa.Column("user_id", Id, nullable=False),
    sa.Column("verdict", sa.String(16), nullable=False),  # see agent.permission_rules.Verdict
    sa.Column("rule", sa.String(512), nullable=False),
    sa.Column("fingerprint", sa.String(64), nullable=False),  # of one call; "": the rule is about any
    sa.Column("about", sa.Text, nullable=False),  # arguments of that call, shortened
    sa.Column("since", Instant, nullable=False),
    sa.PrimaryKeyConstraint("session_id", "user_id", "rule", "fingerprint"),
)

alerts = sa.Table(  # what owners were told of troubles
    "alerts",
    metadata,
    tenant_column(),
    sa.Column("key", sa.String(160), nullable=False),  # what is in trouble: "channel telegram:main"
    sa.Column("began_at", Instant, nullable=False),
    sa.Column("told_at", Instant),  # when owners were told of it last; NULL: never
    sa.Column("over_at", Instant),  # NULL: it lasts
    sa.Column("level", sa.BigInteger, nullable=False),  # how much of it was told
    sa.PrimaryKeyConstraint("tenant_id", "key"),
)
