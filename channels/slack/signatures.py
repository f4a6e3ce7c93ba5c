"""A request is Slack's if its `v0` HMAC-SHA256 over the raw bytes is right and at most five minutes old. Pure.

Source: docs.slack.dev/authentication/verifying-requests-from-slack (read 2026-11). slack_sdk's own verifier raises on
much of what strangers send, so this one is total; the tests compare the two.
"""

import hashlib
import hmac
import re
from collections.abc import Sequence

WINDOW_S = 300
_TIMESTAMP = re.compile(r"[0-9]{1,11}")
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")


def flaw_in(secret: str, body: bytes, timestamps: Sequence[str], signatures: Sequence[str], now_s: float) -> str | None:
    """Why a request is not Slack's, in words for the operator; None where it was signed with our secret in time.

    `now_s` is Unix time.
    Headers come as all their values: one that is missing or there twice is no signature (A08).
    """
    if len(timestamps) != 1 or len(signatures) != 1:
        return "it is not signed"
    timestamp, signature = timestamps[0], signatures[0]
    if not _TIMESTAMP.fullmatch(timestamp) or not _SIGNATURE.fullmatch(signature):
        return "its signature is none of Slack's kind"
    age_s = now_s - int(timestamp)
    if abs(age_s) > WINDOW_S:
        return f"it was signed {age_s:.0f} s ago, which is outside of {WINDOW_S} s: a replay, or our clock is wrong"
    if not hmac.compare_digest(signature_of(secret, timestamp, body), signature):
        return (
            "it was signed with another secret; if it is from Slack, take the signing_secret anew from "
            "api.slack.com/apps → Basic Information → App Credentials"
        )
    return None


def signature_of(secret: str, timestamp: str, body: bytes) -> str:
    """The signature Slack puts on a body."""
    signed = b"v0:" + timestamp.encode() + b":" + body
    return "v0=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
