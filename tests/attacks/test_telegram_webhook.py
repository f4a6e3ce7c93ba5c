"""Attacks on the Telegram webhook, A13 to A16 and S6: refused, and without effect."""

import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from urllib.parse import urlsplit

import aiohttp
import pytest
from pydantic import ValidationError

from channels.base import ChannelState
from channels.telegram.config import TelegramAccount
from tests.fakes.telegram import SECRET, TOKEN, WebhookRig, telegram_webhook

HEADER = "X-Telegram-Bot-Api-Secret-Token"
UPDATE = (
    b'{"update_id":7,"message":{"message_id":1,"date":1790000000,"chat":{"id":1,"type":"private"},"text":"hello",'
    b'"from":{"id":1,"is_bot":false,"first_name":"Mallory"}}}'
)
GOOD = {HEADER: SECRET, "Content-Type": "application/json"}


@pytest.fixture
async def rig() -> AsyncIterator[WebhookRig]:
    async with telegram_webhook() as rig, rig.running():
        await rig.sink.until(lambda: (ChannelState.READY, "") in rig.sink.states)
        yield rig


async def _raw(rig: WebhookRig, *lines: bytes, body: bytes = UPDATE) -> int:
    parts = urlsplit(rig.url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        head = [f"POST {parts.path} HTTP/1.1".encode(), b"Host: 127.0.0.1", b"Connection: close", *lines]
        writer.write(b"\r\n".join([*head, f"Content-Length: {len(body)}".encode(), b"", body]))
        answer = await reader.readline()
        return int(answer.split()[1])
    finally:
        writer.close()
        await writer.wait_closed()


async def _posted(rig: WebhookRig, body: object, headers: Mapping[str, str], url: str | None = None) -> int:
    async with aiohttp.ClientSession() as http, http.post(url or rig.url, data=body, headers=headers) as answer:
        return answer.status


async def test_telegram_itself_gets_in(rig: WebhookRig):
    assert 200 == await _posted(rig, UPDATE, GOOD)
    assert ["msg:1:1"] == [event.event_id for event in rig.sink.events]


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [b""],
        [b" "],
        [SECRET[:-1].encode()],
        [SECRET[:1].encode()],
        [SECRET.encode() + b"x"],
        [SECRET.encode() * 2],
        [SECRET.upper().encode()],
        [SECRET[::-1].encode()],
        [b'"' + SECRET.encode() + b'"'],
        [b"Bearer " + SECRET.encode()],
        [SECRET.encode(), SECRET.encode()],
        [b"wrong", SECRET.encode()],
        [SECRET.encode() + b", " + SECRET.encode()],
        ["sécret".encode()],
        ["sécret".encode("latin-1")],
        [b"\xff\xfe\xfd"],
        ["ｍａｄｅ".encode()],
        [b"x" * 4000],
        [TOKEN.encode()],
        [b"null"],
        [b"%00"],
    ],
)
async def test_secret_that_is_not_ours_is_refused(rig: WebhookRig, lines: list[bytes]):
    """Cover A13."""
    shown = [HEADER.encode() + b": " + line for line in lines]
    assert 401 == await _raw(rig, b"Content-Type: application/json", *shown)
    assert [] == rig.sink.batches


@pytest.mark.parametrize("name", ["X-Telegram-Bot-Api-Secret", "Authorization", "X-Secret-Token"])
async def test_secret_in_another_header_is_none(rig: WebhookRig, name: str):
    """Cover A13."""
    assert 401 == await _posted(rig, UPDATE, {name: SECRET, "Content-Type": "application/json"})
    assert 401 == await _posted(
        rig, UPDATE, {"Content-Type": "application/json"}, f"{rig.url}?secret_token={SECRET}&{HEADER}={SECRET}"
    )
    assert [] == rig.sink.batches


