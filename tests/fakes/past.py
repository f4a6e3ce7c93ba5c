"""Past turns of people's direct chats, as rows."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import sqlalchemy as sa

from agent.transcript import JOURNAL_EVENT, EndReason, JournalEvent, TurnEnded, TurnStarted, UserItem
from gateway.store.tables.base import new_id
from gateway.store.tables.turns import events, sessions, turns

Said = tuple[str, str]
"""A message of a person, and the answer."""


def direct_key(peer: str, agent: str = "coach") -> str:
    return f"agent:{agent}:telegram:main:direct:{peer}"


def add_past(
    connection: sa.Connection,
    key: str,
    user_id: str,
    said: Iterable[Said | TurnStarted],
    at: datetime,
    *,
    tenant: str = "default",
    apart: timedelta = timedelta(minutes=1),
    title: str | None = None,
) -> list[str]:
    """Add a session with a turn for each pair of message and answer; return the ids of the turns."""
    session = {"id": new_id(), "tenant_id": tenant, "key": key, "generation": 1, "mode": "steer", "created_at": at}
    known = sa.select(sa.func.count()).where(sessions.c.key == key, sessions.c.tenant_id == tenant)
    session["generation"] = 1 + int(connection.execute(known.select_from(sessions)).scalar_one())
    connection.execute(sessions.insert(), session | {"title": title})
    new_turns, new_events = [], []
    for number, each in enumerate(said):
        message, answer = each if isinstance(each, tuple) else ("", "Well.")
        started = TurnStarted((UserItem(message),)) if isinstance(each, tuple) else each
        turn_id, ended_at = new_id(), at + number * apart
        row = {"id": turn_id, "tenant_id": tenant, "session_id": session["id"], "user_id": user_id, "kind": "chat"}
        row |= {"address": "telegram\x1fmain\x1f1\x1f", "started_at": ended_at, "end_reason": "completed"}
        new_turns.append(row | {"ended_at": ended_at})
        journal: tuple[JournalEvent, ...] = (started, TurnEnded(EndReason.COMPLETED, answer))
        for step, event in enumerate(journal):
            place = {"session_id": session["id"], "seq": 2 * number + step, "tenant_id": tenant, "turn_id": turn_id}
            told = {"kind": event.kind, "payload": JOURNAL_EVENT.dump_json(event).decode(), "at": ended_at}
            new_events.append(place | told | {"step": step, "version": 1})
    connection.execute(turns.insert(), new_turns)
    connection.execute(events.insert(), new_events)
    return [str(row["id"]) for row in new_turns]
