"""The conversation of an event: by place, person, and who sees the answer."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from channels.messages import Address, ButtonPressed, ChatKind, CommandInvoked, InboundMessage, Route, Sender
from gateway.inbound.session_key import session_key

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ROOM = Address("discord", "main", "77", thread="5")
ANA = Sender("42", "Ana")
OPEN = Route("interaction", "1/token", NOW + timedelta(minutes=14))
PRIVATE = replace(OPEN, private=True)
OURS, HERS = "agent:coach:discord:main:group:77:thread:5", "agent:coach:discord:main:direct:42"


def command(route: Route | None, address: Address = ROOM, kind: ChatKind = ChatKind.GROUP) -> CommandInvoked:
    return CommandInvoked(
        event_id="1", address=address, sender=ANA, received_at=NOW, name="plan", arguments="", kind=kind, route=route
    )


@pytest.mark.parametrize(("route", "expected"), [(None, OURS), (OPEN, OURS), (PRIVATE, HERS)])
def test_what_only_its_person_sees_is_of_their_own_conversation(route: Route | None, expected: str) -> None:
    """Cover A52."""
    assert expected == session_key(command(route), ChatKind.GROUP, "coach")


def test_a_press_under_a_private_answer_too() -> None:
    press = ButtonPressed(
        event_id="1",
        address=ROOM,
        sender=ANA,
        received_at=NOW,
        message_id="9",
        kind=ChatKind.GROUP,
        data="x:1",
        route=PRIVATE,
    )
    assert HERS == session_key(press, ChatKind.GROUP, "coach")


def test_it_is_the_conversation_of_their_direct_messages() -> None:
    said = InboundMessage(
        event_id="2",
        address=Address("discord", "main", "7"),
        sender=ANA,
        received_at=NOW,
        message_id="2",
        kind=ChatKind.DIRECT,
        text="and Friday?",
    )
    assert session_key(command(PRIVATE), ChatKind.GROUP, "coach") == session_key(said, ChatKind.DIRECT, "coach")


def test_a_colon_in_an_id_ends_no_part() -> None:
    odd = replace(ROOM, chat="7:thread:5", thread=None)
    assert session_key(command(None, odd), ChatKind.GROUP, "coach") != session_key(
        command(None, replace(odd, chat="7", thread="5")), ChatKind.GROUP, "coach"
    )


def test_agents_share_no_conversation() -> None:
    assert session_key(command(None), ChatKind.GROUP, "clerk") == OURS.replace("coach", "clerk")
