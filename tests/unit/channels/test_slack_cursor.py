"""The resume point: it only moves forward, stays small, and survives a corrupt value."""

from datetime import UTC, datetime

import orjson
import pytest

from channels.messages import Address, ChatKind, InboundMessage, Sender
from channels.slack.cursor import CHATS_KEPT, THREADS_KEPT, PastPoint, ResumePoint, later


def said(ts: str, chat: str = "D1", thread: str | None = None, *, mention: bool = False) -> InboundMessage:
    return InboundMessage(
        event_id=f"msg:T1:{chat}:{ts}",
        address=Address("slack", "main", chat, thread),
        sender=Sender("T1:U1", "ann"),
        received_at=datetime.now(UTC),
        message_id=ts,
        kind=ChatKind.DIRECT if chat.startswith("D") else ChatKind.GROUP,
        text="hi",
        mentions_bot=mention,
    )


def test_a_late_event_does_not_turn_it_back():
    places = ResumePoint(None)
    for ts in ("1700000002.000001", "1700000001.000001"):
        places.note(said(ts))
    assert "1700000002.000001" == orjson.loads(places.cursor())["ts"]


def test_it_stays_small():
    places = ResumePoint(None)
    for n in range(1_000):
        places.note(said(f"170000{n:04}.000001", f"C{n}", f"170000{n:04}.000001", mention=True))
    saved = orjson.loads(places.cursor())
    assert (CHATS_KEPT, THREADS_KEPT) == (len(saved["chats"]), len(saved["threads"]))
    assert 4_000 > len(places.cursor())
    assert 1_000 == len(places.threads)
    assert "C999" == saved["chats"][-1]


@pytest.mark.parametrize("cursor", [None, "", "17", "{", "[]", '{"ts":7}', '{"chats":"D1"}'])
def test_what_is_no_resume_point_counts_as_none(cursor):
    places = ResumePoint(cursor)
    assert ("0", {}) == (places.ts, places.chats)
    places.note(said("1700000001.000001"))
    assert "1700000001.000001" == ResumePoint(places.cursor()).ts


def test_direct_messages_with_us_are_known():
    places = ResumePoint(None)
    places.note(said("1700000001.000001", "D1"))
    assert [True, False, False] == [places.has_direct(chat) for chat in ("D1", "D2", "C1")]


def test_ts_are_compared_as_numbers():
    assert later("1700000000.000001", "999999999.000001")
    assert not later("1700000000.000001", "1700000000.000001")


def test_a_gap_begins_where_we_were_a_while_ago():
    now_s = [1_700_000_000.0]
    places = ResumePoint(None)
    past_point = PastPoint(places, 420.0, lambda: now_s[0])
    assert "1700000000.000000" == past_point.since
    for ts in ("1700000500.000001", "1700001000.000001"):
        now_s[0] = float(ts)
        past_point.mark()
        places.note(said(ts))
    now_s[0] = 1_700_009_000.0  # two hours of silence
    past_point.mark()
    places.note(said("1700008999.000001"))
    past_point.mark()
    assert float("1700001000.000001") >= float(past_point.since)
    now_s[0] += 600
    past_point.mark()
    assert "1700001000.000001" == past_point.since
