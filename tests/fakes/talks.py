"""Rows of answered talk: Ana with the bot alone, Ana and Ben in a group, Ben alone."""

from datetime import datetime

import sqlalchemy as sa

from gateway.store import erasure
from gateway.store.erasure import Extent, Progress
from gateway.store.outbox import file_id
from gateway.store.people import person_of
from gateway.store.tables.people import identities, users
from gateway.store.tables.traffic import chats, inbox, outbox
from gateway.store.tables.turns import blobs, events, sessions, turns
from tests.fakes.spine import NOON

ANA, BEN = "019a0000-0000-7000-8000-00000000000a", "019a0000-0000-7000-8000-00000000000b"
PICTURE = "019a0000-0000-7000-8000-0000000000ff"
DIRECT, GROUP = "agent:coach:telegram:main:direct:42", "agent:coach:telegram:main:group:-7"


def fill(connection: sa.Connection) -> None:
    """Write them."""
    for user, sender in ((ANA, "42"), (BEN, "43")):
        person = {"role": "member", "display_name": sender, "timezone": "UTC", "week_start": 0, "created_at": NOON}
        connection.execute(users.insert(), {"id": user, "tenant_id": "default", **person})
        who = {"channel": "telegram", "scope": "", "sender": sender, "user_id": user, "linked_at": NOON}
        connection.execute(identities.insert(), {"tenant_id": "default", **who})
    for at, (user, key, chat) in enumerate(
        ((ANA, DIRECT, "42"), (ANA, GROUP, "-7"), (BEN, GROUP, "-7"), (BEN, "b", "43"))
    ):
        add_turn(connection, at, user, key, chat)


def add_turn(connection: sa.Connection, at: int, user: str, key: str, chat: str) -> None:
    """Add one message with its answer."""
    place = {"tenant_id": "default", "channel": "telegram", "account": "main", "chat": chat}
    id_ = key[-36:]
    known = connection.execute(sa.select(sessions.c.id).where(sessions.c.key == key)).scalar()
    if known is None:
        session = {"id": id_, "tenant_id": "default", "key": key, "generation": 1, "mode": "steer", "created_at": NOON}
        connection.execute(sessions.insert(), session)
        direct = {"thread": "", "direct": key is not GROUP, "user_id": user, "heard_at": NOON}
        if connection.execute(sa.select(chats.c.chat).where(chats.c.chat == chat)).first() is None:
            connection.execute(chats.insert(), place | direct)
    turn = f"turn{at}"
    began = {
        "user_id": user,
        "kind": "chat",
        "address": f"telegram\x1fmain\x1f{chat}\x1f",
        "started_at": NOON,
        "end_reason": "completed",
    }
    connection.execute(turns.insert(), {"id": turn, "tenant_id": "default", "session_id": id_, **began})
    payload = f'{{"text":"words of {user[-1]}","picture":"{PICTURE}"}}' if user == ANA else '{"text":"words of b"}'
    event = {"session_id": id_, "seq": at, "turn_id": turn, "step": 0, "kind": "x", "payload": payload, "at": NOON}
    connection.execute(events.insert(), {"tenant_id": "default", "call_key": f"{turn}/0/0", "version": 1, **event})
    came = {"event_id": f"update:{at}", "kind": "message", "sender": f"telegram:{'42' if user == ANA else '43'}"}
    came |= {"user_id": user, "session_key": key, "payload": payload, "received_at": NOON, "admitted_at": NOON}
    connection.execute(inbox.insert(), place | came | {"attempts": 0, "outcome": "answered", "id": at + 1})
    said = {"cause": turn, "part": 0, "op": 0, "action": "send", "lane": f"telegram:main:{chat}", "rendered": "r"}
    said |= {
        "kind": "answer",
        "plain": "p",
        "idem_key": turn,
        "state": "sent",
        "attempts": 1,
        "marked": False,
        "created_at": NOON,
    }
    connection.execute(outbox.insert(), place | said)
    for id_ in {file_id(f"{turn}/0/0"), PICTURE} if user == ANA else {file_id(f"{turn}/0/0")}:
        kept = connection.execute(sa.select(blobs.c.id).where(blobs.c.id == id_)).scalar()
        if kept is None:
            row = {"id": id_, "tenant_id": "default", "content": b"x", "created_at": NOON}
            connection.execute(blobs.insert(), row)


def mark(tenant: str, sender: str) -> str:
    return f"{tenant}/{sender}"


def carried_out(
    connection: sa.Connection, extent: Extent, inbox_id: int = 2, said_at: datetime = NOON
) -> list[Progress]:
    """Ask for Ana, and do it."""
    ana = person_of(connection, ANA)
    assert ana is not None
    erasure.ask(connection, ana, extent, inbox_id, said_at, NOON, mark)
    (wanted,) = erasure.pending(connection)
    done = [erasure.erase(connection, wanted, NOON)]
    while done[-1] is Progress.MORE:
        done.append(erasure.erase(connection, wanted, NOON))
    return done
