"""Quoted messages: they come with their author's name, and are never the sender's own words (A32)."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.discord.config import DiscordAccount
from channels.discord.identity import BotIdentity as DiscordSelf
from channels.discord.translate import TranslationContext as DiscordContext
from channels.discord.translate import translate as from_discord
from channels.messages import INBOUND_EVENT, MAX_QUOTED_CHARS, InboundMessage, Quoted, QuoteKind
from channels.slack.identity import BotIdentity as SlackSelf
from channels.slack.translate import TranslationContext, translate_event
from channels.telegram.identity import BotIdentity as TelegramSelf
from channels.telegram.translate import translate
from tests.fakes.amounts import share

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
REPLY, FORWARD = QuoteKind.REPLY, QuoteKind.FORWARD
ANA = {"id": 42, "first_name": "Ana", "is_bot": False}
GROUP = {"id": -100, "type": "supergroup", "title": "Choir"}


def telegram(**fields: Any) -> InboundMessage:
    message = {"message_id": 5, "date": 1, "chat": {"id": 42, "type": "private"}, "from": ANA, "text": "hi"} | fields
    event = translate({"update_id": 1, "message": message}, TelegramSelf("main", 7, "tenkbot"), NOW)
    assert isinstance(event, InboundMessage), event
    return event


ORIGINS = [
    ({"type": "user", "sender_user": {"id": 9, "first_name": "Bo", "last_name": "Li"}}, "Bo Li"),
    ({"type": "hidden_user", "sender_user_name": "Cy"}, "Cy"),
    ({"type": "chat", "sender_chat": GROUP, "author_signature": "Di"}, "Choir (Di)"),
    ({"type": "channel", "chat": {"id": -5, "type": "channel", "title": "News"}, "message_id": 3}, "News"),
    ({"type": "something new"}, None),
    ({"type": "user", "sender_user": 17}, None),
    ("not even an object", None),
]


@pytest.mark.parametrize(("origin", "author"), ORIGINS)
def test_telegram_says_whose_forwarded_words_are(origin: object, author: str | None) -> None:
    event = telegram(forward_origin=origin)
    assert (True, author, "hi") == (event.forwarded, event.forwarded_from, event.text)


@pytest.mark.parametrize(
    ("fields", "author"),
    [
        ({"forward_from": {"id": 9, "first_name": "Bo"}, "forward_date": 1}, "Bo"),
        ({"forward_sender_name": "Cy", "forward_date": 1}, "Cy"),
        ({"forward_from_chat": GROUP}, "Choir"),
        ({"forward_date": 1}, None),
    ],
)
def test_telegram_servers_before_7_are_understood(fields: dict[str, Any], author: str | None) -> None:
    event = telegram(**fields)
    assert (True, author) == (event.forwarded, event.forwarded_from)


def test_a_forwarded_command_or_mention_is_ignored() -> None:
    command = [{"type": "bot_command", "offset": 0, "length": 12}]
    ours = telegram(chat=GROUP, text="/log@tenkbot 45m x", entities=command, forward_origin={"type": "hidden_user"})
    assert (False, "/log@tenkbot 45m x") == (ours.mentions_bot, ours.text)
    assert telegram(text="/log@another 45m x", entities=command, forward_origin={"type": "hidden_user"}).forwarded


REPLIED = {"message_id": 4, "from": {"id": 9, "first_name": "Bo"}, "text": "I practised 45m"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"reply_to_message": REPLIED}, Quoted(REPLY, "I practised 45m", "Bo")),
        ({"reply_to_message": REPLIED | {"text": None, "caption": "look"}}, Quoted(REPLY, "look", "Bo")),
        ({"reply_to_message": REPLIED, "quote": {"text": "45m", "position": 12}}, Quoted(REPLY, "45m", "Bo")),
        (
            {"reply_to_message": REPLIED | {"from": {"id": 7, "first_name": "TenK", "is_bot": True}}},
            Quoted(REPLY, "I practised 45m", "TenK", ours=True),
        ),
        ({"reply_to_message": REPLIED | {"sender_chat": GROUP}}, Quoted(REPLY, "I practised 45m", "Choir")),
        (
            {"reply_to_message": REPLIED | {"forward_origin": {"type": "hidden_user", "sender_user_name": "Cy"}}},
            Quoted(REPLY, "I practised 45m", "Cy"),
        ),
        ({"external_reply": {"origin": ORIGINS[0][0]}, "quote": {"text": "afar"}}, Quoted(REPLY, "afar", "Bo Li")),
        ({"external_reply": {"origin": 5}, "quote": {"text": "far away"}}, Quoted(REPLY, "far away", None)),
    ],
)
def test_telegram_says_what_is_replied_to(fields: dict[str, Any], expected: Quoted) -> None:
    event = telegram(**fields)
    assert ("hi", (expected,), False) == (event.text, event.quoted, event.forwarded)


def test_a_quotation_is_bounded() -> None:
    (found,) = telegram(reply_to_message=REPLIED | {"text": "x" * 100_000}).quoted
    assert MAX_QUOTED_CHARS == len(found.text)


def discord(**fields: Any) -> InboundMessage:
    author = {"id": "42", "username": "ana", "global_name": "Ana"}
    message = {"id": "1300000000000000005", "channel_id": "77", "author": author, "content": "hi"} | fields
    (event,) = from_discord("MESSAGE_CREATE", 1, message, DiscordContext(DiscordSelf("main", "7", "8"), CONFIG), NOW)
    assert isinstance(event, InboundMessage), event
    return event


CONFIG = DiscordAccount(name="main", token="MTEy.abcdef.ghijklmnop")  # type: ignore[arg-type]  made a secret
BO = {"id": "9", "username": "bo", "global_name": "Bo"}


@pytest.mark.parametrize(
    ("earlier", "expected"),
    [
        ({"author": BO, "content": "45m <@9> <:ok:12>", "mentions": [BO]}, (Quoted(REPLY, "45m @Bo :ok:", "Bo"),)),
        ({"author": {"id": "7", "username": "tenk"}, "content": "done"}, (Quoted(REPLY, "done", "tenk", ours=True),)),
        (
            {"author": BO, "content": "", "message_snapshots": [{"message": {"content": "old"}}]},
            (Quoted(REPLY, "old", None),),
        ),
        ({"author": BO, "content": 17, "mentions": "x"}, ()),
        (None, ()),
    ],
)
def test_discord_says_what_is_replied_to(earlier: object, expected: tuple[Quoted, ...]) -> None:
    reference = {"type": 0, "message_id": "1300000000000000004"}
    event = discord(type=19, message_reference=reference, referenced_message=earlier)
    assert ("hi", expected) == (event.text, event.quoted)


def test_a_discord_forward_has_no_mention() -> None:
    fields = {
        "guild_id": "5",
        "content": "",
        "message_reference": {"type": 1, "message_id": "3"},
        "message_snapshots": [{"message": {"content": "/log 45m x <@7>"}}],
        "mentions": [{"id": "7", "username": "t"}],
    }
    event = discord(**fields)
    assert (True, None, False) == (event.forwarded, event.forwarded_from, event.mentions_bot)


def slack(known: TranslationContext | None = None, **fields: Any) -> InboundMessage:
    event = {"type": "message", "channel": "D1", "channel_type": "im", "user": "U9", "text": "hi"}
    event["ts"] = "1700000000.000200"
    body = {"type": "event_callback", "event_id": "Ev1", "team_id": "T1", "event_time": 1, "event": event | fields}
    found = translate_event(body, SlackSelf("main", "T1", "UBOT", "BBOT"), known or TranslationContext())
    assert isinstance(found, InboundMessage), found
    return found


def test_slack_shares_are_passed_on_words() -> None:
    shared = {"is_share": True, "author_name": "Bo", "author_id": "U8", "text": "&lt;45m&gt; guitar", "ts": 17}
    unfurled = {"is_msg_unfurl": True, "author_subname": "TenK", "author_id": "UBOT", "fallback": "[date] done"}
    event = slack(attachments=[shared, unfurled, {"text": "an app's card"}, "nonsense"])
    assert (Quoted(FORWARD, "<45m> guitar", "Bo"), Quoted(FORWARD, "[date] done", "TenK", ours=True)) == event.quoted
    assert "hi" == event.text
    bare = slack(text="", attachments=[shared])
    assert ("", 1) == (bare.text, len(bare.quoted))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["text", "from", "origin", "type", "sender_user", "content", "is_share", "author_name"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=share(80), deadline=None)
@given(value=json_values)
def test_whatever_is_quoted_the_persons_own_words_are_read(value: object) -> None:
    for field in ("forward_origin", "quote", "external_reply", "forward_from", "forward_sender_name"):
        event = telegram(**{field: value})
        assert "hi" == event.text
    assert (value is not None) == telegram(forward_origin=value).forwarded
    assert "hi" == slack(attachments=value).text
    earlier = {"author": BO, "content": value, "mentions": value, "message_snapshots": value}
    reference = {"type": 0, "message_id": "4"}
    assert "hi" == discord(type=19, message_reference=reference, referenced_message=earlier).text


def test_rows_from_before_quotations_were_kept_load() -> None:
    now = telegram(reply_to_message=REPLIED)
    assert now == INBOUND_EVENT.validate_json(INBOUND_EVENT.dump_json(now))
    before = INBOUND_EVENT.dump_python(now, mode="json")
    del before["quoted"], before["forwarded_from"]
    old = INBOUND_EVENT.validate_python(before)
    assert isinstance(old, InboundMessage) and () == old.quoted
