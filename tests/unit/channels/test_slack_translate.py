"""Raw Slack payloads, translated: sender, place, text and key. Never an exception."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.messages import (
    AttachmentKind,
    ButtonPressed,
    ChatKind,
    CommandInvoked,
    InboundMessage,
    MessageDeleted,
    Rejected,
)
from channels.slack.identity import BotIdentity
from channels.slack.mrkdwn import escape, mentions, to_text, unescape
from channels.slack.names import people_in
from channels.slack.reply_route import ReplyRoute
from channels.slack.translate import TranslationContext, said_at, translate_event
from channels.slack.translate_interaction import translate_actions, translate_command

US = BotIdentity("main", "T1", "U0BOT", "B0BOT")
TS = "1700000000.000100"
NOW = said_at(TS)
MESSAGE = {"type": "message", "channel": "D1", "channel_type": "im", "user": "U1", "text": "hi", "ts": TS, "team": "T1"}


def event(**more: object) -> dict:
    raw = {key: value for key, value in (MESSAGE | more).items() if value is not None}
    return {"type": "event_callback", "event_id": "Ev1", "team_id": "T1", "event_time": 1_700_000_000, "event": raw}


def said(threads: frozenset[str] = frozenset(), **more: object) -> InboundMessage:
    found = translate_event(event(**more), US, TranslationContext(threads))
    assert isinstance(found, InboundMessage), found
    return found


def test_a_direct_message():
    one = said()
    assert (f"msg:T1:D1:{TS}", "D1", None) == (one.event_id, one.address.chat, one.address.thread)
    assert ("T1:U1", False, ChatKind.DIRECT, "hi", False) == (
        one.sender.id,
        one.sender.is_bot,
        one.kind,
        one.text,
        one.mentions_bot,
    )
    assert NOW == one.received_at


@pytest.mark.parametrize(
    ("more", "sender"),
    [
        ({"user_team": "T2"}, "T2:U1"),
        ({"source_team": "T3", "team": "T1"}, "T3:U1"),
        ({"team": None}, "T1:U1"),
    ],
)
def test_sender_is_known_with_their_own_team(more, sender):
    """Cover A30."""
    assert sender == said(**more).sender.id


@pytest.mark.parametrize(
    "more",
    [
        {"subtype": "bot_message", "bot_id": "B9", "user": None, "username": "owner"},
        {"bot_id": "B9", "user": "U9"},
        {"user": "USLACKBOT"},
    ],
)
def test_apps_and_webhooks_are_no_persons(more):
    """Cover A27, A29."""
    assert said(**more).sender.is_bot


@pytest.mark.parametrize(
    "more",
    [
        {"user": "U0BOT"},
        {"user": None, "bot_id": "B0BOT", "subtype": "bot_message"},
        {"subtype": "channel_join"},
        {"subtype": "channel_topic"},
        {"text": ""},
        {"type": "reaction_added"},
        {"type": "app_home_opened"},
        {"type": "member_joined_channel", "user": "U7"},
        {"subtype": "message_changed"},
        {"subtype": "message_deleted", "deleted_ts": TS},
    ],
)
def test_what_says_nothing_is_no_event(more):
    assert None is translate_event(event(**more), US)


def test_a_deleted_message_that_others_replied_to_is_taken_back():
    before = {"user": "U1", "text": "oops", "ts": TS, "thread_ts": TS}
    tomb = {"user": "USLACKBOT", "subtype": "tombstone", "text": "This message was deleted.", "ts": TS, "thread_ts": TS}
    found = translate_event(event(subtype="message_changed", message=tomb, previous_message=before), US)
    assert isinstance(found, MessageDeleted)
    assert (TS, TS, "T1:U1") == (found.message_id, found.address.thread, found.sender.id)


def test_preview_added_to_a_message_is_no_edit():
    before = {"user": "U1", "text": "https://x.y", "ts": TS}
    changed = event(subtype="message_changed", message=before | {"attachments": []}, previous_message=before)
    assert None is translate_event(changed, US)


@pytest.mark.parametrize(
    ("text", "mention", "thread", "shown"),
    [
        ("<@U0BOT> hello", True, TS, "hello"),
        ("<@U0BOT|tenk>: hello", True, TS, "hello"),
        ("hello <@U0BOT>", True, TS, "hello @U0BOT"),
        ("hello <@U0BOTX>", False, None, "hello @U0BOTX"),
        ("hello", False, None, "hello"),
        ("<@U0BOT>", True, TS, ""),
    ],
)
def test_mention_in_a_channel_opens_a_thread(text, mention, thread, shown):
    one = said(channel="C1", channel_type="channel", text=text)
    assert (mention, thread, shown) == (one.mentions_bot, one.address.thread, one.text)


def test_thread_of_ours_needs_no_mention():
    where = {"channel": "C1", "channel_type": "channel", "thread_ts": "1600000000.000001"}
    assert not said(**where).mentions_bot
    assert said(frozenset({"C1:1600000000.000001"}), **where).mentions_bot
    assert said(**where, parent_user_id="U0BOT").mentions_bot


def test_message_and_mention_are_equal():
    where = {"channel": "C1", "text": "<@U0BOT> hi", "channel_type": "channel"}
    assert said(**where) == said(**where | {"type": "app_mention", "channel_type": None})


@pytest.mark.parametrize(
    ("mime", "subtype", "kind"),
    [
        ("image/png", None, AttachmentKind.PHOTO),
        ("audio/mp4", None, AttachmentKind.VOICE),
        ("video/mp4", "slack_audio", AttachmentKind.VOICE),
        ("application/pdf", None, AttachmentKind.DOCUMENT),
        (None, None, AttachmentKind.DOCUMENT),
    ],
)
def test_files_keep_their_names_as_data(mime, subtype, kind):
    """Cover A70."""
    file = {"id": "F1", "name": "../../x\x00", "mimetype": mime, "subtype": subtype, "size": 21_000_000}
    gone = {"id": "F2", "mode": "tombstone"}
    one = said(text="", subtype="file_share", files=[{k: v for k, v in file.items() if v is not None}, gone])
    (attachment,) = one.attachments
    assert (kind, "F1", "../../x", 21_000_000) == (
        attachment.kind,
        attachment.handle,
        attachment.name,
        attachment.size_bytes,
    )


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("a &amp; b &lt;c&gt; &amp;lt;", "a & b <c> &lt;"),
        ("<https://x.y/?a=1&amp;b=2>", "https://x.y/?a=1&b=2"),
        ("<https://x.y|here>", "here (https://x.y)"),
        ("<mailto:a@b.c|a@b.c>", "a@b.c"),
        ("<#C1|general> <#C2>", "#general #C2"),
        ("<!channel> <!here|@here> <!subteam^S1|@team>", "@channel @here @team"),
        ("<!date^1392734382^{date}|18 Feb>", "18 Feb"),
        ("<@U7|bob> and <@W8>", "@bob and @W8"),
        ("unclosed <@U7", "unclosed <@U7"),
        ("a\x00b\ud800", "ab\ufffd"),
    ],
)
def test_markup_is_read_as_people_saw_it(raw, shown):
    assert shown == to_text(raw, "U0BOT")


def test_mentioned_people_are_called_by_their_names():

    def name_of(user: str, team: str | None) -> str | None:
        return {"U7": "Ann <&> Co"}.get(user)

    assert "@Ann <&> Co, @bob and @U9" == to_text("<@U7|ann>, <@U8|bob> and <@U9>", "U0BOT", name_of)


@given(st.text(max_size=200))
def test_escaping_can_be_undone_and_has_no_mention(text: str):
    """Cover A63."""
    assert text == unescape(escape(text))
    assert not mentions(escape(text), "U0BOT")
    assert not {"<", ">"} & {*escape(text)}


COMMAND = {
    "command": "/Log",
    "text": "45m &amp; more",
    "team_id": "T1",
    "channel_id": "D1",
    "channel_name": "directmessage",
    "user_id": "U1",
    "user_name": "ann",
    "trigger_id": "1.2.abc",
    "response_url": "https://hooks.slack.com/commands/x",
}


def test_a_command():
    one = translate_command(COMMAND, US, NOW)
    assert isinstance(one, CommandInvoked)
    assert ("log", "45m & more", ChatKind.DIRECT, "cmd:T1:1.2.abc", "T1:U1") == (
        one.name,
        one.arguments,
        one.kind,
        one.event_id,
        one.sender.id,
    )
    assert one.route is not None
    assert 1_800 == round((ReplyRoute.of(one.route).ends_at - NOW).total_seconds())
    group = translate_command(COMMAND | {"channel_id": "C1", "channel_name": "general"}, US, NOW)
    assert isinstance(group, CommandInvoked)
    assert ChatKind.GROUP is group.kind


ACTIONS = {
    "type": "block_actions",
    "trigger_id": "9.9",
    "user": {"id": "U1", "team_id": "T2"},
    "team": {"id": "T1"},
    "channel": {"id": "C1"},
    "container": {"message_ts": TS, "thread_ts": "1600000000.000001"},
    "actions": [{"type": "button", "action_id": "tenk:0", "value": "yes"}],
    "response_url": "https://hooks.slack.com/x",
}


def test_a_press():
    one = translate_actions(ACTIONS, US, NOW)
    assert isinstance(one, ButtonPressed)
    assert ("yes", TS, "T2:U1", "1600000000.000001", None) == (
        one.data,
        one.message_id,
        one.sender.id,
        one.address.thread,
        one.route,
    )


def test_a_press_of_another_persons_button_is_none_of_ours():
    other = [{"type": "button", "action_id": "x", "value": "yes"}]
    assert None is translate_actions(ACTIONS | {"actions": other}, US, NOW)
    select = [{"type": "static_select", "action_id": "tenk:0"}]
    assert None is translate_actions(ACTIONS | {"actions": select}, US, NOW)
    assert None is translate_actions({key: one for key, one in ACTIONS.items() if key != "container"}, US, NOW)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_KEYS = st.sampled_from(
    ["channel", "user", "text", "ts", "thread_ts", "files", "edited", "subtype", "message", "bot_id"]
)


@given(st.dictionaries(_KEYS, _JSON, max_size=4))
def test_damaged_events_never_raise(damage: dict):
    """Cover A91."""
    found = translate_event(event(**damage), US)
    assert found is None or found.event_id
    if isinstance(found, Rejected):
        assert 16_384 >= len(found.raw)


@given(_JSON, st.sampled_from([translate_command, translate_actions]))
def test_damaged_interactions_never_raise(body: object, translate):
    found = translate(body, US, NOW)
    assert found is None or isinstance(found, Rejected)
    for key in ("text", "user", "actions", "channel_id", "trigger_id"):
        base = COMMAND if translate is translate_command else ACTIONS
        translate(base | {key: body}, US, NOW)
    translate_event(body, US)


@given(_JSON)
def test_whose_names_are_needed_is_told_of_anything(body: object):
    for whole in (body, event() | {"event": body}, COMMAND | {"user_id": body}, {"user": body}):
        assert all(user.startswith(("U", "W")) for user in people_in(whole))


def test_names_are_needed_of_who_speaks_and_whom_they_mention():
    crowd = "".join(f"<@U{n}>" for n in range(100, 150))
    assert ["U1", "U2"] == people_in(event(text="<@U2> and <@U1>"))
    assert [] == people_in(event(bot_id="B1", text="<@U2>"))
    assert 11 == len(people_in(event(text=crowd)))
    assert ["U1"] == people_in(COMMAND)
    assert [] == people_in(event(type="user_change", user={"id": "U1"}))
