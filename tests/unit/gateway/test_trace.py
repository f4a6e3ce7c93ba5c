"""The trace of a message in words: person, time, decision, delivery."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from gateway.cli.messages import trace_lines
from gateway.errors import GatewayError
from gateway.operators.finding import find_one, of_sender
from gateway.operators.models import TraceQuery
from gateway.operators.tracing import decision_text, delivery_texts, span_of, trace_person
from gateway.store import inbox, people, reports
from gateway.store.inbox import NewRow, Outcome
from gateway.store.people import Newcomer
from gateway.store.reports import InboxLine, KnownSender, OutboxLine
from gateway.store.timeline import Hop
from tests.fakes.people import NOON, database, message

ANA = KnownSender("0190-ana-00001111", "Ana", "owner", ("slack:T1:U9", "telegram:42"), "Europe/Madrid")
ANN = KnownSender("0190-ann-00002222", "ana", "member", ("discord:7",), "UTC")
KIM = KnownSender(None, "Kim Lee", "not let in", ("telegram:77",), "UTC")
KNOWN = [ANA, ANN, KIM]
MADRID = ZoneInfo("Europe/Madrid")

ROW = InboxLine(
    5,
    NOON,
    "telegram:main",
    "42",
    "message",
    "telegram:42",
    "u",
    "Ana",
    "answered",
    None,
    "t",
    1,
    NOON + timedelta(seconds=3),
)
PART = OutboxLine(
    9, "sent", "telegram:main", "42", None, "Ana", "t", 0, "send", 1, False, "77", None, None, NOON, None, NOON
)


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ("telegram:42", ANA),
        ("SLACK:t1:u9", ANA),
        ("42", ANA),
        ("00002222", ANN),
        ("kim lee", KIM),
        ("kim ", None),
        ("Kim L", KIM),
    ],
)
def test_a_person_is_found_by_sender_id_or_name(who: str, expected: KnownSender | None) -> None:
    if expected is None:
        with pytest.raises(GatewayError, match="nearest: Kim Lee"):
            find_one(who, map(of_sender, KNOWN), by_part=True)
    else:
        assert expected is find_one(who, map(of_sender, KNOWN), by_part=True)


@pytest.mark.parametrize(
    ("who", "words"),
    [
        ("ana", r"fits several: Ana \(slack:T1:U9, telegram:42, 00001111\), ana"),
        ("0190-an", '"0190-an" is not a known person'),
        ("Kimberlee", r"the nearest: Kim Lee \(telegram:77\)"),
        ("", '"" is not a known person'),
    ],
)
def test_no_match_and_several_matches_are_refused_with_a_list(who: str, words: str) -> None:
    with pytest.raises(GatewayError, match=words):
        find_one(who, map(of_sender, KNOWN), by_part=True)


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("yesterday 10:00", "2026-03-01T08:45:00+00:00", "2026-03-01T09:15:00+00:00"),
        ("Yesterday at 10 am", "2026-03-01T08:45:00+00:00", "2026-03-01T09:15:00+00:00"),
        ("12am", "2026-03-01T22:45:00+00:00", "2026-03-01T23:15:00+00:00"),
        ("10:30 pm", "2026-03-02T21:15:00+00:00", "2026-03-02T21:45:00+00:00"),
        ("10", "2026-03-02T08:45:00+00:00", "2026-03-02T09:15:00+00:00"),
        ("2026-02-20 08:15:30", "2026-02-20T07:00:00+00:00", "2026-02-20T07:30:00+00:00"),
        ("2026-02-20t08:15", "2026-02-20T07:00:00+00:00", "2026-02-20T07:30:00+00:00"),
        ("90 min ago", "2026-03-02T10:15:00+00:00", "2026-03-02T10:45:00+00:00"),
        ("3 h ago", "2026-03-02T08:45:00+00:00", "2026-03-02T09:15:00+00:00"),
        ("today", "2026-03-01T23:00:00+00:00", "2026-03-02T23:00:00+00:00"),
        ("yesterday", "2026-02-28T23:00:00+00:00", "2026-03-01T23:00:00+00:00"),
        ("2 days ago", "2026-02-27T23:00:00+00:00", "2026-02-28T23:00:00+00:00"),
        ("2026-10-25", "2026-10-24T22:00:00+00:00", "2026-10-25T23:00:00+00:00"),
    ],
)
def test_a_day_is_read_whole_and_a_time_with_a_margin_in_their_zone(text: str, since: str, until: str) -> None:
    assert (since, until) == tuple(end.astimezone(UTC).isoformat() for end in span_of(text, NOON, MADRID))


@pytest.mark.parametrize(
    "text",
    ["", "soon", "25:00", "10:61", "2026-13-01", "9999999 h ago", "12:00 12:00", "²", "9999-12-31", "0001-01-01"],
)
def test_what_is_no_time_is_told_with_what_is(text: str) -> None:
    with pytest.raises(GatewayError, match='is not a time; write "yesterday"'):
        span_of(text, NOON, MADRID)


def hop(name: str, **facts: str) -> Hop:
    return Hop(NOON, name, "t", None, facts)


WAITS = replace(ROW, outcome="open", done_at=None)
STAND_IN = hop("recovered", fallback="next_model", detail="offline:rules", why="openai:x: auth")
CUT = hop("turn_ended", reason="max_steps")


@pytest.mark.parametrize(
    ("row", "way", "words"),
    [
        (ROW, [], "Answered after 3.0 s."),
        (ROW, [STAND_IN], "by offline:rules, because the first model failed (openai:x: auth)"),
        (ROW, [CUT], "but the turn was cut short (max_steps)"),
        (replace(ROW, outcome="refused", detail="over the day bound"), [], "Refused, not answered: over the day bound"),
        (replace(ROW, outcome="refused", detail="pairing"), [], "had no access (they were asked to pair)"),
        (replace(ROW, outcome="cleared", detail="/stop"), [], "Cleared after 3.0 s, not answered: /stop"),
        (replace(ROW, outcome="merged"), [], "Joined the turn of an earlier message"),
        (replace(ROW, outcome="odd", detail=None), [], "odd after 3.0 s: no reason was recorded"),
        (
            replace(ROW, outcome="failed", detail="model_error"),
            [
                hop("recovered", fallback="retried"),
                hop("turn_ended", reason="model_error", why="openai:x: server: broke"),
            ],
            "got an apology: openai:x: server: broke, tried 2 times",
        ),
        (replace(ROW, outcome="failed", detail="it could not begin"), [], "got an apology: it could not begin"),
        (replace(WAITS, turn=None), [], "no turn has started"),
        (WAITS, [hop("parked", tool="pay", approval="a1")], "waits for the person's approval of pay"),
        (
            WAITS,
            [hop("tool_intended")],
            "began 60 min ago; its last step is tool intended. If no gateway runs",
        ),
    ],
)
def test_what_was_decided_is_said_with_why(row: InboxLine, way: list[Hop], words: str) -> None:
    assert words in decision_text(row, way, None, NOON + timedelta(hours=1))


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (PART, "Delivered: 1 of 1 part (outbox 9), the platform's id 77."),
        (replace(PART, maybe_doubled=True), "an earlier attempt may have arrived"),
        (replace(PART, state="dead", error="refused"), "NOT delivered, given up: 1 of 1 part (outbox 9): refused."),
        (replace(PART, state="unknown"), "It may have arrived"),
        (replace(PART, state="ready", parked="blocked"), "until the person writes again: blocked"),
        (replace(PART, state="ready"), "On its way"),
        (replace(PART, state="discarded"), "Discarded"),
    ],
)
def test_how_far_an_answer_got_is_said(part: OutboxLine, words: str) -> None:
    (sentence,) = delivery_texts([part])
    assert words in sentence


def test_a_placeholder_is_no_part_of_what_was_delivered() -> None:
    placeholder = replace(PART, action="placeholder")
    assert [] == delivery_texts([placeholder])
    sentences = delivery_texts([placeholder, replace(PART, id=10, action="edit", state="ready")])
    assert ["On its way: 1 of 1 part (outbox 10); `tenk outbox show 10` shows more."] == sentences


def test_messages_are_found_around_an_instant_or_nearest_to_it() -> None:
    with database() as connection:
        person = people.enrol(
            connection, Newcomer("default", "telegram:42", "telegram:main", "Ana", "member", "cli"), NOON
        )
        for minute in (0, 10, 60):
            event = replace(message(), event_id=f"msg:{minute}")
            inbox.admit(connection, NewRow(event, person.user_id, "key"), NOON + timedelta(minutes=minute))
            other = replace(message("43"), event_id=f"other:{minute}")
            stranger = NewRow(other, outcome=Outcome.REFUSED, detail="pairing")
            inbox.admit(connection, stranger, NOON + timedelta(minutes=minute))

        def rows(at: str | None) -> tuple[list[int], bool]:
            found = trace_person(connection, TraceQuery(who="ana", at=at, count=2), NOON + timedelta(minutes=90))
            return [each.row for each in found.messages], found.near

        assert ([3, 5], True) == rows(None)
        assert ([1, 3], True) == rows("12:05")
        assert ([3, 5], False) == rows("12:35")
        assert ([5], False) == rows("15:00")
        assert ([1], False) == rows("yesterday")
        assert ([1, 3, 5], True) == rows("today")


def test_the_time_that_was_looked_at_is_said() -> None:
    with database() as connection:
        newcomer = Newcomer("default", "telegram:42", "telegram:main", "Ana", "member", "cli")
        person = people.enrol(connection, newcomer, NOON)

        def said(at: str | None) -> str:
            found = trace_person(connection, TraceQuery(who="ana", at=at), NOON)
            return "\n".join(trace_lines(found.model_dump(mode="json")))

        assert " to 2026" not in said(None)
        for number in range(21):
            event = replace(message(), event_id=f"msg:{number}")
            inbox.admit(connection, NewRow(event, person.user_id, "key"), NOON - timedelta(minutes=60 - number))
        assert "2026-03-01 00:00 to 2026-03-02 00:00: no message of theirs. The nearest:" in said("yesterday")
        assert "2026-03-02 10:50 to 2026-03-02 11:20:\n" in said("11:05")
        assert "2026-03-02 00:00 to 2026-03-03 00:00, the last 20 messages:\n" in said("today")


def test_the_first_row_of_an_instant_is_found_among_gaps() -> None:
    with database() as connection:
        nobody = KnownSender(None, "x", "", ("telegram:1",), "UTC")
        assert [] == reports.messages_of(connection, "default", nobody, 5, since=NOON)
        for number in range(40):
            event = replace(message("1"), event_id=f"msg:{number}")
            inbox.admit(connection, NewRow(event), at(number))
            other = replace(message("2"), event_id=f"other:{number}")
            inbox.admit(connection, NewRow(other), at(number))
        connection.exec_driver_sql("DELETE FROM inbox WHERE id % 3 = 0")
        for number in range(-1, 41):
            found = reports.messages_of(connection, "default", nobody, 50, since=at(number))
            ids = [2 * place + 1 for place in range(max(number, 0), 40)]  # every other one is another person's
            assert [id_ for id_ in ids if id_ % 3] == sorted(row.id for row in found)


def at(number: int) -> datetime:
    return NOON + timedelta(minutes=number)
