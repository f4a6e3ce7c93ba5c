"""Signed button data: each button is valid for one user, one account and a limited time.

A press can come from anyone, so its data counts only with a valid signature. A subject names something that can be
decided only once, so pressing a button twice does no harm.
"""

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

MAX_DATA_BYTES = 64
"""The smallest limit of any platform: Telegram's callback_data (core.telegram.org/bots/api, read 2026-11)."""

_SEAL_CHARS = 16  # of base64: 96 bits
_WORD = re.compile(r"[a-z_]{1,12}\Z")
_SUBJECT = re.compile(r"[A-Za-z0-9_.-]{1,36}\Z")
_DATA = re.compile(r"([a-z_]{1,12}):([A-Za-z0-9_.-]{1,36}):([0-9a-v]{1,7}):([A-Za-z0-9_-]{16})\Z")
_DIGITS = "0123456789abcdefghijklmnopqrstuv"


class InvalidPress(StrEnum):
    """Reason why a press is ignored."""

    FORGED = "forged"  # not signed by us for this person and account, or changed since
    STALE = "stale"  # expired


@dataclass(frozen=True, slots=True)
class ButtonContent:
    """Verified content of a button."""

    word: str
    subject: str


class SealedButtons:
    """Signer and verifier of button data."""

    def __init__(self, key: bytes) -> None:
        """Take the key for buttons, `AccessKeys.buttons`, which signs nothing else."""
        self._key = key

    def seal(self, word: str, subject: str, user_id: str, account: str, until: datetime) -> str:
        """Return button data that only this user can press, at this account (`telegram:main`), before `until`.

        Raises:
            ValueError: the word or the subject has other characters than a button may carry, or they are too long.
        """
        if not _WORD.match(word) or not _SUBJECT.match(subject):
            raise ValueError(f"a button cannot carry {word!r} and {subject!r}")
        said = f"{word}:{subject}:{_encode_deadline(until)}"
        data = f"{said}:{self._seal(said, user_id, account)}"
        if len(data) > MAX_DATA_BYTES:
            raise ValueError(f"the button {said!r} is {len(data)} bytes, over {MAX_DATA_BYTES}")
        return data

    def open(self, data: str, user_id: str, account: str, now: datetime) -> ButtonContent | InvalidPress:
        """Verify the data of a press and return its content, or why it is ignored."""
        found = _DATA.match(data) if len(data) <= MAX_DATA_BYTES else None
        if found is None:
            return InvalidPress.FORGED
        word, subject, until, seal = found.groups()
        if not hmac.compare_digest(self._seal(f"{word}:{subject}:{until}", user_id, account), seal):
            return InvalidPress.FORGED
        return ButtonContent(word, subject) if now < _read(until) else InvalidPress.STALE

    def _seal(self, said: str, user_id: str, account: str) -> str:
        sealed = f"{said}\n{user_id}\n{account}".encode("utf-8", "surrogatepass")
        return base64.urlsafe_b64encode(hmac.digest(self._key, sealed, hashlib.sha256)).decode()[:_SEAL_CHARS]


def deadline_of(data: str) -> datetime | None:
    """Return until when sealed data is valid; None if it is not of our form."""
    found = _DATA.match(data)
    return None if found is None else _read(found[3])


def _encode_deadline(until: datetime) -> str:
    """Encode whole seconds since 1970, rounded up, in base 32: seven characters until 3058."""
    seconds, digits = -(-(until - _EPOCH) // timedelta(seconds=1)), ""
    while seconds > 0:
        seconds, digit = divmod(seconds, 32)
        digits = _DIGITS[digit] + digits
    return digits or "0"


def _read(written: str) -> datetime:
    return _EPOCH + timedelta(seconds=int(written, 32))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def short_id(id_: str) -> str:
    """Encode a UUID in 22 characters, to fit into a button."""
    return base64.urlsafe_b64encode(bytes.fromhex(id_.replace("-", ""))).decode().rstrip("=")


def long_id(short: str) -> str:
    """Decode `short_id`; return "" if the text is not one."""
    try:
        hexed = base64.urlsafe_b64decode(short + "==").hex() if len(short) == 22 else ""
    except ValueError:
        return ""
    return f"{hexed[:8]}-{hexed[8:12]}-{hexed[12:16]}-{hexed[16:20]}-{hexed[20:]}" if len(hexed) == 32 else ""
