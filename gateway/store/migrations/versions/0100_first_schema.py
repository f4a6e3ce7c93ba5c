"""First schema."""

import sqlalchemy as sa
from alembic import op

revision = "0100"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """First schema."""
    op.create_table(
        "alerts",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=160), nullable=False),
        sa.Column("began_at", sa.BigInteger(), nullable=False),
        sa.Column("told_at", sa.BigInteger(), nullable=True),
        sa.Column("over_at", sa.BigInteger(), nullable=True),
        sa.Column("level", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "key", name=op.f("pk_alerts")),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=128), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
    )
    op.create_table(
        "approvals",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("turn_id", sa.String(length=36), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("call_key", sa.String(length=64), nullable=False),
        sa.Column("tool", sa.String(length=128), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("may_remember", sa.Boolean(), nullable=False),
        sa.Column("numbered", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("answered_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approvals")),
    )
    op.create_index(op.f("ix_approvals_turn_id"), "approvals", ["turn_id"], unique=False)
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(length=128), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.String(length=256), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index(op.f("ix_audit_at"), "audit", ["at"], unique=False)
    op.create_table(
        "blobs",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("turn_id", sa.String(length=36), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_blobs")),
    )
    op.create_index(op.f("ix_blobs_created_at"), "blobs", ["created_at"], unique=False)
    op.create_index(op.f("ix_blobs_turn_id"), "blobs", ["turn_id"], unique=False)
    op.create_table(
        "budget_holds",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("microusd", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_budget_holds")),
    )
    op.create_table(
        "budget_use",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("scope", sa.String(length=16), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("microusd", sa.BigInteger(), nullable=False),
        sa.Column("most_tokens", sa.BigInteger(), nullable=True),
        sa.Column("most_microusd", sa.BigInteger(), nullable=True),
        sa.Column("resets_at", sa.BigInteger(), nullable=True),
        sa.Column("told", sa.Boolean(), nullable=False),
        sa.Column("reached", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "scope", "key", "day", name=op.f("pk_budget_use")),
    )
    op.create_index(op.f("ix_budget_use_at"), "budget_use", ["at"], unique=False)
    op.create_table(
        "channel_accounts",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("channel", sa.String(length=32), nullable=False),
        sa.Column("account", sa.String(length=64), nullable=False),
        sa.Column("cursor", sa.Text(), nullable=True),
        sa.Column("last_heard_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("channel", "account", "tenant_id", name=op.f("pk_channel_accounts")),
    )
    op.create_table(
        "chats",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("channel", sa.String(length=32), nullable=False),
        sa.Column("account", sa.String(length=64), nullable=False),
        sa.Column("chat", sa.String(length=128), nullable=False),
        sa.Column("thread", sa.String(length=128), nullable=False),
        sa.Column("direct", sa.Boolean(), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("heard_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("channel", "account", "chat", "thread", "tenant_id", name=op.f("pk_chats")),
    )
    op.create_index(
        op.f("ix_chats_channel_account_heard_at"), "chats", ["channel", "account", "heard_at"], unique=False
    )
    op.create_table(
        "dreams",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("session_key", sa.String(length=512), nullable=False),
        sa.Column("wanted_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "agent", "user_id", name=op.f("pk_dreams")),
    )
    op.create_index(op.f("ix_dreams_user_id"), "dreams", ["user_id"], unique=False)
    op.create_table(
        "entities",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("key", sa.String(length=512), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("mentions", sa.Integer(), nullable=False),
        sa.Column("first_at", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "agent", "user_id", "key", name=op.f("pk_entities")),
    )
    op.create_index(op.f("ix_entities_user_id"), "entities", ["user_id"], unique=False)
    op.create_table(
        "erasures",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("extent", sa.String(length=16), nullable=False),
        sa.Column("senders", sa.Text(), nullable=False),
        sa.Column("keys", sa.Text(), nullable=False),
        sa.Column("lanes", sa.Text(), nullable=False),
        sa.Column("inbox_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_erasures")),
    )
    op.create_table(
        "facts",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("subject", sa.String(length=80), nullable=False),
        sa.Column("relation", sa.String(length=16), nullable=False),
        sa.Column("object", sa.String(length=80), nullable=False),
        sa.Column("valid_from", sa.BigInteger(), nullable=False),
        sa.Column("valid_to", sa.BigInteger(), nullable=True),
        sa.Column("mentions", sa.Integer(), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=False),
        sa.Column("first_at", sa.BigInteger(), nullable=True),
        sa.Column("last_at", sa.BigInteger(), nullable=True),
        sa.Column("score", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_facts")),
    )
    op.create_index(op.f("ix_facts_user_id_score"), "facts", ["user_id", "score"], unique=False)
    op.create_table(
        "final_dump",
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("at", name=op.f("pk_final_dump")),
    )
    op.create_table(
        "forgotten_senders",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("mark", sa.String(length=64), nullable=False),
        sa.Column("former_id", sa.String(length=36), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "mark", name=op.f("pk_forgotten_senders")),
    )
    op.create_index(op.f("ix_forgotten_senders_at"), "forgotten_senders", ["at"], unique=False)
    op.create_table(
        "groups",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("channel", sa.String(length=32), nullable=False),
        sa.Column("account", sa.String(length=64), nullable=False),
        sa.Column("chat", sa.String(length=128), nullable=False),
        sa.Column("allowed", sa.Boolean(), nullable=False),
        sa.Column("every_message", sa.Boolean(), nullable=False),
        sa.Column("context", sa.SmallInteger(), nullable=False),
        sa.Column("agent", sa.String(length=32), nullable=True),
        sa.Column("kept", sa.Text(), nullable=True),
        sa.Column("kept_of", sa.String(length=36), nullable=True),
        sa.Column("kept_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_groups")),
        sa.UniqueConstraint(
            "tenant_id", "channel", "account", "chat", name=op.f("uq_groups_tenant_id_channel_account_chat")
        ),
    )
    op.create_table(
        "inbox",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("channel", sa.String(length=32), nullable=False),
        sa.Column("account", sa.String(length=64), nullable=False),
        sa.Column("event_id", sa.String(length=256), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("chat", sa.String(length=128), nullable=False),
        sa.Column("message_id", sa.String(length=128), nullable=True),
        sa.Column("sender", sa.String(length=160), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=True),
        sa.Column("session_key", sa.String(length=512), nullable=True),
        sa.Column("from_turn", sa.String(length=36), nullable=True),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.Column("admitted_at", sa.BigInteger(), nullable=False),
        sa.Column("turn_id", sa.String(length=36), nullable=True),
        sa.Column("attempts", sa.SmallInteger(), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("done_at", sa.BigInteger(), nullable=True),
        sa.Column("shard", sa.SmallInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_inbox")),
        sa.UniqueConstraint(
            "channel", "account", "event_id", "tenant_id", name=op.f("uq_inbox_channel_account_event_id_tenant_id")
        ),
    )
    op.create_index(
        "ix_inbox_claimed",
        "inbox",
        ["turn_id"],
        unique=False,
        sqlite_where=sa.text("turn_id IS NOT NULL"),
        postgresql_where=sa.text("turn_id IS NOT NULL"),
    )
    op.create_index(
        "ix_inbox_handed",
        "inbox",
        ["from_turn"],
        unique=False,
        sqlite_where=sa.text("from_turn IS NOT NULL"),
        postgresql_where=sa.text("from_turn IS NOT NULL"),
    )
    op.create_index("ix_inbox_message", "inbox", ["channel", "account", "chat", "message_id"], unique=False)
    op.create_index(
        "ix_inbox_open",
        "inbox",
        ["session_key", "id"],
        unique=False,
        sqlite_where=sa.text("outcome IS NULL"),
        postgresql_where=sa.text("outcome IS NULL"),
    )
    op.create_index(
        "ix_inbox_read_along",
        "inbox",
        ["channel", "account", "chat", "outcome", "id"],
        unique=False,
        sqlite_where=sa.text("outcome IN ('context', 'quarantined') AND payload != ''"),
        postgresql_where=sa.text("outcome IN ('context', 'quarantined') AND payload != ''"),
    )
    op.create_index(
        "ix_inbox_settled",
        "inbox",
        ["outcome", "done_at"],
        unique=False,
        sqlite_where=sa.text("done_at IS NOT NULL"),
        postgresql_where=sa.text("done_at IS NOT NULL"),
    )
    op.create_index(
        "ix_inbox_waiting",
        "inbox",
        ["outcome", "id"],
        unique=False,
        sqlite_where=sa.text("outcome IS NULL AND turn_id IS NULL AND session_key IS NOT NULL"),
        postgresql_where=sa.text("outcome IS NULL AND turn_id IS NULL AND session_key IS NOT NULL"),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("owner", sa.String(length=64), nullable=True),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
    op.create_table(
        "members",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("host", sa.String(length=128), nullable=False),
        sa.Column("version", sa.String(length=32), nullable=False),
        sa.Column("key_mark", sa.String(length=64), nullable=False),
        sa.Column("joined_at", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("fenced", sa.BigInteger(), nullable=False),
        sa.Column("leaving", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_members")),
    )
    op.create_table(
        "children",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("parent_key", sa.String(length=512), nullable=False),
        sa.Column("parent_turn_id", sa.String(length=36), nullable=False),
        sa.Column("session_key", sa.String(length=512), nullable=False),
        sa.Column("label", sa.String(length=64), nullable=False),
        sa.Column("description", sa.String(length=200), nullable=False),
        sa.Column("type", sa.String(length=64), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=True),
        sa.Column("in_background", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("began_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_children")),
        sa.UniqueConstraint("tenant_id", "session_key", name=op.f("uq_children_tenant_id_session_key")),
    )
    op.create_index(op.f("ix_children_parent_turn_id"), "children", ["parent_turn_id"], unique=False)
    op.create_index(op.f("ix_children_tenant_id_parent_key"), "children", ["tenant_id", "parent_key"], unique=False)
    op.create_index(op.f("ix_children_user_id"), "children", ["user_id"], unique=False)
    op.create_index(
        "ix_children_running",
        "children",
        ["state"],
        unique=False,
        sqlite_where=sa.text("state = 'running'"),
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_table(
        "memories",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("origin", sa.String(length=16), nullable=False),
        sa.Column("source", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memories")),
        sa.UniqueConstraint(
            "tenant_id", "agent", "user_id", "name", name=op.f("uq_memories_tenant_id_agent_user_id_name")
        ),
    )
    op.create_index(op.f("ix_memories_user_id_updated_at"), "memories", ["user_id", "updated_at"], unique=False)
    op.create_table(
        "model_rests",
        sa.Column("model", sa.String(length=255), nullable=False),
        sa.Column("gate", sa.String(length=16), nullable=False),
        sa.Column("why", sa.String(length=16), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("strikes", sa.Integer(), nullable=False),
        sa.Column("mark", sa.String(length=16), nullable=False),
        sa.PrimaryKeyConstraint("model", "gate", name=op.f("pk_model_rests")),
    )
    op.create_table(
        "moved_chats",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("channel", sa.String(length=32), nullable=False),
        sa.Column("account", sa.String(length=64), nullable=False),
        sa.Column("old_chat", sa.String(length=128), nullable=False),
        sa.Column("new_chat", sa.String(length=128), nullable=False),
        sa.Column("moved_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("channel", "account", "old_chat", "tenant_id", name=op.f("pk_moved_chats")),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("cause", sa.String(length=64), nullable=False),
        sa.Column("part", sa.SmallInteger(), nullable=False),
        sa.Column("op", sa.SmallInteger(), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("lane", sa.String(length=256), nullable=False),
        sa.Column("channel", sa.String(length=32), nullable=False),
        sa.Column("account", sa.String(length=64), nullable=False),
        sa.Column("chat", sa.String(length=128), nullable=False),
        sa.Column("thread", sa.String(length=128), nullable=True),
        sa.Column("target", sa.String(length=128), nullable=True),
        sa.Column("reply_to", sa.String(length=128), nullable=True),
        sa.Column("rendered", sa.Text(), nullable=False),
        sa.Column("markup", sa.Text(), nullable=True),
        sa.Column("plain", sa.Text(), nullable=False),
        sa.Column("secret_ref", sa.String(length=128), nullable=True),
        sa.Column("answers", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("buttons", sa.Text(), nullable=True),
        sa.Column("buttons_of", sa.String(length=36), nullable=True),
        sa.Column("buttons_until", sa.BigInteger(), nullable=True),
        sa.Column("media", sa.Text(), nullable=True),
        sa.Column("idem_key", sa.String(length=32), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("not_before", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.SmallInteger(), nullable=False),
        sa.Column("platform_id", sa.String(length=128), nullable=True),
        sa.Column("marked", sa.Boolean(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("done_at", sa.BigInteger(), nullable=True),
        sa.Column("locale", sa.String(length=35), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sa.UniqueConstraint("cause", "part", "op", name=op.f("uq_outbox_cause_part_op")),
    )
    op.create_index(
        "ix_outbox_buttons",
        "outbox",
        ["lane"],
        unique=False,
        sqlite_where=sa.text("buttons_until IS NOT NULL"),
        postgresql_where=sa.text("buttons_until IS NOT NULL"),
    )
    op.create_index(
        "ix_outbox_buttons_over",
        "outbox",
        ["buttons_until"],
        unique=False,
        sqlite_where=sa.text("buttons_until IS NOT NULL"),
        postgresql_where=sa.text("buttons_until IS NOT NULL"),
    )
    op.create_index(
        "ix_outbox_discarded",
        "outbox",
        ["id"],
        unique=False,
        sqlite_where=sa.text("state = 'discarded'"),
        postgresql_where=sa.text("state = 'discarded'"),
    )
    op.create_index(
        "ix_outbox_failed",
        "outbox",
        ["state"],
        unique=False,
        sqlite_where=sa.text("state IN ('unknown', 'dead')"),
        postgresql_where=sa.text("state IN ('unknown', 'dead')"),
    )
    op.create_index(
        "ix_outbox_open",
        "outbox",
        ["lane", "id"],
        unique=False,
        sqlite_where=sa.text("state IN ('ready', 'sending')"),
        postgresql_where=sa.text("state IN ('ready', 'sending')"),
    )
    op.create_index(
        "ix_outbox_over",
        "outbox",
        ["done_at"],
        unique=False,
        sqlite_where=sa.text("done_at IS NOT NULL"),
        postgresql_where=sa.text("done_at IS NOT NULL"),
    )
    op.create_index(
        "ix_outbox_views",
        "outbox",
        ["chat", "id"],
        unique=False,
        sqlite_where=sa.text("channel IN ('api', 'console', 'web')"),
        postgresql_where=sa.text("channel IN ('api', 'console', 'web')"),
    )
    op.create_table(
        "parked_lanes",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("lane", sa.String(length=256), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("parked_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("lane", "tenant_id", name=op.f("pk_parked_lanes")),
    )
    op.create_table(
        "pauses",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("whole", sa.Boolean(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("paused_by", sa.String(length=128), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_pauses")),
    )
    op.create_table(
        "remembered_tools",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("tool", sa.String(length=128), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "tool", name=op.f("pk_remembered_tools")),
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=512), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("mode", sa.String(length=16), nullable=False),
        sa.Column("permission_mode", sa.String(length=16), nullable=True),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("continues_id", sa.String(length=36), nullable=True),
        sa.Column("continues_seq", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
        sa.UniqueConstraint("tenant_id", "key", "generation", name=op.f("uq_sessions_tenant_id_key_generation")),
    )
    op.create_index(
        "ix_sessions_continues",
        "sessions",
        ["continues_id"],
        unique=False,
        sqlite_where=sa.text("continues_id IS NOT NULL"),
        postgresql_where=sa.text("continues_id IS NOT NULL"),
    )
    op.create_table(
        "shards",
        sa.Column("shard", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("owner", sa.String(length=64), nullable=True),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("shard", name=op.f("pk_shards")),
    )
    op.create_table(
        "tasks",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("group_key", sa.String(length=512), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("blocked_by", sa.Text(), nullable=False),
        sa.Column("created_by", sa.String(length=128), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.SmallInteger(), nullable=False),
        sa.Column("worker", sa.String(length=128), nullable=False),
        sa.Column("turn_id", sa.String(length=36), nullable=True),
        sa.Column("until", sa.BigInteger(), nullable=True),
        sa.Column("claims", sa.Integer(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
    )
    op.create_index(op.f("ix_tasks_changed_at"), "tasks", ["changed_at"], unique=False)
    op.create_index(op.f("ix_tasks_user_id_agent"), "tasks", ["user_id", "agent"], unique=False)
    op.create_table(
        "ticket_guesses",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("who", sa.String(length=160), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ticket_guesses")),
    )
    op.create_index(op.f("ix_ticket_guesses_at"), "ticket_guesses", ["at"], unique=False)
    op.create_index(op.f("ix_ticket_guesses_who_at"), "ticket_guesses", ["who", "at"], unique=False)
    op.create_table(
        "tickets",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=128), server_default="", nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_by", sa.String(length=160), nullable=True),
        sa.Column("code_mac", sa.String(length=64), nullable=True),
        sa.Column("user_id", sa.String(length=36), server_default="", nullable=False),
        sa.Column("sender", sa.String(length=160), server_default="", nullable=False),
        sa.Column("channel", sa.String(length=32), server_default="", nullable=False),
        sa.Column("account", sa.String(length=64), server_default="", nullable=False),
        sa.Column("chat", sa.String(length=128), server_default="", nullable=False),
        sa.Column("thread", sa.String(length=128), nullable=True),
        sa.Column("display_name", sa.Text(), server_default="", nullable=False),
        sa.Column("locale", sa.String(length=35), nullable=True),
        sa.Column("told_at", sa.BigInteger(), nullable=True),
        sa.Column("again", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("kept", sa.Text(), nullable=True),
        sa.Column("role", sa.String(length=16), server_default="", nullable=False),
        sa.Column("other_id", sa.String(length=36), nullable=True),
        sa.Column("other_sender", sa.String(length=160), nullable=True),
        sa.Column("other_place", sa.Text(), nullable=True),
        sa.Column("provider", sa.String(length=32), server_default="", nullable=False),
        sa.Column("sealed", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tickets")),
        sa.UniqueConstraint("code_mac", name=op.f("uq_tickets_code_mac")),
    )
    op.create_index(
        op.f("ix_tickets_channel_account_created_at"), "tickets", ["channel", "account", "created_at"], unique=False
    )
    op.create_index(
        op.f("ix_tickets_channel_account_sender"), "tickets", ["channel", "account", "sender"], unique=False
    )
    op.create_index(op.f("ix_tickets_channel_account_state"), "tickets", ["channel", "account", "state"], unique=False)
    op.create_index(op.f("ix_tickets_other_id"), "tickets", ["other_id"], unique=False)
    op.create_index(op.f("ix_tickets_user_id"), "tickets", ["user_id"], unique=False)
    op.create_index(
        "ix_tickets_waiting",
        "tickets",
        ["expires_at"],
        unique=False,
        sqlite_where=sa.text("state IN ('pending', 'given', 'agreed')"),
        postgresql_where=sa.text("state IN ('pending', 'given', 'agreed')"),
    )
    op.create_table(
        "trusted",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=512), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("trusted_at", sa.BigInteger(), nullable=False),
        sa.Column("trusted_by", sa.String(length=128), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "kind", "name", name=op.f("pk_trusted")),
    )
    op.create_table(
        "usage",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("session_id", sa.String(length=36), nullable=False),
        sa.Column("turn_id", sa.String(length=36), nullable=False),
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=True),
        sa.Column("output_tokens", sa.Integer(), nullable=True),
        sa.Column("cache_read_tokens", sa.Integer(), nullable=True),
        sa.Column("cache_write_tokens", sa.Integer(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("step", sa.SmallInteger(), nullable=False),
        sa.Column("discarded", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("estimated", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("cost_microusd", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_usage")),
        sa.UniqueConstraint("turn_id", "step", "discarded", name=op.f("uq_usage_turn_id_step_discarded")),
    )
    op.create_index(op.f("ix_usage_at"), "usage", ["at"], unique=False)
    op.create_index(op.f("ix_usage_user_id_at"), "usage", ["user_id", "at"], unique=False)
    op.create_table(
        "usage_days",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=True),
        sa.Column("output_tokens", sa.BigInteger(), nullable=True),
        sa.Column("cache_read_tokens", sa.BigInteger(), nullable=True),
        sa.Column("cache_write_tokens", sa.BigInteger(), nullable=True),
        sa.Column("discarded", sa.BigInteger(), nullable=False),
        sa.Column("estimated", sa.BigInteger(), nullable=False),
        sa.Column("cost_microusd", sa.BigInteger(), nullable=True),
        sa.Column("unpriced", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "day", "user_id", "model", name=op.f("pk_usage_days")),
    )
    op.create_index(op.f("ix_usage_days_day"), "usage_days", ["day"], unique=False)
    op.create_table(
        "usage_totals",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("quarter", sa.Integer(), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost_microusd", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "quarter", name=op.f("pk_usage_totals")),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=False),
        sa.Column("locale", sa.String(length=35), nullable=True),
        sa.Column("keeps_language", sa.Boolean(), nullable=False),
        sa.Column("timezone", sa.String(length=64), nullable=False),
        sa.Column("week_start", sa.SmallInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("zone_from", sa.String(length=8), server_default="nobody", nullable=False),
        sa.Column("alias_of", sa.String(length=36), nullable=True),
        sa.Column("agents", sa.Text(), nullable=True),
        sa.Column("model", sa.String(length=128), nullable=True),
        sa.Column("wants_voice", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
    )
    op.create_index(op.f("ix_users_alias_of"), "users", ["alias_of"], unique=False)
    op.create_table(
        "web_devices",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("chat", sa.String(length=128), nullable=False),
        sa.Column("device", sa.String(length=16), nullable=False),
        sa.Column("browser", sa.Text(), nullable=False),
        sa.Column("came_at", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("out_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "chat", "device", name=op.f("pk_web_devices")),
    )
    op.create_index(op.f("ix_web_devices_seen_at"), "web_devices", ["seen_at"], unique=False)
    op.create_table(
        "abstracts",
        sa.Column("session_id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_abstracts_session_id")),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_abstracts")),
    )
    op.create_index(op.f("ix_abstracts_at"), "abstracts", ["at"], unique=False)
    op.create_index(op.f("ix_abstracts_user_id_at"), "abstracts", ["user_id", "at"], unique=False)
    op.create_table(
        "consolidations",
        sa.Column("session_id", sa.String(length=36), nullable=False),
        sa.Column("from_seq", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("to_seq", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("tries", sa.SmallInteger(), nullable=False),
        sa.Column("messages", sa.Integer(), nullable=False),
        sa.Column("stated", sa.Integer(), nullable=False),
        sa.Column("remembered", sa.Integer(), nullable=False),
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("cost_microusd", sa.BigInteger(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_consolidations_session_id")),
        sa.PrimaryKeyConstraint("session_id", "from_seq", name=op.f("pk_consolidations")),
    )
    op.create_index(op.f("ix_consolidations_at"), "consolidations", ["at"], unique=False)
    op.create_index(op.f("ix_consolidations_user_id"), "consolidations", ["user_id"], unique=False)
    op.create_table(
        "credentials",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("provider", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("sealed", sa.Text(), nullable=False),
        sa.Column("connected_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_credentials_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_credentials")),
        sa.UniqueConstraint("tenant_id", "user_id", "provider", name=op.f("uq_credentials_tenant_id_user_id_provider")),
    )
    op.create_table(
        "events",
        sa.Column("session_id", sa.String(length=36), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("turn_id", sa.String(length=36), nullable=False),
        sa.Column("step", sa.SmallInteger(), nullable=False),
        sa.Column("call_key", sa.String(length=64), nullable=True),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("version", sa.SmallInteger(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_events_session_id")),
        sa.PrimaryKeyConstraint("session_id", "seq", name=op.f("pk_events")),
        sa.UniqueConstraint("call_key", "kind", name=op.f("uq_events_call_key_kind")),
    )
    op.create_index(op.f("ix_events_turn_id"), "events", ["turn_id"], unique=False)
    op.create_table(
        "grants",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("channel", sa.String(length=32), nullable=False),
        sa.Column("account", sa.String(length=64), nullable=False),
        sa.Column("granted_by", sa.String(length=128), nullable=False),
        sa.Column("granted_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_grants_user_id")),
        sa.PrimaryKeyConstraint("user_id", "channel", "account", name=op.f("pk_grants")),
    )
    op.create_table(
        "identities",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("channel", sa.String(length=32), nullable=False),
        sa.Column("scope", sa.String(length=64), nullable=False),
        sa.Column("sender", sa.String(length=128), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("linked_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_identities_user_id")),
        sa.PrimaryKeyConstraint("tenant_id", "channel", "scope", "sender", name=op.f("pk_identities")),
    )
    op.create_index(op.f("ix_identities_user_id"), "identities", ["user_id"], unique=False)
    op.create_table(
        "reply_routes",
        sa.Column(
            "inbox_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("uses_left", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["inbox_id"], ["inbox.id"], name=op.f("fk_reply_routes_inbox_id")),
        sa.PrimaryKeyConstraint("inbox_id", name=op.f("pk_reply_routes")),
    )
    op.create_table(
        "schedules",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("command", sa.String(length=32), nullable=True),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("missed", sa.String(length=16), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("session_key", sa.String(length=512), nullable=False),
        sa.Column("zone", sa.String(length=64), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("next_wall", sa.String(length=16), nullable=False),
        sa.Column("last_wall", sa.String(length=16), nullable=True),
        sa.Column("paused", sa.String(length=16), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_schedules_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedules")),
    )
    op.create_index(op.f("ix_schedules_user_id"), "schedules", ["user_id"], unique=False)
    op.create_index("ix_schedules_due", "schedules", ["paused", "next_at"], unique=False)
    op.create_table(
        "session_rules",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("session_id", sa.String(length=36), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("verdict", sa.String(length=16), nullable=False),
        sa.Column("rule", sa.String(length=512), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_session_rules_session_id")),
        sa.PrimaryKeyConstraint("session_id", "user_id", "rule", "fingerprint", name=op.f("pk_session_rules")),
    )
    op.create_table(
        "summaries",
        sa.Column("session_id", sa.String(length=36), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.String(length=36), nullable=False),
        sa.Column("step", sa.SmallInteger(), nullable=False),
        sa.Column("condensed", sa.Integer(), nullable=False),
        sa.Column("left_out", sa.Integer(), nullable=False),
        sa.Column("kept_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_summaries_session_id")),
        sa.PrimaryKeyConstraint("session_id", "user_id", name=op.f("pk_summaries")),
    )
    op.create_index(op.f("ix_summaries_kept_at"), "summaries", ["kept_at"], unique=False)
    op.create_table(
        "turns",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("session_id", sa.String(length=36), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("reply_to", sa.String(length=128), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("end_reason", sa.String(length=32), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("parked_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_turns_session_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_turns")),
    )
    op.create_index(
        "ix_turns_ended",
        "turns",
        ["ended_at"],
        unique=False,
        sqlite_where=sa.text("ended_at IS NOT NULL"),
        postgresql_where=sa.text("ended_at IS NOT NULL"),
    )
    op.create_index(
        "ix_turns_open",
        "turns",
        ["end_reason", "session_id", "id"],
        unique=False,
        sqlite_where=sa.text("end_reason IS NULL"),
        postgresql_where=sa.text("end_reason IS NULL"),
    )
    op.create_index(op.f("ix_turns_session_id"), "turns", ["session_id"], unique=False)
    op.create_index(op.f("ix_turns_user_id"), "turns", ["user_id"], unique=False)
    op.create_table(
        "passages",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("memory_id", sa.String(length=36), nullable=True),
        sa.Column("turn_id", sa.String(length=36), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("mark", sa.String(length=32), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["memory_id"], ["memories.id"], name=op.f("fk_passages_memory_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name=op.f("fk_passages_turn_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_passages")),
        sa.UniqueConstraint("memory_id", name=op.f("uq_passages_memory_id")),
        sa.UniqueConstraint("turn_id", name=op.f("uq_passages_turn_id")),
    )
    op.create_index(op.f("ix_passages_user_id"), "passages", ["user_id"], unique=False)
    op.execute(
        "INSERT INTO shards (shard, epoch) WITH RECURSIVE n (s) AS (SELECT 0 UNION ALL SELECT s + 1 FROM n WHERE s < 255) SELECT s, 0 FROM n"
    )
