"""Several processes over one PostgreSQL: leases, members, the shard of what waits, and word of who changed."""

import zlib

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0043"
branch_labels = None
depends_on = None

TELL = """CREATE FUNCTION tenk_tell() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE changed jsonb := to_jsonb(CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END);
BEGIN
  PERFORM pg_notify('tenk', TG_TABLE_NAME || ' ' || (changed ->> TG_ARGV[0]));
  RETURN NULL;
END $$"""
TOLD = {
    "users": "id", "identities": "user_id", "grants": "user_id", "groups": "id",
    "moved_chats": "new_chat", "forgotten_senders": "mark",
}  # fmt: skip


def upgrade() -> None:
    """Two tables, one column; on PostgreSQL whoever owned shards until now lets go: leases have an end from here on."""
    op.create_table(
        "leases",
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("owner", sa.String(length=64), nullable=True),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
    op.create_table(
        "members",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("host", sa.String(length=128), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("version", sa.String(length=32), nullable=False),
        sa.Column("key_mark", sa.String(length=64), nullable=False),
        sa.Column("joined_at", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("fenced", sa.BigInteger(), nullable=False),
        sa.Column("leaving", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_members")),
    )
    op.add_column("inbox", sa.Column("shard", sa.SmallInteger(), nullable=True))
    connection = op.get_bind()
    waiting = sa.text("SELECT DISTINCT session_key FROM inbox WHERE outcome IS NULL AND session_key IS NOT NULL")
    for key in connection.execute(waiting).scalars().all():
        own = sa.text("UPDATE inbox SET shard = :shard WHERE session_key = :key AND outcome IS NULL")
        connection.execute(own, {"shard": zlib.crc32(key.encode()) % 256, "key": key})
    if connection.dialect.name == "postgresql":
        op.execute("UPDATE shards SET until = 0 WHERE owner IS NOT NULL")
        op.execute(TELL)
        for table, column in TOLD.items():
            op.execute(
                f"CREATE TRIGGER {table}_tell AFTER INSERT OR UPDATE OR DELETE ON {table} "
                f"FOR EACH ROW EXECUTE FUNCTION tenk_tell('{column}')"
            )
