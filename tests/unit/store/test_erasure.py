"""An erasure takes what is one person's, in groups what tells of them too, and leaves everybody else theirs."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
import sqlalchemy as sa

from gateway.store import erasure
from gateway.store.erasure import Extent, Progress
from gateway.store.outbox import file_id
from gateway.store.people import AuditRow, record
from gateway.store.tables.base import metadata
from gateway.store.tables.people import audit, credentials, erasures, identities, pairing_requests, users
from gateway.store.tables.traffic import chats, inbox, outbox
from gateway.store.tables.turns import blobs, events, sessions, turns
from tests.fakes.people import database
from tests.fakes.spine import NOON

ANA, BEN = "019a0000-0000-7000-8000-00000000000a", "019a0000-0000-7000-8000-00000000000b"
PICTURE = "019a0000-0000-7000-8000-0000000000ff"
DIRECT, GROUP = "agent:coach:telegram:main:direct:42", "agent:coach:telegram:main:group:-7"


@pytest.fixture
def connection() -> Iterator[sa.Connection]:
    """Ana talks to the bot alone, Ana and Ben in a group, Ben alone."""
    with database(metadata.create_all) as connection:
        _fill(connection)
        yield connection


def _fill(connection: sa.Connection) -> None:
    for user, sender in ((ANA, "42"), (BEN, "43")):
        person = {"role": "member", "display_name": sender, "timezone": "UTC", "week_start": 0, "created_at": NOON}
        connection.execute(users.insert(), {"id": user, "tenant_id": "default", **person})
        who = {"channel": "telegram", "scope": "", "sender": sender, "user_id": user, "linked_at": NOON}
        connection.execute(identities.insert(), {"tenant_id": "default", **who})
    for at, (user, key, chat) in enumerate(
        ((ANA, DIRECT, "42"), (ANA, GROUP, "-7"), (BEN, GROUP, "-7"), (BEN, "b", "43"))
    ):
        _add_turn(connection, at, user, key, chat)


def _add_turn(connection: sa.Connection, at: int, user: str, key: str, chat: str) -> None:
    """One message with its answer."""
    place = {"tenant_id": "default", "channel": "telegram", "account": "main", "chat": chat}
    known = connection.execute(sa.select(sessions.c.id).where(sessions.c.key == key)).scalar()
    if known is None:
        session = {"id": key, "tenant_id": "default", "key": key, "generation": 1, "mode": "steer", "created_at": NOON}
        connection.execute(sessions.insert(), session)
        direct = {"thread": "", "direct": key is not GROUP, "user_id": user, "heard_at": NOON}
        if connection.execute(sa.select(chats.c.chat).where(chats.c.chat == chat)).first() is None:
            connection.execute(chats.insert(), place | direct)
    turn = f"turn{at}"
    began = {
        "user_id": user,
        "kind": "chat",
        "address": "{}",
        "started_at": NOON,
        "attempts": 1,
        "end_reason": "completed",
    }
    connection.execute(turns.insert(), {"id": turn, "tenant_id": "default", "session_id": key, **began})
    payload = f'{{"text":"words of {user[-1]}","picture":"{PICTURE}"}}' if user == ANA else '{"text":"words of b"}'
    event = {"session_id": key, "seq": at, "turn_id": turn, "step": 0, "kind": "x", "payload": payload, "at": NOON}
    connection.execute(events.insert(), {"tenant_id": "default", "call_key": f"{turn}/0/0", "version": 1, **event})
    came = {"event_id": f"update:{at}", "kind": "message", "sender": f"telegram:{'42' if user == ANA else '43'}"}
    came |= {"user_id": user, "session_key": key, "payload": payload, "received_at": NOON, "admitted_at": NOON}
    connection.execute(inbox.insert(), place | came | {"attempts": 0, "outcome": "answered", "id": at + 1})
    said = {"cause": turn, "part": 0, "op": 0, "action": "send", "lane": f"telegram:main:{chat}", "rendered": "r"}
    said |= {"plain": "p", "idem_key": turn, "state": "sent", "attempts": 1, "marked": False, "created_at": NOON}
    connection.execute(outbox.insert(), place | said)
    for id_ in {file_id(f"{turn}/0/0"), PICTURE} if user == ANA else {file_id(f"{turn}/0/0")}:
        kept = connection.execute(sa.select(blobs.c.id).where(blobs.c.id == id_)).scalar()
        if kept is None:
            row = {"id": id_, "tenant_id": "default", "content": b"x", "created_at": NOON}
            connection.execute(blobs.insert(), row)


def test_who_was_let_in_is_in_no_record_by_name(connection: sa.Connection):
    """Nor in the request by which they were; that somebody was, and when, stays."""
    asked = {"id": "r1", "channel": "telegram", "account": "main", "sender": "telegram:42", "display_name": "Ana"}
    asked |= {"tenant_id": "default", "chat": "42", "state": "approved", "created_at": NOON, "expires_at": NOON}
    connection.execute(pairing_requests.insert(), asked)
    since = {"id": "r2", "state": "pending", "created_at": NOON + timedelta(seconds=1)}
    connection.execute(pairing_requests.insert(), asked | since)
    for row in (
        AuditRow(NOON, "telegram:42", "pairing_requested", "r1", "Ana"),
        AuditRow(NOON, "cli", "pairing_approved", "r1", "telegram:42 to telegram:main"),
        AuditRow(NOON, "cli", "role_changed", BEN, "member to operator"),
    ):
        record(connection, "default", row)
    carried_out(connection, Extent.EVERYTHING)
    found = connection.execute(sa.select(audit.c.actor, audit.c.action, audit.c.subject, audit.c.detail)).all()
    assert [
        ("forgotten", "pairing_requested", "forgotten", ""),
        ("cli", "pairing_approved", "forgotten", ""),
        ("cli", "role_changed", BEN, "member to operator"),
    ] == [tuple(row) for row in found[:3]]
    assert ["r2"] == list(connection.execute(sa.select(pairing_requests.c.id)).scalars())  # asked anew, as a stranger


def carried_out(connection: sa.Connection, extent: Extent, inbox_id: int = 2) -> list[Progress]:
    """Ask for Ana, and do it."""
    erasure.ask(connection, "default", ANA, extent, inbox_id, NOON)
    (wanted,) = erasure.pending(connection)
    done = [erasure.erase(connection, wanted, NOON)]
    while done[-1] is Progress.MORE:
        done.append(erasure.erase(connection, wanted, NOON))
    return done


def test_everything_of_one_goes_and_of_another_stays_what_is_theirs_alone(connection: sa.Connection):
    """Of the group's conversation nothing stays, for the others' part tells of her; Ben's own chat is as it was."""
    for user in (ANA, BEN):
        key = {"user_id": user, "provider": "p", "kind": "api", "sealed": "s", "connected_at": NOON}
        connection.execute(credentials.insert(), {"tenant_id": "default", **key})
    assert Progress.DONE is carried_out(connection, Extent.EVERYTHING)[-1]
    assert [BEN] == list(connection.execute(sa.select(credentials.c.user_id)).scalars())
    assert ["turn3"] == list(connection.execute(sa.select(turns.c.id)).scalars())
    assert [file_id("turn3/0/0")] == list(connection.execute(sa.select(blobs.c.id)).scalars())
    assert [BEN] == list(connection.execute(sa.select(users.c.id)).scalars())
    assert {"forgotten:" + DIRECT, GROUP, "b"} == set(connection.execute(sa.select(sessions.c.key)).scalars())
    rows = connection.execute(sa.select(inbox.c.sender, inbox.c.payload, inbox.c.event_id).order_by(inbox.c.id)).all()
    assert [("forgotten", "", "update:0"), ("forgotten", "", "update:1")] == [tuple(row) for row in rows[:2]]
    assert {"telegram:43"} == {row.sender for row in rows[2:]}
    assert [] == list(connection.execute(sa.select(erasures.c.id)))


