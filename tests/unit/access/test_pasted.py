"""Text behind /connect: sealed before it is stored, in every form; other text is not."""

from datetime import UTC, datetime

import pytest

from channels.messages import (
    Address,
    ChatKind,
    CommandInvoked,
    InboundMessage,
    MessageDeleted,
    Quoted,
    QuoteKind,
    Rejected,
    Sender,
)
from gateway.access.pasted import hide_secrets, seal_pasted, secret_of
from gateway.safety.vault import Vault

VAULT = Vault.fresh()
SECRET = "sk-canary-0123456789"
ABOUT = {
    "event_id": "1",
    "address": Address("sim", "main", "c1"),
    "sender": Sender("7", "Ana"),
    "received_at": datetime(2026, 3, 4, tzinfo=UTC),
}


def message(text: str, **more: object) -> InboundMessage:
    return InboundMessage(**ABOUT, message_id="1", kind=ChatKind.DIRECT, text=text, **more)  # type: ignore[arg-type]  a mapping


@pytest.mark.parametrize(
    "text",
    [
        f"/conect {SECRET}",
        f"/Conect acme {SECRET}",
        f"/connetc acme {SECRET}",
        f"/conectar acme {SECRET}",
        f"/conéctame acme\n{SECRET}",
        f"/connect: acme {SECRET}",
        f"/connect={SECRET}",
        f"/connect{SECRET}",
        f"/connct@the_bot {SECRET}",
        f"!connect acme {SECRET}",
        f"\\connect {SECRET}",
        f"<@U1|bot> /conect {SECRET}",
        f"/coach /konnect acme {SECRET}",
        f"connect acme {SECRET}",
        f"Conect {SECRET}",
        f"<@123>: connect acme {SECRET}",
        f"/connected {SECRET}",
    ],
)
def test_a_typing_error_is_no_way_around_it(text: str) -> None:
    kept = seal_pasted(message(text), VAULT, {"connect", "connections", "log"})
    assert isinstance(kept, InboundMessage)
    assert SECRET not in kept.text
    *_, command, sealed = kept.text.split()
    assert "/connect" == command.removesuffix("@the_bot")
    assert SECRET == VAULT.open(sealed, secret_of("default", "sim:7")).split()[-1]
    raw = Rejected("1", '{"text":"' + text.replace("\n", "\\n") + '","chat":1}', "no")
    assert text[0] not in "/!" or SECRET not in hide_secrets(raw).raw or "connectsk" in text


def test_a_quotation_of_it_holds_bullets() -> None:
    quoted = (Quoted(QuoteKind.REPLY, f"/connect acme {SECRET}", "Ana"), Quoted(QuoteKind.REPLY, "hello", None))
    kept = seal_pasted(message("why?", quoted=quoted), VAULT)
    assert isinstance(kept, InboundMessage)
    assert SECRET not in repr(kept)
    assert ("why?", "hello") == (kept.text, kept.quoted[1].text)


@pytest.mark.parametrize(
    "key",
    [
        SECRET,
        "xoxb-1234567890-abcdefghij",
        "ghp_" + "a1" * 18,
        "AKIAABCDEFGHIJKLMNOP",
        "tenk-abcdefgh-" + "0f" * 16,
        "123456789:" + "aB3-_" * 7,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    ],
)
def test_a_key_in_a_sentence_is_gone(key: str) -> None:
    quoted = (Quoted(QuoteKind.REPLY, f"{key} is it", "Ana"),)
    kept = seal_pasted(message(f"my key is {key}, does it work?", quoted=quoted), VAULT)
    assert isinstance(kept, InboundMessage)
    assert "my key is [REDACTED], does it work?" == kept.text
    assert "[REDACTED] is it" == kept.quoted[0].text
    said = CommandInvoked(**ABOUT, name="coach", arguments=f"use {key}", kind=ChatKind.GROUP)  # type: ignore[arg-type]  as above
    assert key not in repr(seal_pasted(said, VAULT))
    assert key not in hide_secrets(Rejected("1", f'{{"text":"it is {key}"}}', "no")).raw


@pytest.mark.parametrize(
    "text",
    [
        "/connect",
        "/connect ",
        "/connect@the_bot",
        "connect acme",
        "how do I /connect acme?",
        "",
        "/log 5m",
        "/contact Bob now",
        "/collect it",
        "/start guitar",
        "connect me with the others in 2026, please",
        "/connections of mine",
        "/conectar",
        "conecta con Ana",
        "@the_bot hello there",
        "I was the ring bearer yesterdaymorning, 45m guitar: ok",
        "see https://example.org/sk-short?a=1:2",
        "sk-2 vs sk-3, 12:30 to 14:45, 3.5 hours",
    ],
)
def test_everything_else_stays_as_it_is(text: str) -> None:
    assert message(text) == seal_pasted(message(text), VAULT, {"connect", "connections", "log"})
    gone = MessageDeleted(**ABOUT, message_id="1")  # type: ignore[arg-type]  as above
    assert gone is seal_pasted(gone, VAULT)
    plain = CommandInvoked(**ABOUT, name="connect", arguments=" ", kind=ChatKind.DIRECT)  # type: ignore[arg-type]  as above
    assert plain == seal_pasted(plain, VAULT)


def test_what_could_not_be_understood_keeps_no_secret() -> None:
    raws = [
        '{"type": 2, "token": "canary", "data": {"name": "log"}, "response_url":"canary"}',
        "token=canary&team_id=T1&response_url=canary%2F1&text=hello",
        '{"message":{"text":"/connect acme canary","chat":1}}',
        '{"text":"/connect@the_bot\\ncanary"}',
        "command=%2Fx&text=/connect+acme+canary&user=1",
    ]
    kept = [hide_secrets(Rejected("1", raw, "no")).raw for raw in raws]
    assert not any("canary" in raw for raw in kept), kept
    assert [True, True] == ['"name": "log"' in kept[0], kept[1].endswith("&text=hello")]
    plain = Rejected("1", '{"tokens": 5, "text": "hello"}', "no")
    assert plain == hide_secrets(plain)
