"""Attacks on the Slack webhook, A01 to A12, A14 and A16: refused, never with a 5xx."""

import hmac
import inspect
import io
import re
import time
from dataclasses import dataclass, field

import aiohttp
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from slack_sdk.signature import Clock, SignatureVerifier
from structlog.testing import capture_logs

from channels.simulators.slack.posting import signed_headers
from channels.simulators.slack.state import SIGNING_SECRET
from channels.slack import signatures
from channels.slack.config import SlackAccount
from channels.slack.signatures import signature_of, signature_problem
from tests.fakes.slack import slack_by_http

BODY = orjson.dumps(
    {
        "type": "event_callback",
        "event_id": "Ev7",
        "team_id": "T0SIM",
        "event_time": 1,
        "event": {
            "type": "message",
            "channel": "D1",
            "channel_type": "im",
            "user": "U1",
            "text": "hi",
            "ts": "1700000000.000001",
        },
    }
)
CHALLENGE = b'{"type":"url_verification","challenge":"x"}'
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
DIGITS = "".join(chr(0x660 + int(digit)) for digit in str(int(time.time())))  # Arabic


@dataclass(frozen=True)
class Attack:
    name: str
    status: int = 401
    body: bytes = BODY
    sent: bytes | None = None  # another body than the signed one
    secret: str = SIGNING_SECRET
    age_s: float = 0.0
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)  # laid over the right ones
    without: tuple[str, ...] = ()
    method: str = "POST"


TS, SIG = "X-Slack-Request-Timestamp", "X-Slack-Signature"