def test_talk_goes_and_the_person_stays(connection: sa.Connection):
    """Their identity, their places, their data."""
    carried_out(connection, Extent.TALK)
    assert {ANA, BEN} == set(connection.execute(sa.select(users.c.id)).scalars())
    assert 2 == len(connection.execute(sa.select(identities)).all())
    assert ["turn3"] == list(connection.execute(sa.select(turns.c.id)).scalars())
    assert DIRECT in set(connection.execute(sa.select(sessions.c.key)).scalars())


def test_what_a_group_was_heard_to_say_goes_with_the_turns_that_read_it(connection: sa.Connection):
    """She never asked there; of another group, whose name only begins alike, and from before she spoke nothing goes."""
    _add_turn(connection, 4, BEN, "agent:coach:telegram:main:group:-9", "-9")
    _add_turn(connection, 5, BEN, "agent:coach:telegram:main:group:-9:thread:1", "-9")
    _add_turn(connection, 6, BEN, "agent:coach:telegram:main:group:-91", "-91")
    _add_turn(connection, 7, BEN, "agent:coach:telegram:main:group:-9", "-9")
    early = NOON - timedelta(days=1)
    connection.execute(sa.update(turns).where(turns.c.id == "turn7").values(started_at=early))
    heard = {"user_id": ANA, "sender": "telegram:42", "session_key": None, "outcome": "context"}
    connection.execute(sa.update(inbox).where(inbox.c.id == 8).values(heard))
    carried_out(connection, Extent.EVERYTHING, 8)
    assert ["turn3", "turn6", "turn7"] == list(connection.execute(sa.select(turns.c.id).order_by(turns.c.id)).scalars())


