"""A database with much history: settled inbox rows, sent parts, ended turns and their journal, by SQL."""

import sqlalchemy as sa

NUMBERS = "WITH RECURSIVE n(i) AS (SELECT CAST(:begin AS INTEGER) + 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)"

SESSION = (
    "INSERT INTO sessions (id, tenant_id, key, generation, mode, created_at) "
    "VALUES ('s', 'default', 'agent:coach:telegram:main:direct:1', 1, 'steer', 1)"
)
INBOX = (
    "INSERT INTO inbox (tenant_id, channel, account, event_id, kind, chat, message_id, sender, user_id, session_key, "
    "payload, received_at, admitted_at, turn_id, attempts, outcome, done_at) {numbers} "
    "SELECT 'default', 'telegram', 'main', 'old:' || i, 'message', '1', 'm' || i, 'telegram:1', 'u1', "
    "'agent:coach:telegram:main:direct:1', '{{}}', i, i, CASE WHEN i % 2 = 0 THEN 't' || i END, 1, "
    "CASE WHEN i % 2 = 0 THEN 'answered' ELSE 'cleared' END, i FROM n"
)
OUTBOX = (
    "INSERT INTO outbox (tenant_id, kind, cause, part, op, action, lane, channel, account, chat, rendered, plain, "
    "idem_key, state, attempts, platform_id, marked, created_at, done_at) {numbers} "
    "SELECT 'default', 'answer', 't' || i, 0, 0, 'send', 'telegram:main:1', 'telegram', 'main', '1', 'x', 'x', 'k', "
    "'sent', 1, '7', false, i, i FROM n"
)
TURNS = (
    "INSERT INTO turns (id, tenant_id, session_id, user_id, kind, address, started_at, "
    "end_reason, ended_at) {numbers} "
    "SELECT 't' || i, 'default', 's', 'u1', 'chat', '', i, 'completed', i FROM n"
)
EVENTS = (
    "INSERT INTO events (session_id, seq, tenant_id, turn_id, step, kind, version, payload, at) {numbers} "
    "SELECT 's', i, 'default', 't' || i, 0, 'turn_ended', 1, '{{}}', i FROM n"
)


USERS = (
    "INSERT INTO users (id, tenant_id, role, display_name, timezone, keeps_language, week_start, created_at) {numbers} "
    "SELECT 'p' || i, 'default', 'member', 'Person ' || i, 'UTC', false, 0, 1 FROM n"
)
IDENTITIES = (
    "INSERT INTO identities (tenant_id, channel, scope, sender, user_id, linked_at) {numbers} "
    "SELECT 'default', 'telegram', '', 'telegram:' || (5000000 + i), 'p' || i, 1 FROM n"
)
SESSIONS = (
    "INSERT INTO sessions (id, tenant_id, key, generation, mode, created_at) {numbers} "
    "SELECT 's' || i, 'default', 'agent:coach:telegram:main:direct:' || (5000000 + i), 1, 'steer', 1 FROM n"
)


def fill(connection: sa.Connection, count: int, begin: int = 0) -> None:
    """Add so many settled rows to each of the four tables from `begin` on; half of the inbox rows had no turn."""
    statements = (SESSION, INBOX, OUTBOX, TURNS, EVENTS) if not begin else (INBOX, OUTBOX, TURNS, EVENTS)
    for statement in statements:
        connection.execute(sa.text(statement.format(numbers=NUMBERS)), _numbers(statement, begin, count))


def know(connection: sa.Connection, count: int) -> None:
    """Add so many people, each with a conversation."""
    for statement in (USERS, IDENTITIES, SESSIONS):
        connection.execute(sa.text(statement.format(numbers=NUMBERS)), _numbers(statement, 0, count))


def _numbers(statement: str, begin: int, count: int) -> dict[str, int]:
    return {"begin": begin, "count": count} if "{numbers}" in statement else {}