ATTACKS = [
    Attack("A01 no signature", without=(SIG,)),
    Attack("A01 no timestamp", without=(TS,)),
    Attack("A01 neither", without=(SIG, TS)),
    Attack("A02 wrong secret", secret="another"),
    Attack("A03 one byte changed", sent=BODY.replace(b"hi", b"ho")),
    Attack("A03 one byte more", sent=BODY + b" "),
    Attack("A04 five minutes and a second old", age_s=302),
    Attack("A05 five minutes and a second ahead", age_s=-303),
    *[
        Attack(f"A07 timestamp {name}", headers={TS: value})
        for name, value in {
            "abc": "abc",
            "nan": "nan",
            "1.0": "1.0",
            "5,000 digits": "1" * 5_000,
            "Arabic digits": DIGITS,
            "empty": "",
            "negative": "-1",
            "with a sign": "+1700000000",
            "exponent": "1e9",
            "underscore": "1_0",
        }.items()
    ],
    Attack("A08 signature not ASCII", headers={SIG: "v0=ü"}),
    Attack("A08 signature too long", headers={SIG: "v0=" + "0" * 5_000}),
    Attack("A08 signature empty", headers={SIG: ""}),
    Attack("A09 no UTF-8, wrong MAC", sent=b"\xff\xfe"),
    Attack("A09 no UTF-8, right MAC", status=400, body=b"\xff\xfe"),
    Attack("A09 no UTF-8 inside JSON, right MAC", status=400, body=b'{"type":"\xff"}'),
    Attack("A10 serialised anew", sent=orjson.dumps(orjson.loads(BODY), option=orjson.OPT_INDENT_2)),
    Attack("A11 another scheme", headers={SIG: "v1=" + "0" * 64}),
    Attack("A12 url_verification without signature", body=CHALLENGE, without=(SIG,)),
    Attack("A16 no JSON", status=400, body=b"{"),
    Attack("A16 JSON that is no object", status=400, body=b"[1]"),
    Attack("A16 deep JSON", status=400, body=b"[" * 100_000),
    Attack("A16 deep JSON in a form", status=400, body=b"payload=" + b"[" * 100_000, content_type=FORM),
    Attack("A16 wrong content type", status=400, content_type="text/plain"),
    Attack("A16 wrong method", status=405, method="GET"),
    Attack("A16 a payload that is no JSON", status=400, body=b"payload=%7B", content_type=FORM),
    Attack("A16 ten megabytes", status=413, body=b"x" * 10_000_000),
    Attack("A16 an empty body", status=400, body=b""),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
async def test_attack_is_refused(attack: Attack):
    async with slack_by_http() as rig, rig.running():
        await rig.sink.until(lambda: bool(rig.sink.states))
        assert attack.status == await _posted(rig.simulator.world.the_app().webhook_url, attack)
        assert [] == rig.sink.batches
        rig.simulator.say("D1", "a true one")
        await rig.sink.until(lambda: bool(rig.sink.events))


async def _posted(url: str, attack: Attack) -> int:
    now_s = time.time() - attack.age_s
    headers = signed_headers(attack.secret, attack.body, attack.content_type, now_s) | attack.headers
    headers = {name: value for name, value in headers.items() if name not in attack.without}
    body = attack.body if attack.sent is None else attack.sent
    async with (
        aiohttp.ClientSession() as session,
        session.request(attack.method, url, data=io.BytesIO(body), headers=headers) as answer,
    ):
        return answer.status


async def test_header_given_twice_is_no_signature():
    """Cover A08."""
    async with slack_by_http() as rig, rig.running():
        await rig.sink.until(lambda: bool(rig.sink.states))
        headers = signed_headers(SIGNING_SECRET, BODY, JSON)
        for doubled in (SIG, TS):
            twice = [*headers.items(), (doubled, headers[doubled])]
            async with (
                aiohttp.ClientSession() as session,
                session.post(rig.simulator.world.the_app().webhook_url, data=BODY, headers=twice) as answer,
            ):
                assert 401 == answer.status


async def test_hundred_forgeries_are_one_line_in_the_log():
    async with slack_by_http() as rig, rig.running():
        await rig.sink.until(lambda: bool(rig.sink.states))
        with capture_logs() as lines:
            for _ in range(100):
                assert 401 == await _posted(rig.simulator.world.the_app().webhook_url, Attack("forged", secret="x"))
    assert 1 == len([line for line in lines if line["event"] == "webhook_refused"])


async def test_exact_replay_is_taken_once():
    """Cover A06."""
    async with slack_by_http() as rig, rig.running():
        await rig.sink.until(lambda: bool(rig.sink.states))
        for _ in range(2):
            assert 200 == await _posted(rig.simulator.world.the_app().webhook_url, Attack("replay"))
        assert 1 == len({event.event_id for event in rig.sink.events})


def test_without_a_signing_secret_nothing_starts():
    """Cover A14."""
    for secret in (None, "", "  "):
        with pytest.raises(ValidationError, match="signing_secret is missing"):
            SlackAccount.model_validate({"bot_token": "xoxb-1", "mode": "http", "signing_secret": secret})


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


class _At(Clock):
    def __init__(self, now_s: float) -> None:
        self._now_s = now_s

    def now(self) -> float:
        return self._now_s


@given(
    body=st.binary(max_size=200).filter(_is_text),
    timestamp=st.integers(0, 2**33).map(str),
    ahead_s=st.integers(-400, 400),
    secret=st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=20),
    flip=st.booleans(),
)
def test_verifier_agrees_with_the_sdk(body: bytes, timestamp: str, ahead_s: int, secret: str, flip: bool):
    signature = signature_of("other" if flip else secret, timestamp, body)
    now_s = int(timestamp) + ahead_s
    oracle = SignatureVerifier(secret, _At(now_s)).is_valid(body, timestamp, signature)
    assert oracle == (signature_problem(secret, body, [timestamp], [signature], now_s) is None)


@given(st.lists(st.text(max_size=80), max_size=3), st.lists(st.text(max_size=80), max_size=3), st.binary(max_size=80))
def test_verifier_never_raises(timestamps: list[str], signatures: list[str], body: bytes):
    """Cover A07, A08."""
    assert signature_problem("secret", body, timestamps, signatures, 1_700_000_000.0)


def test_signature_is_compared_in_constant_time():
    """Cover A15."""
    source = inspect.getsource(signatures)
    assert "hmac.compare_digest(" in source
    assert None is re.search(r"signature\s*==|==\s*signature", source)
    assert callable(hmac.compare_digest)
