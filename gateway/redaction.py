"""Takes secrets and control characters out of text. Pure; where it is applied (logs, answers) is decided elsewhere."""

import re
from collections.abc import Iterable
from urllib.parse import quote

REDACTED = "[REDACTED]"

MIN_SECRET_CHARS = 6
"""A shorter secret is not looked for: it would blank ordinary words."""

KEY_SHAPES = re.compile(
    r"""
      (?<!\d)\d{6,}(?::|%3[Aa])[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])      # Telegram bot token
    | (?<![A-Za-z0-9])[A-Za-z0-9_-]{24,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}  # Discord bot token
    | (?<![A-Za-z0-9])xox[a-z]-[A-Za-z0-9-]{10,}                       # Slack tokens
    | (?<![A-Za-z0-9])xapp-[A-Za-z0-9-]{10,}                           # Slack app token
    | (?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{16,}                            # OpenAI, Anthropic
    | (?<![A-Za-z0-9])gh[opsur]_[A-Za-z0-9]{30,}                       # GitHub
    | (?<![A-Za-z0-9])github_pat_[A-Za-z0-9_]{40,}
    | (?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}                            # Google
    | (?<![A-Za-z0-9])A(?:KI|SI)A[A-Z0-9]{16}(?![A-Z0-9])              # AWS access key id
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----[\s\S]*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    | (?i:(?<=bearer\s))[A-Za-z0-9._~+/-]{8,}=*                        # Authorization header
    | (?<=://)[^\s/:@]{0,128}:[^\s/@]{1,256}(?=@)                      # user:password in a URL
    """,
    re.VERBOSE,
)
"""Shapes that are keys whoever's they are; a JSON web token is beside them."""

_WEB_TOKEN = re.compile(
    r"""
    (?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]{13,}+\.[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-])  # three runs with dots in between
    ([A-Za-z0-9_-]*?)(?<![A-Za-z0-9])                                              # what stands before it in the first
    eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+
    """,
    re.VERBOSE,
)
"""Looked for once a run of its letters, not from every "eyJ" in it: "-eyJ" again and again is one run."""

UNSAFE_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Characters that move a terminal's cursor, start a line, or turn the order of what is shown."""


class Redactor:
    """Replaces every live secret, and whatever has the shape of a key, by `[REDACTED]`."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """`secrets` are the values in use; their percent-encoded forms are looked for as well."""
        long_enough = [secret for secret in secrets if len(secret) >= MIN_SECRET_CHARS]
        forms = {form for secret in long_enough for form in (secret, quote(secret, safe=""))}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._live = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def redact(self, text: str) -> str:
        """`text` without secrets; the rest of it is unchanged."""
        if self._live is not None:
            text = self._live.sub(REDACTED, text)
        return KEY_SHAPES.sub(REDACTED, _WEB_TOKEN.sub(rf"\1{REDACTED}", text))


def escape_controls(text: str) -> str:
    r"""`text` on one line, control and direction characters shown as `\x1b` or `\u202e`."""
    return UNSAFE_CHARACTERS.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
