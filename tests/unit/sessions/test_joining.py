"""A message that a client split, joined by its rows."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from channels.base import Limits, TextUnit
from channels.messages import (
    Address,
    Attachment,
    AttachmentKind,
    ChatKind,
    InboundMessage,
    Quoted,
    QuoteKind,
    Sender,
)
from gateway.sessions.inbox_rules import JOIN_WITHIN, belongs, join_rows, open_until
from gateway.store.inbox import InboxRow

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
LIMITS = Limits(max_text=4096, unit=TextUnit.UTF16)


def row(id_: int, text: str = "", *, after_s: float = 0.0, album: str | None = None, user: str = "ana") -> InboxRow:
    at = NOW + timedelta(seconds=after_s)
    files = (Attachment(AttachmentKind.PHOTO, f"file{id_}"),) if album else ()
    event = InboundMessage(
        event_id=f"msg:1:{id_}",
        address=Address("telegram", "main", "1"),
        sender=Sender("1", "Ana"),
        received_at=at,
        message_id=str(id_),
        kind=ChatKind.DIRECT,
        text=text,
        attachments=files,
        album=album,
    )
    return InboxRow(id_, "default", "key", user, event, at)


def test_a_short_text_is_whole_at_once() -> None:
    assert open_until(row(1, "hello"), LIMITS) is None


def test_a_text_near_the_limit_may_go_on_for_a_moment() -> None:
    assert NOW + JOIN_WITHIN == open_until(row(1, "x" * 4000), LIMITS)


@pytest.mark.parametrize(("after_s", "expected"), [(0.2, True), (1.5, True), (1.6, False)])
def test_only_what_comes_in_time_belongs(after_s: float, expected: bool) -> None:
    assert expected == belongs(row(1, "x" * 4090), row(2, "the rest", after_s=after_s), LIMITS)


def test_another_persons_message_never_belongs() -> None:
    assert not belongs(row(1, "x" * 4090), row(2, "mine", after_s=0.1, user="ben"), LIMITS)


def test_two_albums_stay_apart() -> None:
    assert not belongs(row(1, album="a"), row(2, album="b", after_s=0.1), LIMITS)


def test_one_row_stays_as_it_is() -> None:
    only = replace(row(7, "hello"))
    assert only == join_rows([only])


@pytest.mark.parametrize(
    ("first", "more"),
    [
        ({"forwarded": True}, {}),
        ({}, {"forwarded": True}),
        ({"forwarded": True, "forwarded_from": "Bo"}, {"forwarded": True, "forwarded_from": "Cy"}),
        ({}, {"quoted": (Quoted(QuoteKind.REPLY, "hm"),)}),
    ],
)
def test_own_words_are_never_joined_to_another_persons_words(first: dict[str, object], more: dict[str, object]) -> None:
    begun, following = row(1, "x" * 4090), row(2, "the rest", after_s=0.1)
    begun = replace(begun, event=replace(begun.event, **first))
    following = replace(following, event=replace(following.event, **more))
    assert not belongs(begun, following, LIMITS)
    assert belongs(begun, replace(following, event=replace(begun.event, message_id="2")), LIMITS)
