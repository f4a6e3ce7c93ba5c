"""A database that has seen much: settled inbox rows, parts that were sent, ended turns and their journal, by SQL."""

import sqlalchemy as sa

NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)"

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
    "INSERT INTO outbox (tenant_id, cause, part, op, action, lane, channel, account, chat, rendered, plain, idem_key, "
    "state, attempts, platform_id, marked, created_at, done_at) {numbers} "
    "SELECT 'default', 't' || i, 0, 0, 'send', 'telegram:main:1', 'telegram', 'main', '1', 'x', 'x', 'k', "
    "'sent', 1, '7', false, i, i FROM n"
)
TURNS = (
    "INSERT INTO turns (id, tenant_id, session_id, user_id, kind, address, started_at, attempts, "
    "end_reason, ended_at) {numbers} "
    "SELECT 't' || i, 'default', 's', 'u1', 'chat', '', i, 1, 'completed', i FROM n"
)
EVENTS = (
    "INSERT INTO events (session_id, seq, tenant_id, turn_id, step, kind, version, payload, at) {numbers} "
    "SELECT 's', i, 'default', 't' || i, 0, 'turn_ended', 1, '{{}}', i FROM n"
)


def fill(connection: sa.Connection, count: int) -> None:
    """So many settled rows in each of the four tables; half of the inbox's were never claimed by a turn."""
    connection.execute(sa.text(SESSION))
    for statement in (INBOX, OUTBOX, TURNS, EVENTS):
        connection.execute(sa.text(statement.format(numbers=NUMBERS)), {"count": count})
