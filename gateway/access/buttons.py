"""Seals what a button means, and until when, for the one person and account that it was made for.

Button data comes back from whoever sends a press, so nothing in it is believed without its seal. Pure; what a button's
word does is decided elsewhere, and whether it was done already is a matter of the row it is about: a subject has to
name something that can be decided once.
"""

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

MAX_DATA_BYTES = 64
"""The least that any platform carries: Telegram's callback_data (core.telegram.org/bots/api, read 2026-11)."""

_SEAL_CHARS = 16  # of base64: 96 bits
_WORD = re.compile(r"[a-z_]{1,12}\Z")
_SUBJECT = re.compile(r"[A-Za-z0-9_.-]{1,36}\Z")
_DATA = re.compile(r"([a-z_]{1,12}):([A-Za-z0-9_.-]{1,36}):([0-9a-v]{1,7}):([A-Za-z0-9_-]{16})\Z")
_DIGITS = "0123456789abcdefghijklmnopqrstuv"


class Void(StrEnum):
    """Why a press means nothing."""

    FORGED = "forged"  # not ours, made for somebody else or for another account, or changed since
    STALE = "stale"  # its time is over


@dataclass(frozen=True, slots=True)
class Meant:
    """What a button of ours means, pressed by the person it was made for."""

    word: str
    subject: str


class SealedButtons:
    """Makes and opens the data of buttons."""

    def __init__(self, key: bytes) -> None:
        """`key` is for this purpose alone: `AccessKeys.buttons`."""
        self._key = key

    def seal(self, word: str, subject: str, user_id: str, account: str, until: datetime) -> str:
        """Data of a button that only this user, at this account (`telegram:main`), can press before `until`.

        Raises:
            ValueError: the word or the subject cannot stand in a button, or they are too long for every platform.
        """
        if not _WORD.match(word) or not _SUBJECT.match(subject):
            raise ValueError(f"a button cannot carry {word!r} and {subject!r}")
        said = f"{word}:{subject}:{_encode_deadline(until)}"
        data = f"{said}:{self._seal(said, user_id, account)}"
        if len(data) > MAX_DATA_BYTES:
            raise ValueError(f"the button {said!r} is {len(data)} bytes, over {MAX_DATA_BYTES}")
        return data

    def open(self, data: str, user_id: str, account: str, now: datetime) -> Meant | Void:
        """What data means that came back with a press of this user's at this account."""
        found = _DATA.match(data) if len(data) <= MAX_DATA_BYTES else None
        if found is None:
            return Void.FORGED
        word, subject, until, seal = found.groups()
        if not hmac.compare_digest(self._seal(f"{word}:{subject}:{until}", user_id, account), seal):
            return Void.FORGED
        return Meant(word, subject) if now < _read(until) else Void.STALE

    def _seal(self, said: str, user_id: str, account: str) -> str:
        sealed = f"{said}\n{user_id}\n{account}".encode("utf-8", "surrogatepass")
        return base64.urlsafe_b64encode(hmac.digest(self._key, sealed, hashlib.sha256)).decode()[:_SEAL_CHARS]


def _encode_deadline(until: datetime) -> str:
    """Whole seconds since 1970, rounded up, in 32 digits: seven characters until 3058."""
    seconds, digits = -(-(until - _EPOCH) // timedelta(seconds=1)), ""
    while seconds > 0:
        seconds, digit = divmod(seconds, 32)
        digits = _DIGITS[digit] + digits
    return digits or "0"


def _read(written: str) -> datetime:
    return _EPOCH + timedelta(seconds=int(written, 32))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def short_id(id_: str) -> str:
    """A UUID in 22 characters, as a button has room for it."""
    return base64.urlsafe_b64encode(bytes.fromhex(id_.replace("-", ""))).decode().rstrip("=")


def long_id(short: str) -> str:
    """The UUID again; "" where this is none."""
    try:
        hexed = base64.urlsafe_b64decode(short + "==").hex() if len(short) == 22 else ""
    except ValueError:
        return ""
    return f"{hexed[:8]}-{hexed[8:12]}-{hexed[12:16]}-{hexed[16:20]}-{hexed[20:]}" if len(hexed) == 32 else ""
