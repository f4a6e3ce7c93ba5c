"""What somebody gives to /connect is sealed before anything of it is stored, whoever said it and wherever. Pure.

Only the command's handler opens it (`gateway.commands.connect`): rows, memory, prompts and logs have ciphertext alone.
"""

import re
from dataclasses import replace

from channels.messages import CommandInvoked, InboundEvent, InboundMessage, Quoted, Rejected
from gateway.access.codes import BULLETS
from gateway.safety.vault import SecretOf, Vault

CONNECT = "connect"

_BEFORE = r"(?:(?:[/@]\w{1,64}(?:@\w{1,64})?|<@[!&]?\w{1,32}(?:\|\w{1,64})?>)[:,]?\s+){0,2}"  # commands and mentions
_GIVEN = re.compile(rf"\s*{_BEFORE}/connect(?:@\w{{1,64}})?\s+(?=\S)", re.IGNORECASE)
_TOKEN = re.compile(r"""("(?:token|response_url)"\s*:\s*")[^"]*|((?:^|&)(?:token|response_url)=)[^&\s]*""")
_PASTED = re.compile(r"""(/connect(?:@\w{1,64})?(?:\s|%20|\+|\\n))[^"&]*""", re.IGNORECASE)


def hide_secrets(rejected: Rejected) -> Rejected:
    """What could not be understood, as it may be kept: without what is secret in events, as far as it can be told."""
    raw = _TOKEN.sub(rf"\g<1>\g<2>{BULLETS}", rejected.raw)
    return replace(rejected, raw=_PASTED.sub(rf"\g<1>{BULLETS}", raw))


def seal_pasted(event: InboundEvent, vault: Vault) -> InboundEvent:
    """The event as it may be kept: all behind the command is one sealed word."""
    whose = secret_of(event.tenant, event.sender_key)
    match event:
        case InboundMessage():
            quoted = tuple(_without_secret(each) for each in event.quoted)
            return replace(event, text=_seal(event.text, vault, whose), quoted=quoted)
        case CommandInvoked(name=name, arguments=arguments) if name.lower() == CONNECT and arguments.strip():
            return replace(event, arguments=vault.seal(arguments.strip(), whose))
        case CommandInvoked():
            return replace(event, arguments=_seal(event.arguments, vault, whose))
    return event


def secret_of(tenant: str, sender_key: str) -> SecretOf:
    """As what it is sealed."""
    return SecretOf(tenant, sender_key, CONNECT)


def _seal(text: str, vault: Vault, whose: SecretOf) -> str:
    given = _GIVEN.match(text)
    return text if given is None else given[0] + vault.seal(text[given.end() :].strip(), whose)


def _without_secret(quoted: Quoted) -> Quoted:
    """A quotation of such a message, which a platform shows as it was."""
    given = _GIVEN.match(quoted.text)
    return quoted if given is None else replace(quoted, text=given[0] + BULLETS)
