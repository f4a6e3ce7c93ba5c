"""Whether an HTTP request comes from Slack: `v0`, HMAC-SHA256 over the raw bytes, at most five minutes old. Pure.

Source: docs.slack.dev/authentication/verifying-requests-from-slack (read 2026-11). slack_sdk's own verifier raises on
much of what strangers send (FAULTS 1.3), so this one is total; the tests compare the two.
"""

import hashlib
import hmac
import re
from collections.abc import Sequence

WINDOW_S = 300
_TIMESTAMP = re.compile(r"[0-9]{1,11}")
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")


def is_signed(secret: str, body: bytes, timestamps: Sequence[str], signatures: Sequence[str], now_s: float) -> bool:
    """Whether this body was signed with our secret within five minutes of `now_s` (Unix time).

    Headers come as all their values: one that is missing or there twice is no signature (A08).
    """
    if len(timestamps) != 1 or len(signatures) != 1:
        return False
    timestamp, signature = timestamps[0], signatures[0]
    if not _TIMESTAMP.fullmatch(timestamp) or not _SIGNATURE.fullmatch(signature):
        return False
    if abs(now_s - int(timestamp)) > WINDOW_S:
        return False
    return hmac.compare_digest(signature_of(secret, timestamp, body), signature)


def signature_of(secret: str, timestamp: str, body: bytes) -> str:
    """The signature Slack puts on a body."""
    signed = b"v0:" + timestamp.encode() + b":" + body
    return "v0=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
