"""Conversion of parts to JSON bodies without pings and previews, and of our commands to application commands. Pure."""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from pydantic import JsonValue

from channels.base import CommandOption, CommandSpec, Menus
from channels.discord.limits import MAX_MEDIA_BYTES
from channels.errors import Permanent
from channels.foreign import JsonObject, whole_of
from channels.messages import Address, Button, ButtonStyle, OutboundMedia, OutboundPart

SUPPRESS_EMBEDS = 1 << 2  # a fetched preview could carry data out (A59)

_NO_PINGS: JsonValue = {"parse": [], "users": [], "roles": [], "replied_user": False}
_STYLES = {ButtonStyle.PRIMARY: 1, ButtonStyle.SECONDARY: 2, ButtonStyle.DANGER: 4}
_IN_A_ROW, _ROWS = 5, 5
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._\-]{0,99}")


def id_of(answer: JsonValue) -> str | None:
    """Return the id in Discord's answer, or None."""
    found = answer.get("id") if isinstance(answer, dict) else None
    return found if isinstance(found, str) and whole_of(found) is not None else None


def target_of(address: Address) -> str:
    """Return the channel id to call: a thread is a channel of its own."""
    return address.thread or address.chat


def body_of(part: OutboundPart) -> JsonObject:
    """Return the fields that sending and editing share.

    Raises:
        Permanent: the text is not valid Unicode, or the files are too large.
    """
    text = part.rendered.text
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Permanent("the text is no Unicode") from None
    if sum(len(file.content) for file in part.media) > MAX_MEDIA_BYTES:
        raise Permanent(f"the files are larger than {MAX_MEDIA_BYTES} bytes")
    body: JsonObject = {"content": text, "allowed_mentions": _NO_PINGS, "flags": SUPPRESS_EMBEDS}
    if part.media:
        described: list[JsonValue] = [_describe(number, file) for number, file in enumerate(part.media)]
        body["attachments"] = described
    if part.buttons:
        body["components"] = _rows(part.buttons)
    return body


def _describe(number: int, file: OutboundMedia) -> JsonObject:
    named: JsonObject = {"id": number, "filename": file.name}
    return named | {"description": file.description} if file.description else named


def message_of(part: OutboundPart) -> JsonObject:
    """Return a new message with its deduplication nonce; a deleted question does not stop the answer."""
    body = body_of(part)
    if part.idem_key:
        body["nonce"], body["enforce_nonce"] = part.idem_key[:25], True
    if part.reply_to is not None:
        # An answer is worth more than its reference: when the question is deleted, it goes without.
        body["message_reference"] = {"type": 0, "message_id": part.reply_to, "fail_if_not_exists": False}
    return body


def _rows(buttons: Sequence[Button]) -> list[JsonValue]:
    """Return buttons in rows of five; our custom ids keep them working as long as the message exists."""
    shown: list[JsonValue] = [
        {"type": 2, "style": _STYLES[button.style], "label": button.label[:80], "custom_id": button.data[:100]}
        for button in buttons[: _IN_A_ROW * _ROWS]
    ]
    return [{"type": 1, "components": shown[start : start + _IN_A_ROW]} for start in range(0, len(shown), _IN_A_ROW)]


def safe_media(media: Sequence[OutboundMedia]) -> tuple[OutboundMedia, ...]:
    """Return the files; replace a name that is unsafe in a path by a random one with the same extension."""
    return tuple(
        file if _SAFE_NAME.fullmatch(file.name) else replace(file, name=_random_name(file.name)) for file in media
    )


def _random_name(name: str) -> str:
    ending = PurePosixPath(name.replace("\\", "/")).suffix
    return secrets.token_hex(8) + (ending if re.fullmatch(r"\.[A-Za-z0-9]{1,10}", ending) else "")


STRING = 3
_LOCALES = {"es": ("es-ES", "es-419"), "de": ("de",), "fr": ("fr",), "pt": ("pt-BR",), "it": ("it",)}
"""Discord's locale names (discord.com/developers/docs/reference#locales)."""


def commands_of(menus: Menus) -> list[JsonObject]:
    """Return all commands for Discord in menu order; other languages become localizations of "" or English."""
    base = menus.get("") or menus.get("en") or next(iter(menus.values()), ())
    by_language = {language: {spec.name: spec for spec in menu} for language, menu in menus.items()}
    return [
        _command(spec, {language: specs[spec.name] for language, specs in by_language.items() if spec.name in specs})
        for spec in base
    ]


def shared_names(menus: Menus) -> frozenset[str]:
    """Return the commands whose answer in a server is public; all others are answered privately."""
    return frozenset(spec.name for menu in menus.values() for spec in menu if spec.shared)


def _command(spec: CommandSpec, specs: Mapping[str, CommandSpec]) -> JsonObject:
    """Return one command; `specs` are its versions by language."""
    options: list[JsonValue] = [
        _option(
            option, {language: each.options[at].description for language, each in specs.items() if each.options[at:]}
        )
        for at, option in enumerate(spec.options)
    ]
    described = _to_description(spec.summary, {language: each.summary for language, each in specs.items()})
    return {"name": spec.name, "type": 1, **described, "options": options}


def _to_description(text: str, texts: Mapping[str, str]) -> JsonObject:
    """Return a description and its localizations."""
    localized: JsonObject = {
        locale: _short(other)
        for language, other in texts.items()
        if other and other != text
        for locale in _LOCALES.get(language, ())
    }
    return {"description": _short(text)} | ({"description_localizations": localized} if localized else {})


def _option(option: CommandOption, descriptions: Mapping[str, str]) -> JsonObject:
    described = _to_description(option.description, descriptions)
    made: JsonObject = {"type": STRING, "name": option.name, **described, "required": option.required}
    if option.choices:
        made["choices"] = [{"name": choice, "value": choice} for choice in option.choices]
    return made


def _short(text: str) -> str:
    """Return a valid description: 1 to 100 characters."""
    return (text or "-")[:100]


def same_commands(there: JsonValue, wanted: Sequence[JsonObject]) -> bool:
    """Return True if Discord already has exactly these; writing them again is rate-limited and slow."""
    if not isinstance(there, list) or len(there) != len(wanted):
        return False
    by_name = {str(command.get("name")): command for command in there if isinstance(command, dict)}
    return all(_essence(by_name.get(str(command["name"]), {})) == _essence(command) for command in wanted)


def _essence(command: JsonObject) -> tuple[object, ...]:
    """Return the fields of a command that we set."""
    options = command.get("options")
    described = [
        (
            option.get("name"),
            option.get("description"),
            option.get("description_localizations") or {},
            option.get("type"),
            bool(option.get("required")),
            _choices(option),
        )
        for option in (options if isinstance(options, list) else [])
        if isinstance(option, dict)
    ]
    return command.get("name"), command.get("description"), command.get("description_localizations") or {}, described


def _choices(option: JsonObject) -> list[object]:
    choices = option.get("choices")
    return [choice.get("value") for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
