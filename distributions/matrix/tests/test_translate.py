"""Translation of events, without a homeserver."""

from datetime import UTC, datetime

import pytest

from channels.messages import (
    AttachmentKind,
    ChatKind,
    InboundEvent,
    InboundMessage,
    Membership,
    MembershipChanged,
    MessageDeleted,
    Rejected,
)
from distributions.matrix.tests.events import ADA, BOB, BOT, DIRECT, GROUP, event, text
from tenk_matrix.raw import RawEvent
from tenk_matrix.translate import MatrixRoom, translate, validate

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def read(raw: object, room: MatrixRoom = DIRECT) -> InboundEvent | None:
    valid = validate(raw)
    assert isinstance(valid, RawEvent)
    return translate(valid, room, BOT, NOW)


def message(raw: object, room: MatrixRoom = DIRECT) -> InboundMessage:
    found = read(raw, room)
    assert isinstance(found, InboundMessage)
    return found


def test_a_room_of_two_is_direct():
    said = message(event(text("hello")))
    assert ("$1", "$1", "hello", ChatKind.DIRECT, False) == (
        said.event_id,
        said.message_id,
        said.text,
        said.kind,
        said.edited,
    )
    assert ("matrix:@ada:example.org", "Ada", 2026) == (
        said.sender_key,
        said.sender.display_name,
        said.received_at.year,
    )


def test_a_room_of_three_is_a_group_and_a_member_without_a_name_has_the_id():
    said = message(event(text("hello"), sender=BOB), GROUP)
    assert (ChatKind.GROUP, BOB, False) == (said.kind, said.sender.display_name, said.mentions_bot)


@pytest.mark.parametrize(
    "content",
    [
        text("Coach: log 20m", **{"m.mentions": {"user_ids": [BOT.user]}}),
        text("@Coach log 20m", **{"m.mentions": {"user_ids": [BOB, BOT.user]}}),
        text("bot, log 20m", **{"m.mentions": {"user_ids": [BOT.user]}}),
        text("[Coach](https://matrix.to/#/@bot:example.org) log 20m", **{"m.mentions": {"user_ids": [BOT.user]}}),
        text("[@bot](https://matrix.to/#/%40bot%3Aexample.org): log 20m", **{"m.mentions": {"user_ids": [BOT.user]}}),
        text("Coach: log 20m", formatted_body='<a href="https://matrix.to/#/%40bot%3Aexample.org">Coach</a>: log 20m'),
        text("@bot:example.org: log 20m"),
    ],
)
def test_a_mention_addresses_the_bot_and_is_taken_off_the_beginning(content):
    said = message(event(content), GROUP)
    assert (True, "log 20m") == (said.mentions_bot, said.text)


@pytest.mark.parametrize(
    "content",
    [
        text("Coach: hello", **{"m.mentions": {}}),
        text("ask @bot:example.org.evil.net"),
        text("Coaches are great"),
        text("hello", **{"m.mentions": {"user_ids": "all"}}),
    ],
)
def test_what_only_looks_like_a_mention_is_none(content):
    assert not message(event(content), GROUP).mentions_bot


def test_a_mention_of_another_person_stays():
    pill = "[Bob](https://matrix.to/#/@bob:example.org)"
    said = message(event(text(f"{pill} ask Coach", **{"m.mentions": {"user_ids": [BOT.user]}})), GROUP)
    assert f"{pill} ask Coach" == said.text


def test_an_exclamation_mark_stands_for_the_slash_that_clients_keep():
    assert "/log 20m piano" == message(event(text("!log 20m piano"))).text
    assert "! stop that" == message(event(text("! stop that"))).text


def test_an_edit_has_the_id_of_its_message_and_the_new_words():
    relation = {"rel_type": "m.replace", "event_id": "$0"}
    content = text("* new", **{"m.new_content": text("new"), "m.relates_to": relation})
    said = message(event(content))
    assert (True, "$0", "$1", "new") == (said.edited, said.message_id, said.event_id, said.text)


@pytest.mark.parametrize("raw", [event({}, redacts="$0"), event({"redacts": "$0"})])
def test_a_redaction_is_a_deletion(raw):
    gone = read({**raw, "type": "m.room.redaction"})
    assert isinstance(gone, MessageDeleted)
    assert ("$0", ADA) == (gone.message_id, gone.sender.id)


