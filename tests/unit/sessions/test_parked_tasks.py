"""Turns that wait for a task, and tasks that ask: the person answers them in their own conversation."""

from dataclasses import replace
from pathlib import Path

import pytest

from channels.messages import Address, ChatKind, InboundMessage, Sender
from gateway.sessions.parking import ParkedTurn, Parking
from gateway.store.approvals import Approval
from gateway.store.engine import Store, engine_for
from gateway.store.inbox import InboxRow
from gateway.store.journal import OpenTurn, TurnRow
from tests.fakes.spine import KEY, NOON

CHILD = f"{KEY}:subagent:trains"
CHAT = Address("sim", "main", "c1")
TURN = TurnRow("t1", "default", "s1", "p1", "subagent", CHAT, None, NOON)
ASKED = Approval(
    id="a1",
    tenant="default",
    turn_id="t1",
    user_id="p1",
    call_key="t1/0/0",
    tool="pay",
    fingerprint="",
    may_remember=False,
    numbered=True,
    asked_at=NOON,
    until=NOON,
)


@pytest.fixture
def parking(tmp_path: Path) -> Parking:
    return Parking(Store(engine_for(f"sqlite:///{tmp_path}/none.db")), lambda: NOON, lambda _turn: None)


def said(user: str = "p1") -> InboxRow:
    message = InboundMessage(
        event_id="1",
        message_id="1",
        address=CHAT,
        sender=Sender(user, user),
        received_at=NOON,
        kind=ChatKind.DIRECT,
        text="1",
    )
    return InboxRow(1, "default", KEY, user, message, NOON)


def test_a_persons_word_is_about_the_task_that_asks(parking: Parking) -> None:
    parking.add(ParkedTurn(OpenTurn(TURN, CHILD, parked=True), ASKED))
    joined = parking.joined_by("default", KEY, said())
    assert joined is not None
    assert (CHILD, ASKED) == (joined.open_turn.session_key, joined.approval)
    assert parking.joined_by("default", KEY, said("p2")) is None


def test_no_word_is_about_a_turn_that_waits_for_a_task(parking: Parking) -> None:
    waits = replace(TURN, kind="chat")
    parking.add(ParkedTurn(OpenTurn(waits, KEY, parked=True), None))
    assert parking.joined_by("default", KEY, said()) is None
    assert parking.waits_for_task("default", KEY, said())
    assert not parking.waits_for_task("default", KEY, said("p2"))
