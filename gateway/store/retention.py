"""Takes away what is settled and old, a small batch a job, and gives the room back to the file system.

Plain functions over a connection: each takes at most one batch and returns how many rows went, so that nothing else
waits long for the writer. What is open, and whatever an open row needs, stays however old it is. How old is old enough
is decided in `gateway.ops.housekeeper`. Of what was never meant for the bot hardly anything is kept to begin with.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from agent.delegation.board import OVER
from gateway.store.outbox import CAME, IS_OPEN
from gateway.store.tables.boards import tasks
from gateway.store.tables.consolidation import abstracts, consolidations
from gateway.store.tables.delegation import children
from gateway.store.tables.people import audit, forgotten_senders
from gateway.store.tables.traffic import inbox, outbox, reply_routes
from gateway.store.tables.turns import approvals, blobs, budget_use, events, session_rules, summaries, turns, usage
from gateway.store.usage import forget_days

NOTHING = ""
"""The payload of a row of which nothing is kept."""

LAST = {"context": 30, "quarantined": 100}
"""Rows whose payload is kept, by outcome: of a chat's talk, and of what an account could not read."""

_IS_READ_ALONG = sa.and_(
    inbox.c.outcome.in_([sa.literal_column(f"'{outcome}'") for outcome in LAST]),
    inbox.c.payload != sa.literal_column("''"),
)
"""Written out, because an index with a condition serves no query that binds it."""

_place = sa.select(inbox.c.channel, inbox.c.account, inbox.c.chat, inbox.c.outcome).where(
    inbox.c.id == sa.bindparam("b_id")
)


def forget_older(connection: sa.Connection, id_: int) -> None:
    """Blank what was read along in the chat of this row so long ago that it is not among the last."""
    place = connection.execute(_place, {"b_id": id_}).first()
    if place is None or place.outcome not in LAST:
        return
    older = (
        sa.select(inbox.c.id)
        .where(
            inbox.c.channel == place.channel,
            inbox.c.account == place.account,
            inbox.c.chat == place.chat,
            inbox.c.outcome == place.outcome,
            _IS_READ_ALONG,
        )
        .order_by(inbox.c.id.desc())
        .offset(LAST[place.outcome])
    )
    connection.execute(sa.update(inbox).where(inbox.c.id.in_(older)).values(payload=NOTHING))


BATCH = 200
TURNS_BATCH = 20
"""Turns a batch: each has up to hundreds of events."""

PAGES_BATCH = 256
"""Pages of an SQLite file given back at once; they are copied through its log."""

PAGES_KEPT = 256
"""Free pages an SQLite file keeps: what comes in next goes there."""


def take_inbox(connection: sa.Connection, outcome: str, before: datetime) -> int:
    """Rows that ended so, before then. With them goes the key by which a redelivery would be recognised."""
    settled = sa.and_(inbox.c.outcome == outcome, inbox.c.done_at < before)
    ids = _oldest(connection, inbox, settled, inbox.c.done_at)
    connection.execute(sa.delete(reply_routes).where(reply_routes.c.inbox_id.in_(ids)))
    connection.execute(sa.delete(inbox).where(inbox.c.id.in_(ids)))
    return len(ids)


def take_outbox(connection: sa.Connection, before: datetime) -> int:
    """Parts that were sent, or given up, before then."""
    ids = _oldest(connection, outbox, outbox.c.done_at < before, outbox.c.done_at)
    connection.execute(sa.delete(outbox).where(outbox.c.id.in_(ids)))
    return len(ids)


def take_turns(connection: sa.Connection, before: datetime) -> int:
    """Delete turns that ended before then, with their journal and pictures."""
    query = sa.select(turns.c.id).where(turns.c.ended_at < before).order_by(turns.c.ended_at).limit(TURNS_BATCH)
    ids = list(connection.execute(query).scalars())
    connection.execute(sa.delete(summaries).where(summaries.c.kept_at < before))
    denied = session_rules.c.fingerprint != "", session_rules.c.since < before  # tells arguments of a call
    connection.execute(sa.delete(session_rules).where(*denied))
    connection.execute(sa.delete(events).where(events.c.turn_id.in_(ids)))
    connection.execute(sa.delete(approvals).where(approvals.c.turn_id.in_(ids)))
    connection.execute(sa.delete(blobs).where(blobs.c.turn_id.in_(ids)))
    connection.execute(sa.delete(children).where(children.c.parent_turn_id.in_(ids)))
    connection.execute(sa.delete(turns).where(turns.c.id.in_(ids)))
    return len(ids)


def take_abstracts(connection: sa.Connection, before: datetime) -> int:
    """Delete abstracts from before then, and what says of journals that are gone that they were consolidated."""
    old = sa.select(abstracts.c.session_id).where(abstracts.c.at < before).order_by(abstracts.c.at).limit(BATCH)
    ids = list(connection.execute(old).scalars())
    connection.execute(sa.delete(abstracts).where(abstracts.c.session_id.in_(ids)))
    there = sa.exists().where(events.c.session_id == consolidations.c.session_id)
    connection.execute(sa.delete(consolidations).where(consolidations.c.at < before, ~there))
    return len(ids)


