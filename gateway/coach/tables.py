"""Tables for what people practise: skills, sessions in whole minutes on a local date, and one plan a week."""

from functools import partial

import sqlalchemy as sa

from gateway.store.agent_tables import AgentTables, add_column, agent_metadata
from gateway.store.tables.base import Id, Instant, tenant_column
from gateway.store.tables.people import users

metadata = agent_metadata()

skills = sa.Table(
    "skills",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_column(),
    sa.Column("user_id", Id, sa.ForeignKey(users.c.id), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("name_key", sa.String(256), nullable=False),  # case-folded: what a person's skills are unique by
    sa.Column("emoji", sa.String(32), nullable=False),
    sa.Column("colour", sa.String(16), nullable=False),
    sa.Column("goal_minutes", sa.Integer, nullable=False),  # 600,000 = 10,000 h
    sa.Column("archived", sa.Boolean, nullable=False, default=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("weekly_minutes", sa.Integer),  # the goal for a week; None: none was set
    sa.UniqueConstraint("tenant_id", "user_id", "name_key"),
)

practice_sessions = sa.Table(
    "practice_sessions",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_column(),
    sa.Column("user_id", Id, sa.ForeignKey(users.c.id), nullable=False),
    sa.Column("skill_id", Id, sa.ForeignKey("skills.id"), nullable=False),
    sa.Column("minutes", sa.Integer, nullable=False),
    sa.Column("local_date", sa.Date, nullable=False),
    sa.Column("zone", sa.String(64), nullable=False),  # IANA name the date was meant in
    sa.Column("notes", sa.Text, nullable=False),
    sa.Column("effect_key", sa.String(64), nullable=False, unique=True),  # the call or inbox row that logged it
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("undone_at", Instant),  # when it was deleted; /undo restores it
    sa.Index(None, "tenant_id", "user_id", "local_date"),
    sa.CheckConstraint("minutes > 0 AND minutes <= 1440", name="a_day_at_most"),
)

weekly_plans = sa.Table(
    "weekly_plans",
    metadata,
    tenant_column(),
    sa.Column("user_id", Id, sa.ForeignKey(users.c.id), nullable=False),
    sa.Column("week", sa.Date, nullable=False),  # the first day of the person's own week
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("insights", sa.Text, nullable=False),  # JSON list of {type, title, description, skill_id?}
    sa.Column("skill_ids", sa.Text, nullable=False),  # JSON list of the skills analysed
    sa.Column("saved_at", Instant, nullable=False),
    sa.Column("sessions", sa.Text, nullable=False, server_default="[]"),  # JSON list of {day, skill, minutes}
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "week"),
)

practice_effects = sa.Table(
    "practice_effects",
    metadata,
    tenant_column(),
    sa.Column("user_id", Id, sa.ForeignKey(users.c.id), nullable=False),
    sa.Column("key", sa.String(64), nullable=False),  # the call or inbox row that caused the change
    sa.Column("result", sa.Text, nullable=False),  # JSON: what it gave back, and gives back again
    sa.Column("applied_at", Instant, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "key"),
)

practice_settings = sa.Table(
    "practice_settings",
    metadata,
    tenant_column(),
    sa.Column("user_id", Id, sa.ForeignKey(users.c.id), nullable=False),
    sa.Column("weekly_goal_minutes", sa.Integer),  # over all skills; None: none was set
    sa.Column("plan_conditions", sa.Text),  # JSON, see agent.coach.plan_conditions; None: none were set
    sa.Column("weekly_plan", sa.Boolean),  # open each week with a plan; None: not asked yet
    sa.Column("gap_words", sa.Boolean),  # say a sentence after a gap; None: yes
    sa.PrimaryKeyConstraint("tenant_id", "user_id"),
)

practice_check_ins = sa.Table(
    "practice_check_ins",
    metadata,
    tenant_column(),
    sa.Column("user_id", Id, sa.ForeignKey(users.c.id), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),  # see gateway.coach.check_ins.CheckIn
    sa.Column("address", sa.Text, nullable=False),  # JSON: the direct chat it is said in
    sa.Column("session_key", sa.String(512), nullable=False),
    sa.Column("due_at", Instant, nullable=False, index=True),
    sa.Column("day", sa.Date, nullable=False),  # of a gap: the last practice day; of a plan: the day it is due
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "kind"),
)

practice_timers = sa.Table(
    "practice_timers",
    metadata,
    tenant_column(),
    sa.Column("user_id", Id, sa.ForeignKey(users.c.id), nullable=False),
    sa.Column("skill", sa.Text, nullable=False),  # its name
    sa.Column("started_at", Instant, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "user_id"),
)

PRACTICE_TABLES = AgentTables(
    metadata,
    (
        partial(add_column, column=weekly_plans.c.sessions),
        partial(add_column, column=skills.c.weekly_minutes),
        partial(add_column, column=practice_settings.c.plan_conditions),
        partial(add_column, column=practice_settings.c.weekly_plan),
        partial(add_column, column=practice_settings.c.gap_words),
    ),
)
"""The tables, and a step for each column that tables of an earlier version lack."""
