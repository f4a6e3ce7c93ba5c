"""Schedules of people: reminders, and prompts that an agent answers by itself."""

import sqlalchemy as sa

from gateway.store.tables.base import Id, Instant, metadata, tenant_column
from gateway.store.tables.people import users

schedules = sa.Table(
    "schedules",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_column(),
    sa.Column("user_id", Id, sa.ForeignKey(users.c.id), nullable=False, index=True),
    sa.Column("agent", sa.String(64), nullable=False),
    sa.Column("name", sa.String(128), nullable=False),  # "" of a reminder about practice
    sa.Column("prompt", sa.Text, nullable=False),  # "" if a command answers it
    sa.Column("command", sa.String(32)),  # that answers it; None: a turn does
    sa.Column("rule", sa.Text, nullable=False),  # JSON, see agent.schedules.rules
    sa.Column("missed", sa.String(16), nullable=False),  # see agent.schedules.missed.Missed
    sa.Column("address", sa.Text, nullable=False),  # JSON: the direct chat in which it was asked for
    sa.Column("session_key", sa.String(512), nullable=False),
    sa.Column("zone", sa.String(64), nullable=False),  # IANA name that `next_at` was found in
    sa.Column("next_at", Instant, nullable=False),
    sa.Column("next_wall", sa.String(16), nullable=False),  # `next_at` in the zone, to the minute
    sa.Column("last_wall", sa.String(16)),  # of the last slot that was due; None: there was none
    sa.Column("paused", sa.String(16), nullable=False),  # see gateway.store.schedules.Pause
    sa.Column("failures", sa.Integer, nullable=False),  # in a row
    sa.Column("created_at", Instant, nullable=False),
    sa.Index("ix_schedules_due", "paused", "next_at"),
)