def test_what_was_let_in_just_then_goes_too(connection: sa.Connection):
    """A message that was taken in before its sender was nobody waits no more; a turn that it began is theirs."""
    _add_turn(connection, 4, ANA, DIRECT, "42")
    connection.execute(sa.update(inbox).where(inbox.c.id == 5).values(outcome=None))
    later = NOON + timedelta(seconds=1)
    connection.execute(sa.update(turns).where(turns.c.id == "turn4").values(started_at=later))
    carried_out(connection, Extent.EVERYTHING)
    assert [] == connection.execute(sa.select(turns).where(turns.c.user_id == ANA)).all()
    row = connection.execute(sa.select(inbox.c.outcome, inbox.c.payload, inbox.c.user_id).where(inbox.c.id == 5)).one()
    assert ("cleared", "", None) == tuple(row)


def test_the_answer_to_another_is_sent_before_it_goes(connection: sa.Connection):
    """In the group of both; for as long as the goodbye is waited for."""
    connection.execute(sa.update(outbox).where(outbox.c.cause == "turn2").values(state="ready"))
    assert [Progress.WAITS] == carried_out(connection, Extent.TALK)
    (wanted,) = erasure.pending(connection)
    assert Progress.MORE is erasure.erase(connection, wanted, NOON + erasure.PATIENCE)


def test_a_turn_of_another_that_reads_them_ends_before_it_goes(connection: sa.Connection):
    """It would go on with what it was told; one that waits for its person's word is not waited for."""
    ben = sa.update(turns).where(turns.c.id == "turn2")
    connection.execute(ben.values(end_reason=None))
    assert [Progress.WAITS] == carried_out(connection, Extent.TALK)
    (wanted,) = erasure.pending(connection)
    connection.execute(ben.values(parked_at=NOON))
    assert Progress.MORE is erasure.erase(connection, wanted, NOON)


def test_who_stays_is_not_answered_twice(connection: sa.Connection):
    """What a platform tells again is known by its event, also where that names the chat."""
    connection.execute(sa.update(inbox).where(inbox.c.id == 1).values(event_id="msg:42:7"))
    carried_out(connection, Extent.TALK)
    assert "msg:42:7" == connection.execute(sa.select(inbox.c.event_id).where(inbox.c.id == 1)).scalar()


def test_nothing_is_taken_from_under_a_turn_that_runs(connection: sa.Connection):
    """It is asked again until the turn has ended."""
    connection.execute(sa.update(turns).where(turns.c.id == "turn0").values(end_reason=None))
    assert [Progress.WAITS] == carried_out(connection, Extent.EVERYTHING)
    assert 4 == len(connection.execute(sa.select(turns)).all())


def test_every_column_that_names_somebody_is_known():
    """A new table with one is a new line in `gateway.store.erasure`, unless its rows go by their `user_id`."""
    named = {
        (table.name, name)
        for table in metadata.sorted_tables
        for name in ("sender", "used_by", "lane")
        if name in table.c
    }
    assert {
        ("identities", "sender"), ("pairing_requests", "sender"), ("invite_guesses", "sender"), ("inbox", "sender"),
        ("invites", "used_by"), ("links", "sender"), ("outbox", "lane"), ("parked_lanes", "lane"),
    } == named  # fmt: skip
