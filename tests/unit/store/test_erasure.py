"""Erasure: one person's rows, in groups also rows that mention them, and no others."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
import sqlalchemy as sa

from agent.budgets import Spending
from gateway.store import budgets, erasure, people, retention
from gateway.store.budgets import Cap
from gateway.store.erasure import Extent, Forgotten, Progress
from gateway.store.outbox import came_with, handed_id, put_file, speech_id
from gateway.store.people import BY_POLICY, AuditRow, Newcomer, record
from gateway.store.tables.base import metadata
from gateway.store.tables.people import audit, identities, tickets, users
from gateway.store.tables.traffic import inbox, outbox
from gateway.store.tables.turns import blobs, sessions, turns
from tests.fakes.people import database
from tests.fakes.spine import NOON
from tests.fakes.talks import ANA, BEN, DIRECT, add_turn, carried_out, fill


@pytest.fixture
def connection() -> Iterator[sa.Connection]:
    with database(metadata.create_all) as connection:
        fill(connection)
        yield connection


def test_who_was_let_in_is_in_no_record_by_name(connection: sa.Connection):
    asked = {
        "id": "r1",
        "kind": "pairing",
        "channel": "telegram",
        "account": "main",
        "sender": "telegram:42",
        "display_name": "Ana",
    }
    asked |= {"tenant_id": "default", "chat": "42", "state": "approved", "created_at": NOON, "expires_at": NOON}
    connection.execute(tickets.insert(), asked)
    since = {"id": "r2", "state": "pending", "created_at": NOON + timedelta(seconds=1)}
    connection.execute(tickets.insert(), asked | since)
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
    assert ["r2"] == list(connection.execute(sa.select(tickets.c.id)).scalars())  # asked anew, as a stranger


def test_talk_goes_and_the_person_stays(connection: sa.Connection):
    carried_out(connection, Extent.TALK)
    assert {ANA, BEN} == set(connection.execute(sa.select(users.c.id)).scalars())
    assert 2 == len(connection.execute(sa.select(identities)).all())
    assert ["turn3"] == list(connection.execute(sa.select(turns.c.id)).scalars())
    assert DIRECT in set(connection.execute(sa.select(sessions.c.key)).scalars())


def test_what_a_group_was_heard_to_say_goes_with_the_turns_that_read_it(connection: sa.Connection):
    add_turn(connection, 4, BEN, "agent:coach:telegram:main:group:-9", "-9")
    add_turn(connection, 5, BEN, "agent:coach:telegram:main:group:-9:thread:1", "-9")
    add_turn(connection, 6, BEN, "agent:coach:telegram:main:group:-91", "-91")
    add_turn(connection, 7, BEN, "agent:coach:telegram:main:group:-9", "-9")
    early = NOON - timedelta(days=1)
    connection.execute(sa.update(turns).where(turns.c.id == "turn7").values(started_at=early))
    heard = {"user_id": ANA, "sender": "telegram:42", "session_key": None, "outcome": "context"}
    connection.execute(sa.update(inbox).where(inbox.c.id == 8).values(heard))
    carried_out(connection, Extent.EVERYTHING, 8)
    assert ["turn3", "turn6", "turn7"] == list(connection.execute(sa.select(turns.c.id).order_by(turns.c.id)).scalars())


def test_what_was_let_in_just_then_goes_too(connection: sa.Connection):
    add_turn(connection, 4, ANA, DIRECT, "42")
    connection.execute(sa.update(inbox).where(inbox.c.id == 5).values(outcome=None))
    later = NOON + timedelta(seconds=1)
    connection.execute(sa.update(turns).where(turns.c.id == "turn4").values(started_at=later))
    carried_out(connection, Extent.EVERYTHING)
    assert [] == connection.execute(sa.select(turns).where(turns.c.user_id == ANA)).all()
    row = connection.execute(sa.select(inbox.c.outcome, inbox.c.payload, inbox.c.user_id).where(inbox.c.id == 5)).one()
    assert ("cleared", "", None) == tuple(row)


def test_the_answer_to_another_is_sent_before_it_goes(connection: sa.Connection):
    connection.execute(sa.update(outbox).where(outbox.c.cause == "turn2").values(state="ready"))
    assert [Progress.WAITS] == carried_out(connection, Extent.TALK)
    (wanted,) = erasure.pending(connection)
    assert Progress.MORE is erasure.erase(connection, wanted, NOON + erasure.PATIENCE)


def test_a_turn_of_another_that_reads_them_ends_before_it_goes(connection: sa.Connection):
    ben = sa.update(turns).where(turns.c.id == "turn2")
    connection.execute(ben.values(end_reason=None))
    assert [Progress.WAITS] == carried_out(connection, Extent.TALK)
    (wanted,) = erasure.pending(connection)
    connection.execute(ben.values(parked_at=NOON))
    assert Progress.MORE is erasure.erase(connection, wanted, NOON)


def test_who_stays_is_not_answered_twice(connection: sa.Connection):
    connection.execute(sa.update(inbox).where(inbox.c.id == 1).values(event_id="msg:42:7"))
    carried_out(connection, Extent.TALK)
    assert "msg:42:7" == connection.execute(sa.select(inbox.c.event_id).where(inbox.c.id == 1)).scalar()


def test_what_was_heard_and_spoken_goes_with_the_talk(connection: sa.Connection):
    heard = came_with(
        "telegram", "main", connection.execute(sa.select(inbox.c.event_id).where(inbox.c.id == 1)).scalar_one()
    )
    put_file(connection, "default", "made:transcript", b"hello", NOON, heard)
    put_file(connection, "default", speech_id("turn0"), b"OggS", NOON)
    said = {"kind": "notice", "cause": "heard:1", "idem_key": "k-heard"}
    shown = connection.execute(sa.select(outbox).where(outbox.c.cause == "turn0")).mappings().first()
    assert shown is not None
    connection.execute(outbox.insert(), {key: shown[key] for key in shown if key != "id"} | said)
    carried_out(connection, Extent.TALK)
    kept = set(connection.execute(sa.select(blobs.c.id)).scalars())
    assert set() == kept & {"made:transcript", speech_id("turn0")}
    causes = set(connection.execute(sa.select(outbox.c.cause).where(outbox.c.rendered != "")).scalars())
    assert "heard:1" not in causes


def test_nothing_is_taken_from_under_a_turn_that_runs(connection: sa.Connection):
    connection.execute(sa.update(turns).where(turns.c.id == "turn0").values(end_reason=None))
    assert [Progress.WAITS] == carried_out(connection, Extent.EVERYTHING)
    assert 4 == len(connection.execute(sa.select(turns)).all())


def test_every_column_that_names_a_person_is_known():
    named = {
        (table.name, name)
        for table in metadata.sorted_tables
        for name in ("sender", "other_sender", "ended_by", "who", "lane")
        if name in table.c
    }
    assert {
        ("identities", "sender"),
        ("tickets", "sender"),
        ("tickets", "other_sender"),
        ("tickets", "ended_by"),
        ("ticket_guesses", "who"),
        ("inbox", "sender"),
        ("outbox", "lane"),
        ("parked_lanes", "lane"),
    } == named


def test_a_turn_on_an_account_that_was_removed_is_not_waited_for(connection: sa.Connection):
    connection.execute(sa.update(turns).where(turns.c.id == "turn0").values(end_reason=None))
    assert [Progress.WAITS] == carried_out(connection, Extent.EVERYTHING)
    (wanted,) = erasure.pending(connection)
    gone = partial(erasure.erase, connection, wanted, NOON, is_configured=lambda address: address.account != "main")
    while (progress := gone()) is Progress.MORE:
        pass
    assert Progress.DONE is progress
    assert [] == connection.execute(sa.select(turns).where(turns.c.user_id == ANA)).all()


def test_a_picture_that_no_turn_took_goes_too(connection: sa.Connection):
    for id_, event in (("p1", "update:0"), ("p2", "update:3")):
        put_file(connection, "default", id_, b"x", NOON, came_with("telegram", "main", event))
    carried_out(connection, Extent.TALK)
    left = set(connection.execute(sa.select(blobs.c.id).where(blobs.c.turn_id.is_not(None))).scalars())
    assert {"p2"} == left


def test_files_handed_over_on_the_page_go_with_their_message(connection: sa.Connection):
    for event, message in (("update:0", "msg:a:ana-said"), ("update:3", "msg:b:ben-said")):
        of_event = sa.update(inbox).where(inbox.c.event_id == event)
        connection.execute(of_event.values(channel="web", event_id=message))
    for handle in ("a:ana-said:0", "a:ana-said:19", "b:ben-said:0"):
        put_file(connection, "default", handed_id(handle), b"x", NOON)
    carried_out(connection, Extent.TALK)
    left = set(connection.execute(sa.select(blobs.c.id)).scalars())
    assert handed_id("b:ben-said:0") in left
    assert not {handed_id("a:ana-said:0"), handed_id("a:ana-said:19")} & left


def test_who_comes_back_has_used_what_they_had_used(connection: sa.Connection):
    tomorrow = NOON + timedelta(hours=20)
    used = Cap("default", "user", ANA, "2026-03-05", None, 100, tomorrow)
    before = replace(used, day="2026-03-03", resets_at=NOON - timedelta(hours=20))
    for cap, tokens in ((used, 90), (before, 70)):
        budgets.reserve(connection, cap.day, [cap], Spending(tokens), NOON)
    carried_out(connection, Extent.EVERYTHING)
    assert [] == budgets.nearly_used(connection, NOON, 80)  # owners are not told of an unknown person
    newcomer = Newcomer("default", "telegram:42", "telegram:main", "Ana", "member", BY_POLICY, former_id=ANA)
    person = people.enrol(connection, newcomer, NOON)
    own = replace(used, key=person.user_id, day="2026-03-04")
    assert Spending(90) == budgets.used_of(connection, own)
    assert [own] == [use.cap for use in budgets.in_use(connection, NOON, 9)]


def test_of_a_sender_a_mark_stays_for_a_week_and_no_name(connection: sa.Connection):
    carried_out(connection, Extent.TALK)
    assert [] == erasure.lately(connection)
    carried_out(connection, Extent.EVERYTHING)
    before = NOON - timedelta(microseconds=1)  # a message of the same second may be newer
    assert [Forgotten("default", "default/telegram:42", ANA, before)] == erasure.lately(connection)
    assert 0 == retention.take_forgotten(connection, before)
    assert 1 == retention.take_forgotten(connection, NOON + timedelta(seconds=1))
