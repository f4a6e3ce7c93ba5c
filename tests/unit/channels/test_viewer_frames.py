"""Frames of a page or a terminal: translated or refused."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.messages import (
    INBOUND_EVENT,
    Address,
    AttachmentKind,
    ButtonPressed,
    CommandInvoked,
    InboundMessage,
    Sender,
)
from channels.viewers.viewer_frames import (
    MAX_SAID_CHARS,
    BadFrame,
    HelloFrame,
    PressFrame,
    SayFrame,
    Visitor,
    read_frame,
    read_frames,
    to_event,
)

NOW = datetime(2026, 11, 20, tzinfo=UTC)
ADA = Visitor(Address("web", "main", "abc"), Sender("abc", "web visitor abc"), "en-GB")


def test_press_is_a_press():
    event = to_event(read_frame('{"type":"press","id":"12345678","message":"b-1","data":"deny:7"}'), ADA, NOW)
    assert isinstance(event, ButtonPressed)
    assert ("press:abc:12345678", "b-1", "deny:7") == (event.event_id, event.message_id, event.data)


def test_control_is_a_command_of_a_short_list():
    event = to_event(read_frame('{"type":"do","id":"12345678","name":"sessions","arguments":"0a1b"}'), ADA, NOW)
    assert isinstance(event, CommandInvoked)
    assert ("do:abc:12345678", "sessions", "0a1b") == (event.event_id, event.name, event.arguments)
    for name, words in (("approve", ""), ("stop", "a b")):
        with pytest.raises(BadFrame):
            read_frame(json.dumps({"type": "do", "id": "12345678", "name": name, "arguments": words}))


def test_other_frames_are_told_apart():
    assert HelloFrame(type="hello", recall=True) == read_frame('{"type":"hello"}')
    assert [HelloFrame(type="hello", recall=False)] == read_frames('[{"type":"hello","recall":false}]')


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "nonsense",
        "[]",
        "null",
        "3",
        '{"type":"say"}',
        '{"type":"admin","id":"12345678"}',
        '{"type":"say","id":"short","text":"x"}',
        '{"type":"say","id":"a b c d e f","text":"x"}',
        '{"type":"say","id":"12345678","text":5}',
        '{"type":"shown","n":1}',
        '{"type":"hello","recall":1}',
        '{"type":"say","id":"12345678\\n","text":"x"}',
        '{"type":"press","id":"12345678","message":"","data":"x"}',
        '{"type":"press","id":"12345678","message":"m","data":"ключ"}',
        b"\xff\xfe",
        json.dumps({"type": "say", "id": "12345678", "text": "x" * (MAX_SAID_CHARS + 1)}),
        json.dumps({"type": "press", "id": "12345678", "message": "m", "data": "x" * 65}),
        "[" * 100_000,
    ],
)
def test_what_is_no_frame_is_refused(raw: str | bytes):
    """Cover A91."""
    with pytest.raises(BadFrame):
        read_frame(raw)


def test_list_of_frames_is_bounded():
    with pytest.raises(BadFrame):
        read_frames(json.dumps([{"type": "hello"}] * 101))


def test_blank_text_says_nothing():
    assert to_event(SayFrame(type="say", id="12345678", text=" \x00\n"), ADA, NOW) is None


@pytest.mark.parametrize(
    ("zone", "told"),
    [
        ("Europe/Madrid", "Europe/Madrid"),
        ("America/Argentina/Salta", "America/Argentina/Salta"),
        ("UTC", None),
        ("../../etc/passwd", None),
        ("", None),
        ("Europe/\x00", None),
    ],
)
def test_a_place_is_a_hint_of_the_zone(zone: str, told: str | None):
    unset = replace(ADA, locale=None)
    event = to_event(SayFrame(type="say", id="12345678", text="hi", zone=zone, locale="es-ES"), unset, NOW)
    assert isinstance(event, InboundMessage)
    assert (told, "es-ES") == (event.timezone, event.locale)
    bad = to_event(SayFrame(type="say", id="12345678", text="hi", locale="<b>"), unset, NOW)
    assert isinstance(bad, InboundMessage) and bad.locale is None


@given(st.text(max_size=300), st.from_regex(r"[A-Za-z0-9_-]{8,64}", fullmatch=True))
def test_any_text_arrives_clean_and_can_be_stored(text: str, id_: str):
    frame = SayFrame(type="say", id=id_, text=text)
    event = to_event(frame, ADA, NOW)
    if event is not None:
        assert "\x00" not in event.text
        assert event == INBOUND_EVENT.validate_json(INBOUND_EVENT.dump_json(event))


@given(st.text(max_size=64))
def test_press_data_is_printable_ascii(data: str):
    """Cover A34."""
    raw = json.dumps({"type": "press", "id": "12345678", "message": "m", "data": data})
    try:
        frame = read_frame(raw)
    except BadFrame:
        assert not data or not data.isascii() or not data.isprintable()
    else:
        assert isinstance(frame, PressFrame)


@pytest.mark.parametrize(
    ("mime", "kind"),
    [
        ("audio/webm", AttachmentKind.VOICE),
        ("image/png", AttachmentKind.PHOTO),
        ("video/webm", AttachmentKind.DOCUMENT),
    ],
)
def test_a_file_is_of_the_kind_that_its_type_says(mime: str, kind: AttachmentKind) -> None:
    file = {"number": 0, "name": "a", "mime": mime, "size": 3}
    frame = SayFrame.model_validate({"type": "say", "id": "12345678", "text": "", "files": [file]})
    event = to_event(frame, ADA, NOW)
    assert isinstance(event, InboundMessage)
    assert [kind] == [each.kind for each in event.attachments]
