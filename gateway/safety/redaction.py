"""Redaction: secrets and control characters removed from text. Pure."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import quote

REDACTED = "[REDACTED]"

MIN_SECRET_CHARS = 6
"""Shorter secrets are not searched: they would blank ordinary words."""

SHORTEST_KEY_CHARS = 15
"""Shorter text has none of the shapes below, except a password in a URL, eight characters after "bearer", or a Slack
token.
"""

_START = r"(?:(?<![A-Za-z0-9\\])|(?<=\\)(?![bfnrt])|(?<=\\[bfnrt]))"
"""A key does not start after a letter or digit, unless it is the letter of a JSON escape such as a line break."""

_SHAPES = (
    (("earer", "EARER"), r"(?i:(?<=bearer\s))[A-Za-z0-9._~+/-]{8,}=*"),  # Authorization header
    (("-----BEGIN",), r"""
      -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----[^"]*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|(?=\\?")|\Z)  # or its string ends
    """),
    (("://",), r"(?P<kept>://)[^\s/:@\x22]{0,128}:[^\s/@\x22]{1,256}(?=@)"),  # user:password in a URL
    (("eyJ",), r"""
      (?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]{13,}+\.[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-])  # JSON web token: three runs,
      (?P<kept>[A-Za-z0-9_-]*?)                                                      # looked for once in the first:
    """ + _START + r"""
      eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+                      # "-eyJ-eyJ-eyJ" is one run
    """),
    ((":", "%3"), r"(?<!\d)\d{6,}(?::|%3[Aa])[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),  # Telegram bot token
    ((".",), _START + r"[A-Za-z0-9_-]{24,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),  # Discord bot token
    (("xox", "xapp-", "sk-", "gh", "github_pat_", "AIza", "AKIA", "ASIA", "tenk-"), _START + r"""
      (?:
        xox[a-z]-[A-Za-z0-9-]{10,} | xapp-[A-Za-z0-9-]{10,}            # Slack tokens, Slack app token
      | sk-[A-Za-z0-9_-]{16,}                                          # OpenAI, Anthropic
      | gh[opsur]_[A-Za-z0-9]{30,} | github_pat_[A-Za-z0-9_]{40,}      # GitHub
      | tenk-[a-z2-7]{8}-[0-9a-f]{32}                                  # our own API keys
      | AIza[A-Za-z0-9_-]{35}                                          # Google
      | A(?:KI|SI)A[A-Z0-9]{16}(?![A-Z0-9])                            # AWS access key id
      )
    """),
    (("",), _START + r"[0-9a-fA-F]{64}(?![A-Za-z0-9])"),  # 32 bytes in hexadecimal digits
)  # fmt: skip
"""Shapes of keys, the widest first: words that are part of every such key or before it, and its pattern. Each is a pass
of its own, so that no single call holds the interpreter for long.
"""

_TOKEN_TAILS = {
    ":": r"(?::|%3[Aa])[A-Za-z0-9_-]{35}",
    ".": r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}",
    "": r"[0-9a-fA-F]{64}",
}
"""Patterns of the text after these words in a token: tried first, in a tenth of the time."""

_DIGEST = re.compile(r"sha-?256|digest|checksum", re.IGNORECASE)
_DIGEST_BEFORE_CHARS = 24


def _blank_but_digests(found: re.Match[str]) -> str:
    before = found.string[max(0, found.start() - _DIGEST_BEFORE_CHARS) : found.start()]
    return found[0] if _DIGEST.search(before) else REDACTED


_Shape = tuple[tuple[str, ...], re.Pattern[str], re.Pattern[str], str | Callable[[re.Match[str]], str]]

_KEYS: tuple[_Shape, ...] = tuple(
    (
        words,
        re.compile(_TOKEN_TAILS.get(words[0], "")),
        re.compile(shape, re.VERBOSE),
        _blank_but_digests if "" in words else rf"\g<kept>{REDACTED}" if "(?P<kept>" in shape else REDACTED,
    )
    for words, shape in _SHAPES
)

UNSAFE_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Characters that move a terminal's cursor, start a line, or turn the order of what is shown."""


class Redactor:
    """Replacer of live secrets and key-like text by `[REDACTED]`."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Take the secret values in use; percent-encoded and JSON forms are searched as well."""
        self._secrets: frozenset[str] = frozenset()
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Search for these secrets, too."""
        self._secrets |= frozenset(secrets)
        long_enough = [secret for secret in self._secrets if len(secret) >= MIN_SECRET_CHARS]
        forms = {form for each in long_enough for form in (each, quote(each, safe=""), json.dumps(each)[1:-1])}
        forms |= {json.dumps(each, ensure_ascii=False)[1:-1] for each in long_enough}
        self._forms = sorted(forms, key=lambda form: (-len(form), form))
        self._live = re.compile("|".join(map(re.escape, self._forms)))

    def redact(self, text: str) -> str:
        """Return the text without secrets."""
        for form in self._forms:
            if form in text:
                text = self._live.sub(REDACTED, text)
                break
        return _redact_shapes(text, _KEYS)


def redact_keys(text: str) -> str:
    """Remove keys that are recognised by shape alone from a person's text.

    The words after "bearer" and 64 hexadecimal digits stay: in a conversation they may be anything.
    """
    return _redact_shapes(text, _KEYS[1:-1])


def _redact_shapes(text: str, keys: Sequence[_Shape]) -> str:
    if len(text) < SHORTEST_KEY_CHARS and "://" not in text:
        return text
    for words, tail, shape, instead in keys:
        for word in words:  # a loop is faster than any(), and this runs a hundred times a log line
            if word in text:
                if tail.search(text):
                    text = shape.sub(instead, text)
                break
    return text


def escape_controls(text: str) -> str:
    r"""Return the text on one line, control and direction characters shown as `\x1b` or `\u202e`."""
    return text if UNSAFE_CHARACTERS.search(text) is None else text.translate(_ESCAPES)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class _Escapes(dict[int, str | int]):
    """Escapes of single characters, made on demand: a full table would add 15 ms to every command's start."""

    def __missing__(self, code: int) -> str | int:
        return _escape(code) if UNSAFE_CHARACTERS.match(chr(code)) else code


_ESCAPES = _Escapes()
