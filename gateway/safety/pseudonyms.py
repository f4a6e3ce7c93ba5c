"""Stable placeholders for names, addresses, numbers and keys in a conversation that leaves its home. Pure.

It knows the people of the gateway by name; a name that no person here has stays. Equal values get the same placeholder.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import JsonValue

from gateway.safety.redaction import Redactor

LEAST_NAME_CHARS = 2
LEAST_WORD_CHARS = 3
"""Fewest letters of a part of a name that is replaced alone."""

LEAST_SENDER_CHARS = 5
"""Fewest characters of a platform's id of a person that is replaced without its platform."""

LEAST_ID = 10_000_000
"""Smallest whole number in a result that counts as an id."""

PHONE_DIGITS = range(9, 16)
"""Digits of a phone number (E.164 has 15 at most)."""

_DATE = r"(?!\d{4}-\d\d-\d\d|\d{1,2}[./-]\d{1,2}[./-]\d{4})"

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_MENTION = re.compile(r"<[@#][!&]?\w+(?:\|[^<>]*)?>|(?<![\w@./])@\w{2,64}")
_ID = re.compile(
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"  # UUID
    r"|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{16,}\b"  # hexadecimal
    r"|\b[CDGTUW]0[A-Z0-9]{7,}\b"  # Slack
    r"|(?<![\w.])\d{8,}(?!\w)"
)
_PHONE = re.compile(rf"(?<![\w.-]){_DATE}(?:\+|\(\+?)?\d[\d ().-]{{7,22}}\d(?!\w)")


class Pseudonyms:
    """Placeholders of one conversation."""

    def __init__(self, people: Iterable[Sequence[str]]) -> None:
        """Take the names and senders of each person, such as `telegram:42`, those of the conversation first."""
        self._redactor = Redactor()
        self._given: dict[tuple[str, str], str] = {}
        self._people: dict[str, str] = {}
        for number, names in enumerate(people, 1):
            for name in names:
                for each in _parts_of(name):
                    self._people.setdefault(each.casefold(), f"PERSON_{number}")
        longest_first = sorted(self._people, key=len, reverse=True)
        self._names = re.compile(
            rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first)) or '(?!)'})(?!\w)", re.IGNORECASE
        )

    def replace(self, text: str) -> str:
        """Return the text with placeholders."""
        text = self._redactor.redact(text)
        text = _EMAIL.sub(lambda found: self._placeholder("EMAIL", found[0]), text)
        text = self._names.sub(lambda found: self._people.get(found[0].casefold(), "PERSON"), text)
        text = _MENTION.sub(self._mention, text)
        text = _ID.sub(lambda found: self._placeholder("ID", found[0]), text)
        return _PHONE.sub(self._phone, text)

    def replace_in(self, value: JsonValue) -> JsonValue:
        """Return a JSON value with placeholders, of the same shape."""
        if isinstance(value, str):
            return self.replace(value)
        if isinstance(value, list):
            return [self.replace_in(each) for each in value]
        if isinstance(value, Mapping):
            return {self.replace(name): self.replace_in(each) for name, each in value.items()}
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= LEAST_ID:
            return LEAST_ID + int(self._placeholder("ID", str(value)).removeprefix("ID_"))
        return value

    def _placeholder(self, kind: str, value: str) -> str:
        number = 1 + sum(known == kind for known, _ in self._given)
        return self._given.setdefault((kind, value.casefold()), f"{kind}_{number}")

    def _mention(self, found: re.Match[str]) -> str:
        return found[0] if "PERSON_" in found[0] else self._placeholder("MENTION", found[0])

    def _phone(self, found: re.Match[str]) -> str:
        is_phone = sum(map(str.isdigit, found[0])) in PHONE_DIGITS
        return self._placeholder("PHONE", re.sub(r"\D", "", found[0])) if is_phone else found[0]


def _parts_of(name: str) -> Iterator[str]:
    """Yield a name or sender, and those parts of it that stand for the person alone."""
    if len(name) >= LEAST_NAME_CHARS:
        yield name
    yield from (word for word in name.split() if len(word) >= LEAST_WORD_CHARS)
    _, _, sender = name.partition(":")
    if len(sender) >= LEAST_SENDER_CHARS:
        yield sender
