"""Raw updates, translated: keys, senders, groups, commands, threads; nothing stops a batch."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.foreign import storable
from channels.messages import (
    INBOUND_EVENT,
    Attachment,
    AttachmentKind,
    ChatKind,
    ChatMigrated,
    InboundMessage,
    Membership,
    MembershipChanged,
    Rejected,
)
from channels.telegram.identity import BotIdentity
from channels.telegram.translate import translate

US = BotIdentity("main", 123456, "TenK_bot")
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ANN = {"id": 7, "is_bot": False, "first_name": "Ann", "last_name": "Lee", "username": "ann", "language_code": "de"}
HOME = {"id": 7, "type": "private", "first_name": "Ann"}
BAND = {"id": -100500, "type": "supergroup", "title": "Band"}


def _update(kind: str = "message", **fields: object) -> dict[str, object]:
    body = {"message_id": 5, "from": ANN, "chat": HOME, "date": 1_790_000_000, "text": "hello"} | fields
    return {"update_id": 900, kind: {key: value for key, value in body.items() if value is not None}}


def _message(kind: str = "message", **fields: object) -> InboundMessage:
    event = translate(_update(kind, **fields), US, NOW)
    assert isinstance(event, InboundMessage)
    return event


def _command(text: str) -> dict[str, object]:
    return {"text": text, "entities": [{"type": "bot_command", "offset": 0, "length": len(text.partition(" ")[0])}]}


def test_message_of_a_person():
    event = _message()
    assert ("msg:7:5", "telegram:main:7", "telegram:7") == (event.event_id, event.address.lane, event.sender_key)
    assert ("Ann Lee", False, "de") == (event.sender.display_name, event.sender.is_bot, event.locale)
    assert (ChatKind.DIRECT, "hello", "5", False) == (event.kind, event.text, event.message_id, event.edited)
    assert datetime(2026, 9, 21, 14, 13, 20, tzinfo=UTC) == event.received_at


def test_edit_has_the_messages_id_and_its_own_key():
    event = _message("edited_message", edit_date=1_790_000_060)
    assert ("edit:7:5:900", "5", True) == (event.event_id, event.message_id, event.edited)
    assert 1_790_000_060 == event.received_at.timestamp()


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("/log 30m scales", "/log 30m scales"),
        ("/log@TenK_bot 30m scales", "/log 30m scales"),
        ("/log@tenk_BOT 30m", "/log 30m"),
        ("/help@tenk_bot", "/help"),
    ],
)
def test_command_meant_for_us_loses_our_name(said: str, heard: str):
    event = _message(chat=BAND, **_command(said))
    assert (heard, True, ChatKind.GROUP) == (event.text, event.mentions_bot, event.kind)


def test_command_for_another_bot_is_not_ours():
    assert translate(_update(chat=BAND, **_command("/log@other_bot 30m")), US, NOW) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "🎹 @tenk_BOT hi", "entities": [{"type": "mention", "offset": 3, "length": 9}]},
        {"text": "you there", "entities": [{"type": "text_mention", "offset": 0, "length": 3, "user": {"id": 123456}}]},
        {"reply_to_message": {"message_id": 4, "from": {"id": 123456, "is_bot": True}}},
        {
            "text": None,
            "caption": "@tenk_bot",
            "photo": [{"file_id": "p"}],
            "caption_entities": [{"type": "mention", "offset": 0, "length": 9}],
        },
    ],
)
def test_groups_wake_us_by_mention_and_reply(fields: dict[str, object]):
    assert _message(chat=BAND, **fields).mentions_bot


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"text": "@tenk_bots", "entities": [{"type": "mention", "offset": 0, "length": 10}]},
        {"text": "mail a@tenk_bot", "entities": []},
        {"reply_to_message": {"message_id": 4, "from": {"id": 8, "is_bot": True}}},
        {"reply_to_message": {"message_id": 4, "from": {"id": 123456}, "forum_topic_created": {"name": "t"}}},
    ],
)
def test_groups_do_not_wake_us_otherwise(fields: dict[str, object]):
    assert not _message(chat=BAND, **fields).mentions_bot


@pytest.mark.parametrize(
    ("kind", "fields", "sender"),
    [
        ("message", {"from": ANN | {"is_bot": True}}, "telegram:7"),
        ("message", {"via_bot": {"id": 99, "is_bot": True, "first_name": "gif"}}, "telegram:7"),
        ("message", {"sender_chat": BAND, "chat": BAND}, "telegram:-100500"),
        ("channel_post", {"from": None, "sender_chat": BAND, "chat": BAND | {"type": "channel"}}, "telegram:-100500"),
        ("channel_post", {"from": None, "chat": BAND | {"type": "channel"}}, "telegram:-100500"),
    ],
)
def test_what_no_person_wrote_has_no_persons_name(kind: str, fields: dict[str, object], sender: str):
    """Cover A29."""
    event = _message(kind, **fields)
    assert (sender, True) == (event.sender_key, event.sender.is_bot)


def test_threads_only_where_there_are_topics():
    assert "42" == _message(chat=BAND, message_thread_id=42, is_topic_message=True).address.thread
    assert _message(chat=BAND, message_thread_id=42).address.thread is None


def test_forwarded_words_are_marked():
    """Cover A32."""
    assert _message(forward_origin={"type": "hidden_user", "date": 1}).forwarded
    assert not _message().forwarded


@pytest.mark.parametrize(
    ("chat", "field", "event_id"),
    [
        ({"id": -5, "type": "group", "title": "Band"}, {"migrate_to_chat_id": -100500}, "msg:-5:5"),
        (BAND, {"migrate_from_chat_id": -5}, "msg:-100500:5"),
    ],
)
def test_group_that_moved_tells_where_to(chat: dict[str, object], field: dict[str, int], event_id: str):
    """Cover A31."""
    event = translate(_update(chat=chat, text=None, **field), US, NOW)
    assert isinstance(event, ChatMigrated)
    assert (event_id, "-5", "-100500") == (event.event_id, event.address.chat, event.new_chat)


def test_files_of_one_album_say_so():
    photo = [{"file_id": "p"}]
    assert "135" == _message(text=None, photo=photo, media_group_id="135").album
    assert _message(text=None, photo=photo).album is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("voice", AttachmentKind.VOICE),
        ("audio", AttachmentKind.VOICE),
        ("video", AttachmentKind.DOCUMENT),
        ("video_note", AttachmentKind.DOCUMENT),
    ],
)
def test_sound_is_a_voice_message_and_a_film_a_document(name: str, kind: AttachmentKind):
    told = {"file_id": "f", "mime_type": "x/y", "file_size": 5, "duration": 7}
    assert (Attachment(kind, "f", None, "x/y", 5, 7),) == _message(text=None, **{name: told}).attachments


def test_general_topic_is_no_thread():
    forum = BAND | {"is_forum": True}
    assert _message(chat=forum).address.thread is None


def test_anonymous_admin_in_a_topic_is_no_person():
    """Cover A29."""
    mention = {"text": "@tenk_bot hi", "entities": [{"type": "mention", "offset": 0, "length": 9}]}
    robot = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
    event = _message(
        chat=BAND, sender_chat=BAND, message_thread_id=42, is_topic_message=True, **{"from": robot}, **mention
    )
    assert ("telegram:-100500", True, "42", True) == (
        event.sender_key,
        event.sender.is_bot,
        event.address.thread,
        event.mentions_bot,
    )


@pytest.mark.parametrize(
    ("chat", "before", "after", "change"),
    [
        (HOME, "member", "kicked", Membership.BLOCKED),
        (HOME, "kicked", "member", Membership.UNBLOCKED),
        (BAND, "left", "member", Membership.ADDED),
        (BAND, "administrator", "kicked", Membership.LEFT),
        (BAND, "member", "administrator", None),
    ],
)
def test_coming_and_going(chat: dict[str, object], before: str, after: str, change: Membership | None):
    body = {
        "chat": chat,
        "from": ANN,
        "date": 1_790_000_000,
        "old_chat_member": {"status": before},
        "new_chat_member": {"status": after},
    }
    event = translate({"update_id": 900, "my_chat_member": body}, US, NOW)
    assert change is (event.change if isinstance(event, MembershipChanged) else None)


@pytest.mark.parametrize("fields", [{"text": None, "pinned_message": {}}, {"text": None, "new_chat_title": "x"}])
def test_service_messages_say_nothing(fields: dict[str, object]):
    assert translate(_update(**fields), US, NOW) is None


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        "x",
        {},
        {"update_id": "1"},
        {"update_id": True, "message": {}},
        _update(message_id="5"),
        _update(chat={"id": 1.5, "type": "private"}),
        _update(date=-1),
        _update(date=10**18),
        _update(**{"from": {"id": 10**30}}),
        _update(text=5),
        _update(entities=[{"type": "bold", "offset": -1, "length": 2}]),
    ],
)
def test_malformed_updates_are_rejected_with_a_reason(raw: object):
    event = translate(raw, US, NOW)
    assert isinstance(event, Rejected)
    assert event.reason
    assert event.event_id.startswith("update:")


def test_bad_unicode_is_mended_one_unit_for_one():
    """Cover A91."""
    event = _message(text="\ud800 @tenk_bot\x00", entities=[{"type": "mention", "offset": 2, "length": 9}])
    assert ("\ufffd @tenk_bot", True) == (event.text, event.mentions_bot)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([
        "message_id", "chat", "id", "type", "date", "from", "text", "entities", "offset", "length", "photo", "file_id",
        "reply_to_message", "sender_chat", "first_name", "caption", "is_bot", "status", "data", "message",
    ]), inner, max_size=8),
    max_leaves=25,
)  # fmt: skip


@given(
    st.sampled_from(["message", "edited_message", "channel_post", "callback_query", "my_chat_member", "poll"]),
    JSON,
)
def test_translate_is_total(kind: str, body: object):
    event = translate({"update_id": 1, kind: body}, US, NOW)
    if isinstance(event, Rejected):
        event.raw.encode()


@given(st.text(st.characters(codec=None), min_size=1, max_size=50))
def test_any_text_survives_the_inbox(text: str):
    event = translate(_update(text=text), US, NOW)
    assert isinstance(event, InboundMessage)
    assert storable(text) == event.text
    assert event == INBOUND_EVENT.validate_json(INBOUND_EVENT.dump_json(event))
    json.dumps(event.text).encode()