def take_usage(connection: sa.Connection, before: datetime) -> int:
    """Delete usage from before then; the sums of a day that was over by then go whole."""
    forget_days(connection, before)
    ids = _oldest(connection, usage, usage.c.at < before, usage.c.at)
    connection.execute(sa.delete(usage).where(usage.c.id.in_(ids)))
    return len(ids)


def take_tasks(connection: sa.Connection, before: datetime) -> int:
    """Delete tasks of boards that were finished before then."""
    is_over = tasks.c.state.in_([state.value for state in OVER])
    old = sa.select(tasks.c.id).where(is_over, tasks.c.changed_at < before).order_by(tasks.c.changed_at).limit(BATCH)
    ids = list(connection.execute(old).scalars())
    connection.execute(sa.delete(tasks).where(tasks.c.id.in_(ids)))
    return len(ids)


def take_budgets(connection: sa.Connection, before: datetime) -> int:
    """Delete the use of caps whose last use is from before then."""
    use = budget_use.c
    old = sa.select(use.tenant_id, use.scope, use.key, use.day).where(use.at < before).order_by(use.at).limit(BATCH)
    rows = [tuple(row) for row in connection.execute(old)]
    connection.execute(sa.delete(budget_use).where(sa.tuple_(use.tenant_id, use.scope, use.key, use.day).in_(rows)))
    return len(rows)


def take_audit(connection: sa.Connection, before: datetime) -> int:
    """Delete changes of access from before then."""
    ids = _oldest(connection, audit, audit.c.at < before, audit.c.at)
    connection.execute(sa.delete(audit).where(audit.c.id.in_(ids)))
    return len(ids)


def take_blobs(connection: sa.Connection, before: datetime) -> int:
    """Files from before then that no open part carries and that came with no turn."""
    carried = sa.select(outbox.c.id).where(IS_OPEN, outbox.c.media.contains(blobs.c.id))
    of_nobody = blobs.c.turn_id.is_(None), blobs.c.created_at < before, ~carried.exists()
    query = sa.select(blobs.c.id).where(*of_nobody).order_by(blobs.c.created_at)
    ids = list(connection.execute(query.limit(BATCH)).scalars())
    connection.execute(sa.delete(blobs).where(blobs.c.id.in_(ids)))
    return len(ids)


def take_pictures(connection: sa.Connection, before: datetime) -> int:
    """Pictures that came with a turn from before then; in a conversation words stand for them."""
    query = sa.select(blobs.c.id).where(blobs.c.turn_id.is_not(None), blobs.c.created_at < before)
    ids = list(connection.execute(query.order_by(blobs.c.created_at).limit(BATCH)).scalars())
    connection.execute(sa.delete(blobs).where(blobs.c.id.in_(ids)))
    return len(ids)


def take_unclaimed(connection: sa.Connection, before: datetime) -> int:
    """Delete pictures from before then that no turn took: their message was deleted, or the process died."""
    unclaimed = blobs.c.turn_id.startswith(CAME), blobs.c.created_at < before
    ids = list(connection.execute(sa.select(blobs.c.id).where(*unclaimed).limit(BATCH)).scalars())
    connection.execute(sa.delete(blobs).where(blobs.c.id.in_(ids)))
    return len(ids)


def take_forgotten(connection: sa.Connection, before: datetime) -> int:
    """Delete the marks of people who were forgotten before then."""
    return connection.execute(sa.delete(forgotten_senders).where(forgotten_senders.c.at < before)).rowcount


def give_back(connection: sa.Connection) -> int:
    """Make an SQLite file shorter by some of its free pages; how many. PostgreSQL does so by itself, an old file never.

    A file made before there was retention has to be rewritten once: `tenk db vacuum`.
    """
    if connection.dialect.name != "sqlite":
        return 0
    cursor = connection.connection.cursor()
    try:
        (mode,) = cursor.execute("PRAGMA auto_vacuum").fetchone()
        (free,) = cursor.execute("PRAGMA freelist_count").fetchone()
        pages = min(PAGES_BATCH, free - PAGES_KEPT)
        if mode != INCREMENTAL or pages <= 0:
            return 0
        cursor.execute(f"PRAGMA incremental_vacuum({pages})")
        cursor.fetchall()  # each step gives one page back
        (left,) = cursor.execute("PRAGMA freelist_count").fetchone()
        return int(free - left)
    finally:
        cursor.close()


INCREMENTAL = 2
"""`PRAGMA auto_vacuum` of a file that gives pages back when it is asked to (sqlite.org/pragma.html)."""


def _oldest(connection: sa.Connection, table: sa.Table, old: Any, age: sa.Column[Any]) -> list[int]:
    """Select a batch of old rows, never the newest row: SQLite would reuse its number."""
    newest = sa.select(sa.func.max(table.c.id)).scalar_subquery()
    query = sa.select(table.c.id).where(old, table.c.id < newest).order_by(age).limit(BATCH)
    return list(connection.execute(query).scalars())
