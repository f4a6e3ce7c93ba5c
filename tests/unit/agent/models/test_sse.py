"""The event parser: the same events however the bytes are cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.models.http_wire import MAX_EVENT_BYTES, EventParser, EventTooLong

STREAM = (
    b"\xef\xbb\xbfdata: caf\xc3\xa9\n\n: ping\n\nevent: error\r\ndata: one\r\ndata:two\r\n\r\nid: 1\nretry: 5\n\n"
    b"data\n\rdata: mac\r\rnonsense\nevent: e\n\ndata:  two spaces\n\ndata: cut off"
)
EVENTS = [("", b"caf\xc3\xa9"), ("error", b"one\ntwo"), ("", b""), ("", b"mac"), ("", b" two spaces")]


def events_of(chunks):
    parser = EventParser()
    return [event for chunk in chunks for event in parser.feed(chunk)]


def test_events_are_read_as_the_standard_says():
    assert EVENTS == events_of([STREAM])


@given(st.lists(st.integers(0, len(STREAM)), max_size=30))
def test_f24_f27_cuts_change_nothing(cuts):
    places = [0, *sorted(cuts), len(STREAM)]
    assert EVENTS == events_of(STREAM[a:b] for a, b in pairwise(places))


def test_byte_by_byte_is_the_same():
    assert EVENTS == events_of(STREAM[at : at + 1] for at in range(len(STREAM)))


@given(st.lists(st.binary(max_size=50), max_size=20))
def test_no_bytes_break_it(chunks):
    events_of(chunks)


@pytest.mark.parametrize("line", [b"x", b"data: " + b"y" * 100 + b"\n"])
def test_an_event_without_end_is_refused(line):
    chunk = line * (1_048_576 // len(line))
    with pytest.raises(EventTooLong):
        events_of([chunk] * (2 * MAX_EVENT_BYTES // len(chunk)))
