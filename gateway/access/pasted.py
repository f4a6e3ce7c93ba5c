"""What somebody gives to /connect is sealed before anything of it is stored, whoever said it and wherever. Pure.

A key in any other words is blanked there and then: no row, prompt or log ever has it.

A typing error in the command is no way around it: what is meant as /connect is stored, and run, as it.
Only the command's handler opens it (`gateway.commands.connect`): rows, memory, prompts and logs have ciphertext alone.
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
"""How alike a word is to the command that is meant as it: `conect`, `connetc`; `contact` and `collect` are not."""

LEAST_KEY_CHARS = 16
_TOKEN = re.compile(r"""("(?:token|response_url)"\s*:\s*")[^"]*|((?:^|&)(?:token|response_url)=)[^&\s]*""")
_RAW = re.compile(r"""[/\\!](?P<name>\w{4,64})(?:@\w{1,64})?(?:\s|%20|\+|\\n|[:=])""")
_RAW_REST = re.compile(r"""[^"&]*""")


def hide_secrets(rejected: Rejected) -> Rejected:
    """What could not be understood, as it may be kept: without what is secret in events, as far as it can be told."""
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
    """Whether a command's name is meant as /connect, in Spanish too, and is none that is `known`."""
    if name.casefold() in known and name.casefold() != CONNECT:
        return False
    plain = "".join(char for char in normalize("NFKD", name[:64].casefold()) if char.isalnum())
    return plain.startswith(("connect", "conect")) or SequenceMatcher(None, plain, CONNECT).ratio() >= NEAR


def seal_pasted(event: InboundEvent, vault: Vault, known: Collection[str] = ()) -> InboundEvent:
    """The event as it may be kept: all behind the command is one sealed word, and any other key is gone.

    Commands of a `known` name are others.
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
    """As what it is sealed."""
    return SecretOf(tenant, sender_key, CONNECT)


def _seal(text: str, vault: Vault, whose: SecretOf, known: Collection[str]) -> str:
    given = _find(text, known)
    return redact_keys(text) if given is None else f"{given[0]} {vault.seal(given[1], whose)}"


def _find(text: str, known: Collection[str]) -> tuple[str, str] | None:
    """What is kept as it is, the command as it is spelled, and what is secret; None where nothing is.

    A slash that is missing is taken as written where what stands at the end looks like a key.
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
    """At most a provider's name, and then a long word with a digit in it."""
    words = rest.split(maxsplit=2)
    is_long = len(words) <= 2 and len(words[-1]) >= LEAST_KEY_CHARS
    return is_long and any(char.isdigit() for char in words[-1])


def _without_secret(quoted: Quoted, known: Collection[str]) -> Quoted:
    """A quotation of such a message, which a platform shows as it was."""
    given = _find(quoted.text, known)
    return replace(quoted, text=redact_keys(quoted.text) if given is None else f"{given[0]} {BULLETS}")
