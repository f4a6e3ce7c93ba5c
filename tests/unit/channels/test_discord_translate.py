"""Single dispatches of Discord, translated."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.discord.channel_cache import ChannelCache, Place
from channels.discord.config import DiscordAccount
from channels.discord.identity import BotIdentity
from channels.discord.raw import RawOption
from channels.discord.reply_route import ReplyRoute
from channels.discord.translate import (
    MOST_AUTHORS,
    TranslationContext,
    channel_of,
    instant_of,
    snowflake_at,
    to_rejected,
    translate,
)
from channels.discord.translate_interaction import translate_interaction
from channels.messages import (
    AttachmentKind,
    ChatKind,
    CommandInvoked,
    InboundMessage,
    MessageDeleted,
    Rejected,
    Sender,
)

NOW = datetime(2026, 11, 20, tzinfo=UTC)
EVENTS = ["MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK", "GUILD_CREATE", "GUILD_DELETE"]
AUTHOR = {"id": "7", "username": "ana", "global_name": "Ana"}


def context(**more: object) -> TranslationContext:
    found = TranslationContext(
        BotIdentity("main", "99", "98"),
        DiscordAccount.model_validate({"token": "made.up.token"} | more),
        ChannelCache(),
    )
    found.channels.put(Place("50", "5"))
    found.channels.put(Place("51", "5", "50"))
    return found


def message(**more: object) -> dict[str, object]:
    return {"id": "1000", "channel_id": "1", "author": AUTHOR, "content": "hi", "type": 0} | more


def heard(**more: object) -> InboundMessage:
    (event,) = translate("MESSAGE_CREATE", 1, message(**more), context(), NOW)
    assert isinstance(event, InboundMessage)
    return event


def test_a_direct_message():
    event = heard()
    assert ("msg:1000", "discord:7", "Ana") == (event.event_id, event.sender_key, event.sender.display_name)
    assert (ChatKind.DIRECT, "1", None) == (event.kind, event.address.chat, event.address.thread)
    assert instant_of("1000") == event.received_at


def test_a_thread_is_an_address_under_its_channel():
    event = heard(channel_id="51", guild_id="5", member={"nick": "Annie"})
    assert (ChatKind.GROUP, "50", "51", "Annie") == (
        event.kind,
        event.address.chat,
        event.address.thread,
        event.sender.display_name,
    )


def test_words_as_people_read_them():
    bot, bob = {"id": "99", "username": "TenK"}, {"id": "8", "username": "bob"}
    cases = {
        "<@99> hello": "hello",
        "<@!99>, hello": "hello",
        "hello <@99>": "hello",
        "hello <@99> there": "hello there",
        "ask <@8> and <@123>": "ask @bob and <@123>",
        "<:smile:5> <a:dance:6>": ":smile: :dance:",
        "<@99>": "@TenK",
        "a < b": "a < b",
    }
    assert list(cases.values()) == [heard(content=text, mentions=[bot, bob]).text for text in cases]


def test_files_by_kind():
    """Cover A70."""
    files = [
        {"id": "1", "filename": "../../x", "size": 5},
        {"id": "2", "filename": "a.png", "content_type": "image/png"},
        {"id": "3", "filename": "b.ogg", "content_type": "audio/ogg; codecs=opus"},
    ]
    found = heard(content="", attachments=files).attachments
    kinds = [AttachmentKind.DOCUMENT, AttachmentKind.PHOTO, AttachmentKind.VOICE]
    assert kinds == [one.kind for one in found]
    assert ("../../x", "1/1000/1", 5, "audio/ogg") == (
        found[0].name,
        found[0].handle,
        found[0].size_bytes,
        found[2].mime,
    )


def test_nothing_is_heard_of_what_says_nothing():
    silent = [
        ("MESSAGE_CREATE", message(author=AUTHOR | {"id": "99"})),
        ("MESSAGE_CREATE", message(type=7)),
        ("MESSAGE_CREATE", message(content="")),
        ("MESSAGE_UPDATE", message(edited_timestamp=None)),
        ("MESSAGE_UPDATE", {"id": "1000", "channel_id": "1"}),
        ("MESSAGE_DELETE", {"id": "1000", "channel_id": "1"}),
        ("GUILD_CREATE", {"id": "5", "joined_at": "2020-01-01T00:00:00+00:00"}),
        ("GUILD_DELETE", {"id": "5", "unavailable": True}),
        ("TYPING_START", {"user_id": "7"}),
    ]
    assert [] == [event for name, data in silent for event in translate(name, 1, data, context(), NOW)]


def test_deletions_name_who_had_written_as_long_as_it_is_known():
    around = context()
    for number in range(MOST_AUTHORS + 1):
        around.remember_author(str(number), Sender("7", "Ana"))
    gone = translate("MESSAGE_DELETE_BULK", 1, {"ids": ["0", "1", "2"], "channel_id": "1"}, around, NOW)
    assert ["del:1", "del:2"] == [event.event_id for event in gone]
    assert all(isinstance(event, MessageDeleted) and event.sender.id == "7" for event in gone)


def test_only_messages_of_servers_need_their_channel_told():
    asked = [
        ("MESSAGE_CREATE", {"channel_id": "5", "guild_id": "1"}),
        ("MESSAGE_CREATE", {"channel_id": "5"}),
        ("MESSAGE_CREATE", {"channel_id": "x", "guild_id": "1"}),
        ("GUILD_CREATE", {"channel_id": "5", "guild_id": "1"}),
        ("MESSAGE_CREATE", None),
    ]
    assert ["5", None, None, None, None] == [channel_of(event, data) for event, data in asked]


def test_ids_and_instants_are_each_others_reverse():
    unix_ms = NOW.timestamp() * 1000
    assert NOW == instant_of(snowflake_at(unix_ms))
    assert 0 == snowflake_at(0)


def test_a_rejected_dispatch_has_a_name_and_is_cut():
    assert "dispatch:X:12" == to_rejected("X", 1, {"id": "12"}, "no").event_id
    unnamed = to_rejected("X", 1, {"a": "b" * 20_000}, "no")
    assert unnamed == to_rejected("X", 1, {"a": "b" * 20_000}, "no")
    assert 16_384 == len(unnamed.raw)
    assert "\ud800" not in to_rejected("X", 1, {"a": "\ud800"}, "no").raw


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.sampled_from(["1000", "99", "7"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)
FIELDS = [
    "id", "ids", "channel_id", "guild_id", "author", "member", "content", "timestamp", "edited_timestamp", "type",
    "flags", "mentions", "attachments", "message_reference", "referenced_message", "message_snapshots", "token",
    "data", "user", "channel", "joined_at", "unavailable", "locale", "message", "channels", "threads",
]  # fmt: skip


@given(
    event=st.sampled_from(EVENTS),
    data=JSON | st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=10),
    base=st.sampled_from([{}, message(), {"id": "5", "type": 2, "token": "s3cret", "channel_id": "1", "user": AUTHOR}]),
)
def test_nothing_ends_the_translation(event: str, data: object, base: dict[str, object]):
    around = context()
    laid = base | data if isinstance(data, dict) else data
    around.channels.learn(event, laid)
    translate(event, 3, laid, around, NOW)
    found = translate_interaction(3, laid, around)
    if isinstance(found, Rejected):
        assert "s3cret" not in found.raw


def test_commands_as_they_are_used():
    options = [
        {"name": "group", "type": 1, "options": [{"name": "text", "type": 3, "value": " guitar "}]},
        {"name": "minutes", "type": 4, "value": 30},
        {"name": "empty", "type": 3},
    ]
    raw = {
        "id": str(snowflake_at(NOW.timestamp() * 1000)),
        "type": 2,
        "token": "secret",
        "guild_id": "5",
        "channel": {"id": "77", "type": 11, "parent_id": "50"},
        "member": {"nick": "Annie", "user": AUTHOR},
        "locale": "es-ES",
        "data": {"name": "log", "type": 1, "options": options},
    }
    event = translate_interaction(1, raw, context())
    assert isinstance(event, CommandInvoked)
    assert ("log", "group guitar 30", "es-ES", ChatKind.GROUP) == (
        event.name,
        event.arguments,
        event.locale,
        event.kind,
    )
    assert ("50", "77") == (event.address.chat, event.address.thread)
    assert event.route is not None
    assert RawOption(name="x", type=3).value is None


@pytest.mark.parametrize(
    ("name", "guild", "kind", "person"),
    [
        ("stats", "5", "private", "7"),
        ("unheard-of", "5", "private", "7"),
        ("coach", "5", "interaction", ""),
        ("stats", None, "interaction", ""),
    ],
)
def test_who_sees_the_answer_is_told_by_the_name(name: str, guild: str | None, kind: str, person: str):
    raw = {
        "id": str(snowflake_at(NOW.timestamp() * 1000)),
        "type": 2,
        "token": "secret",
        "guild_id": guild,
        "channel_id": "50",
        "user": AUTHOR,
        "data": {"name": name, "type": 1},
    }
    around = replace(context(), is_shared=lambda command: command == "coach")
    event = translate_interaction(1, raw, around)
    assert isinstance(event, CommandInvoked)
    assert event.route is not None
    reply_route = ReplyRoute.of(event.route)
    assert (kind, str(raw["id"]), "secret", person) == (
        reply_route.kind,
        reply_route.interaction,
        reply_route.token,
        reply_route.person,
    )
    assert reply_route.as_route() == event.route
    assert (True, False) == (
        reply_route.is_valid(NOW + timedelta(minutes=13)),
        reply_route.is_valid(NOW + timedelta(minutes=14)),
    )
    assert (person != "") is (event.route.expires_at > NOW + timedelta(days=1))


def test_interactions_that_are_not_ours():
    fine = {"id": "1", "type": 2, "token": "t", "channel_id": "1", "user": AUTHOR, "data": {"name": "log", "type": 1}}
    others = [
        fine | {"type": 4},
        fine | {"type": 5},
        fine | {"data": {"name": "log", "type": 3}},
        fine | {"type": 3, "data": {"custom_id": "x", "component_type": 3}},
        fine | {"type": 3, "data": {"custom_id": "x", "component_type": 2}},
        fine | {"user": None},
        fine | {"channel_id": None},
        fine | {"data": None},
    ]
    assert [None] * len(others) == [translate_interaction(1, raw, context()) for raw in others]