async def test_refusal_comes_before_the_body_is_read(rig: WebhookRig):
    """Cover A13, A16."""
    parts = urlsplit(rig.url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(f"POST {parts.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 900000\r\n\r\n".encode())
    answer = await asyncio.wait_for(reader.readline(), 5)
    writer.close()
    assert b"401" in answer


@pytest.mark.parametrize("missing", [{}, {"webhook_secret": None}, {"webhook_secret": ""}])
def test_webhook_without_a_secret_does_not_start(missing: dict[str, object]):
    """Cover A14."""
    webhook = {"token": TOKEN, "mode": "webhook", "webhook_url": "https://bot.example.com"}
    with pytest.raises(ValidationError, match="webhook_secret") as refused:
        TelegramAccount.model_validate(webhook | missing)
    assert "secrets.toml" in str(refused.value)


@pytest.mark.parametrize("secret", ["sécret", "with space", "semi;colon", "x" * 257, "a\nb", "new\x00"])
def test_secret_telegram_would_not_take_is_refused(secret: str):
    """Cover A14."""
    webhook = {"token": TOKEN, "mode": "webhook", "webhook_url": "https://bot.example.com", "webhook_secret": secret}
    with pytest.raises(ValidationError) as refused:
        TelegramAccount.model_validate(webhook)
    assert secret not in str(refused.value)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
async def test_wrong_method_is_refused(rig: WebhookRig, method: str):
    """Cover A16."""
    async with aiohttp.ClientSession() as http, http.request(method, rig.url, data=UPDATE, headers=GOOD) as answer:
        assert 400 <= answer.status < 500
    assert [] == rig.sink.batches


@pytest.mark.parametrize("path", ["other", "main/", "main/x", "../telegram", "MAIN", "%6dain%00", "main%2f", ""])
async def test_guessed_path_is_refused(rig: WebhookRig, path: str):
    """Cover A16."""
    url = f"{rig.url.removesuffix('main')}{path}"
    assert 404 == await _posted(rig, UPDATE, GOOD, url)
    assert [] == rig.sink.batches


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", ""],
)
async def test_wrong_content_type_is_refused(rig: WebhookRig, kind: str):
    """Cover A16."""
    line = b"Content-Type: " + kind.encode()
    assert 415 == await _raw(rig, HEADER.encode() + b": " + SECRET.encode(), line)
    assert [] == rig.sink.batches


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"x"',
        b"7",
        b"\xff\xfe{}",
        b'{"update_id": 7, "message": \xe9}',
        UPDATE[:-1],
        UPDATE + b"}",
        b"[" * 100_000,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b"update_id=7",
        b"\x00" * 100,
    ],
    ids=lambda body: repr(body[:20]),
)
async def test_body_that_is_no_json_object_is_refused(rig: WebhookRig, body: bytes):
    """Cover A09, A16."""
    assert 400 == await _posted(rig, body, GOOD)
    assert [] == rig.sink.batches


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"update_id":"7"}',
        b'{"update_id":7,"message":5}',
        b'{"update_id":7,"message":{"message_id":1,"chat":{"id":99999999999999999999,"type":"private"},"date":1}}',
        b'{"update_id":7,"message":{"message_id":1,"chat":{"id":1,"type":"private"},"date":-5,"text":"x"}}',
        b'{"update_id":7,"message":' + b"[" * 500 + b"]" * 500 + b"}",
    ],
)
async def test_object_that_is_no_update_is_kept_apart(rig: WebhookRig, body: bytes):
    assert 200 == await _posted(rig, body, GOOD)
    assert [] == rig.sink.events
    assert 1 == len(rig.sink.rejected)


async def test_large_bodies_are_cut_off(rig: WebhookRig):
    """Cover A16."""
    assert 413 == await _posted(rig, io.BytesIO(b"x" * 10_000_000), GOOD)
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(160):
            sent += 65_536
            yield b"x" * 65_536
            await asyncio.sleep(0)

    try:
        status = await _posted(rig, endless(), GOOD)
    except aiohttp.ClientError:  # it hung up while we were still writing
        status = 413
    assert 413 == status
    assert [] == rig.sink.batches


async def test_replayed_update_is_offered_under_its_old_key(rig: WebhookRig):
    """Cover A06."""
    for _ in range(3):
        assert 200 == await _posted(rig, UPDATE, GOOD)
    assert [["msg:1:1"]] * 3 == rig.sink.batches


async def test_secret_is_in_no_words(rig: WebhookRig):
    """Cover A92."""
    async with aiohttp.ClientSession() as http, http.post(rig.url, data=b"x", headers=GOOD) as answer:
        told = await answer.text()
    assert SECRET not in told + repr(rig.channel) + repr(rig.sink.states)
