"""Keys in messages: sealed or blanked before an event is stored.

The text after /connect, also after a misspelled one, is sealed; only the command's handler (`gateway.commands.connect`)
opens it. API keys anywhere else are replaced by bullets.
"""

import re
from collections.abc import Collection
from dataclasses import replace
from difflib import SequenceMatcher
from unicodedata import normalize

from channels.messages import CommandInvoked, InboundEvent, InboundMessage, Quoted, Rejected
from gateway.access.codes import BULLETS
from gateway.safety.redaction import redact_keys
from gateway.safety.vault import SecretOf, Vault

CONNECT = "connect"

_WORD = re.compile(r"\s*(?P<word>\S{1,200})\s+(?=\S)")
_COMMAND = re.compile(r"(?P<slash>[/\\!])(?P<name>\w{1,64})(?P<bot>@\w{1,64})?[:,=]?")
_BEFORE = re.compile(r"[/@]\w{1,64}(?:@\w{1,64})?[:,]?|<@[!&]?\w{1,32}(?:\|\w{1,64})?>[:,]?")  # commands and mentions
_GLUED = re.compile(r"\s*[/\\!]conn?ect(?=[:=]\S|\S{16})[:=]?", re.IGNORECASE)
WORDS_BEFORE = 2
NEAR = 0.78
"""Least similarity of a misspelled command: `conect` and `connetc` count, `contact` and `collect` do not."""

LEAST_KEY_CHARS = 16
_TOKEN = re.compile(r"""("(?:token|response_url)"\s*:\s*")[^"]*|((?:^|&)(?:token|response_url)=)[^&\s]*""")
_RAW = re.compile(r"""[/\\!](?P<name>\w{4,64})(?:@\w{1,64})?(?:\s|%20|\+|\\n|[:=])""")
_RAW_REST = re.compile(r"""[^"&]*""")


def hide_secrets(rejected: Rejected) -> Rejected:
    """Return a rejected event without the secrets that can be recognised, so that it can be stored."""
    raw = _TOKEN.sub(rf"\g<1>\g<2>{BULLETS}", rejected.raw)
    parts, at = [], 0
    while (found := _RAW.search(raw, at)) is not None:
        parts.append(raw[at : found.end()])
        at = found.end()
        if is_near(found["name"]):
            parts.append(BULLETS)
            rest = _RAW_REST.match(raw, at)
            at = at if rest is None else rest.end()
    return replace(rejected, raw=redact_keys("".join((*parts, raw[at:]))))


def is_near(name: str, known: Collection[str] = ()) -> bool:
    """Return True if a command's name means /connect, in Spanish too, and is not `known` as another command."""
    if name.casefold() in known and name.casefold() != CONNECT:
        return False
    plain = "".join(char for char in normalize("NFKD", name[:64].casefold()) if char.isalnum())
    return plain.startswith(("connect", "conect")) or SequenceMatcher(None, plain, CONNECT).ratio() >= NEAR


def seal_pasted(event: InboundEvent, vault: Vault, known: Collection[str] = ()) -> InboundEvent:
    """Return the event as it can be stored: the text after /connect sealed, other keys blanked.

    Commands with a `known` name are left alone.
    """
    whose = secret_of(event.tenant, event.sender_key)
    match event:
        case InboundMessage():
            text = _seal(event.text, vault, whose, known)
            if text == event.text and not event.quoted:
                return event
            return replace(event, text=text, quoted=tuple(_without_secret(each, known) for each in event.quoted))
        case CommandInvoked(name=name, arguments=arguments) if name.lower() == CONNECT and arguments.strip():
            return replace(event, arguments=vault.seal(arguments.strip(), whose))
        case CommandInvoked():
            return replace(event, arguments=_seal(event.arguments, vault, whose, known))
    return event


def secret_of(tenant: str, sender_key: str) -> SecretOf:
    """Return the context that a sender's key is sealed with."""
    return SecretOf(tenant, sender_key, CONNECT)


def _seal(text: str, vault: Vault, whose: SecretOf, known: Collection[str]) -> str:
    given = _find(text, known)
    return redact_keys(text) if given is None else f"{given[0]} {vault.seal(given[1], whose)}"


def _find(text: str, known: Collection[str]) -> tuple[str, str] | None:
    """Return the text to keep, with the command, and the secret after it; None if there is no secret.

    A word without its slash counts as the command if the text ends with something like a key.
    """
    at = 0
    for _ in range(WORDS_BEFORE + 1):
        glued, found = _GLUED.match(text, at), _WORD.match(text, at)
        rest = "" if found is None else text[found.end() :].strip()
        command = None if found is None else _COMMAND.fullmatch(found["word"])
        if command is not None and is_near(command["name"], known):
            return f"{text[:at]}/{CONNECT}{command['bot'] or ''}", rest
        if glued is not None:
            return f"{text[:at]}/{CONNECT}", text[glued.end() :].strip()
        if found is None:
            return None
        if _ends_in_key(rest) and is_near(found["word"]):
            return f"{text[:at]}/{CONNECT}", rest
        if _BEFORE.fullmatch(found["word"]) is None:
            return None
        at = found.end()
    return None


def _ends_in_key(rest: str) -> bool:
    """Return True for at most a provider's name and then a long word with a digit in it."""
    words = rest.split(maxsplit=2)
    is_long = len(words) <= 2 and len(words[-1]) >= LEAST_KEY_CHARS
    return is_long and any(char.isdigit() for char in words[-1])


def _without_secret(quoted: Quoted, known: Collection[str]) -> Quoted:
    """Blank the secret in a quotation, which shows the original message."""
    given = _find(quoted.text, known)
    return replace(quoted, text=redact_keys(quoted.text) if given is None else f"{given[0]} {BULLETS}")
