"""Verification of Slack's `v0` HMAC-SHA256 signature over the raw bytes, at most five minutes old. Pure.

Source: docs.slack.dev/authentication/verifying-requests-from-slack (read 2026-11). slack_sdk's own verifier raises on
malformed headers; this one never raises, and the tests compare the two.
"""

import hashlib
import hmac
import re
from collections.abc import Sequence

WINDOW_S = 300
_TIMESTAMP = re.compile(r"[0-9]{1,11}")
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")


def signature_problem(
    secret: str, body: bytes, timestamps: Sequence[str], signatures: Sequence[str], now_s: float
) -> str | None:
    """Return the reason a request is not Slack's, for the operator; None if its signature is valid.

    `now_s` is Unix time. Headers come with all their values: a missing or repeated one is no signature.
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
    """Return Slack's signature of a body."""
    signed = b"v0:" + timestamp.encode() + b":" + body
    return "v0=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