def test_a_thread_is_one_of_the_address_and_its_fallback_is_no_reply():
    relation = {"rel_type": "m.thread", "event_id": "$0", "is_falling_back": True, "m.in_reply_to": {"event_id": "$9"}}
    said = message(event(text("hello", **{"m.relates_to": relation})))
    assert ("$0", None) == (said.address.thread, said.reply_to)
    said = message(event(text("hello", **{"m.relates_to": {**relation, "is_falling_back": False}})))
    assert ("$0", "$9") == (said.address.thread, said.reply_to)


def test_a_reply_comes_without_the_quotation_of_older_clients():
    quoted = "> <@bob:example.org> first\n> second\n\nyes"
    said = message(event(text(quoted, **{"m.relates_to": {"m.in_reply_to": {"event_id": "$9"}}})))
    assert ("yes", "$9") == (said.text, said.reply_to)


def test_a_quotation_in_a_message_that_is_no_reply_stays():
    assert "> to be\n\nby whom?" == message(event(text("> to be\n\nby whom?"))).text


def test_a_picture_has_its_handle_and_caption():
    info = {"mimetype": "image/png", "size": 7}
    content = {"msgtype": "m.image", "body": "look", "filename": "a.png", "url": "mxc://example.org/x", "info": info}
    said = message(event(content))
    (file,) = said.attachments
    assert ("look", "a.png", "image/png", 7) == (said.text, file.name, file.mime, file.size_bytes)
    assert (AttachmentKind.PHOTO, "mxc://example.org/x") == (file.kind, file.handle)


def test_the_name_of_a_file_is_no_caption():
    content = {"msgtype": "m.audio", "body": "voice.ogg", "url": "mxc://example.org/x", "info": {"size": "many"}}
    said = message(event(content))
    assert ("", "voice.ogg", AttachmentKind.VOICE, None) == (
        said.text,
        said.attachments[0].name,
        said.attachments[0].kind,
        said.attachments[0].size_bytes,
    )


@pytest.mark.parametrize("url", [None, 7, "https://example.org/x"])
def test_a_file_without_a_place_on_the_homeserver_is_none(url):
    assert () == message(event({"msgtype": "m.file", "body": "a.pdf", "url": url})).attachments


def test_an_emote_names_its_author_and_a_notice_is_a_bot_s():
    assert "* Ada waves" == message(event(text("waves", msgtype="m.emote"))).text
    assert message(event(text("beep", msgtype="m.notice"))).sender.is_bot


@pytest.mark.parametrize(
    ("membership", "before", "change"),
    [("join", "invite", Membership.ADDED), ("leave", "join", Membership.LEFT), ("ban", "join", Membership.LEFT)],
)
def test_our_own_membership_is_told(membership, before, change):
    unsigned = {"prev_content": {"membership": before}}
    told = read(event({"membership": membership}, "m.room.member", BOT.user, state_key=BOT.user, unsigned=unsigned))
    assert isinstance(told, MembershipChanged)
    assert change is told.change


@pytest.mark.parametrize(
    "raw",
    [
        event(text("mine"), sender=BOT.user),
        event({"membership": "join"}, "m.room.member", state_key=ADA),
        event({"membership": "invite"}, "m.room.member", state_key=BOT.user),
        event(
            {"membership": "join", "displayname": "New"},
            "m.room.member",
            BOT.user,
            state_key=BOT.user,
            unsigned={"prev_content": {"membership": "join"}},
        ),
        event({}, "m.room.message"),
        event({"body": ["no", "text"]}),
        event({"algorithm": "m.megolm.v1.aes-sha2"}, "m.room.encrypted"),
        event({}, "m.room.redaction"),
        event(text("*", **{"m.relates_to": {"rel_type": "m.replace", "event_id": "$0"}})),
    ],
)
def test_what_is_no_business_of_a_bot_is_passed_by(raw):
    assert read(raw) is None


@pytest.mark.parametrize("raw", [None, 7, {"type": "m.room.message"}, event(text("x")) | {"content": "x"}])
def test_an_unreadable_event_is_rejected_with_its_reason(raw):
    rejected = validate(raw)
    assert isinstance(rejected, Rejected)
    assert rejected.event_id
    assert rejected.reason
