"""Tenants in keys: what is unique by the platform's own names is so within a tenant."""

from alembic import op

revision = "0033"
down_revision = "0039"
branch_labels = None
depends_on = None

PRIMARY = {
    "channel_accounts": ["channel", "account"],
    "chats": ["channel", "account", "chat", "thread"],
    "parked_lanes": ["lane"],
    "moved_chats": ["channel", "account", "old_chat"],
}


def upgrade() -> None:
    """The tenant stands last in each: whoever asks for a channel's rows finds them as before."""
    for table, columns in PRIMARY.items():
        with op.batch_alter_table(table) as batch:
            batch.drop_constraint(op.f(f"pk_{table}"), type_="primary")
            batch.create_primary_key(op.f(f"pk_{table}"), [*columns, "tenant_id"])
    with op.batch_alter_table("inbox") as batch:
        batch.drop_constraint(op.f("uq_inbox_channel_account_event_id"), type_="unique")
        batch.create_unique_constraint(
            op.f("uq_inbox_channel_account_event_id_tenant_id"), ["channel", "account", "event_id", "tenant_id"]
        )
