"""Messages and commands, in each platform's form."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from channels.messages import Address, ChatKind, CommandInvoked, InboundEvent, InboundMessage, Sender
from gateway.coach.commands import PLAN
from gateway.coach.product import COACH
from gateway.commands.session import SESSION_COMMANDS
from gateway.commands.table import CommandTable
from gateway.sessions.inbox_rules import CHAT, RowClassifier, read_words
from gateway.store.inbox import InboxRow

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
KINDS = RowClassifier(CommandTable(SESSION_COMMANDS, "coach"))


def typed(text: str, *, edited: bool = False) -> InboundMessage:
    return InboundMessage(
        event_id="1",
        address=Address("slack", "main", "D1"),
        sender=Sender("T1:U1", "Ana"),
        received_at=NOW,
        message_id="1",
        kind=ChatKind.DIRECT,
        text=text,
        edited=edited,
    )


def native(name: str, arguments: str = "") -> CommandInvoked:
    return CommandInvoked(
        event_id="1",
        address=Address("slack", "main", "D1"),
        sender=Sender("T1:U1", "Ana"),
        received_at=NOW,
        name=name,
        arguments=arguments,
        kind=ChatKind.DIRECT,
    )


def kind_of(event: InboundEvent) -> str | None:
    return KINDS.kind_of(InboxRow(1, "default", "key", "ana", event, NOW))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (typed("how am I doing?"), "how am I doing?"),
        (typed("/coach how am I doing?"), "how am I doing?"),
        (typed("/COACH\nfirst\nsecond"), "first\nsecond"),
        (typed("/coaching is fun"), "/coaching is fun"),
        (native("coach", "how am I doing?"), "how am I doing?"),
        (native("coach"), "/help"),
        (native("coach", " Help "), "/help"),
        (native("coach", "/undo"), "/undo"),
        (native("log", "45m guitar"), "/log 45m guitar"),
        (native("stats"), "/stats"),
    ],
)
def test_what_follows_coach_stands_for_itself(event: InboundEvent, expected: str) -> None:
    assert expected == read_words(event, "coach").said


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (typed("hello"), CHAT),
        (typed("/coach hello"), CHAT),
        (native("coach", "hello"), CHAT),
        (native("coach"), None),
        (native("coach", "/mode followup"), None),
        (native("coach", "mode followup"), None),
        (native("coach", "Stop"), None),
        (typed("/coach stop"), None),
        (native("coach", "mode of the day"), CHAT),
        (native("coach", "stop smoking"), CHAT),
        (replace(native("coach", "stop"), event_id="reply:t1"), CHAT),
        (typed("stop"), CHAT),
        (typed("/mode followup"), None),
        (typed("/mode followup", edited=True), CHAT),
    ],
)
def test_talk_starts_a_turn_and_a_command_answers_by_itself(event: InboundEvent, expected: str | None) -> None:
    assert expected == kind_of(event)


def test_words_may_start_a_turn_of_a_kind_of_their_own() -> None:
    kinds = RowClassifier(CommandTable(SESSION_COMMANDS, "coach"), COACH.kind_of_words)
    said = [typed("plan my week"), typed("/coach plan my week"), typed("what was my plan?"), native("coach", "hello")]
    said.append(typed("plan my week", edited=True))
    rows = [InboxRow(1, "default", "agent:coach:slack", "ana", event, NOW) for event in said]
    assert [PLAN, PLAN, CHAT, CHAT, CHAT] == [kinds.kind_of(row) for row in rows]
    assert CHAT == kinds.kind_of(replace(rows[0], session_key="agent:helper:slack"))  # it has no such turns
