"""Our commands become Discord's application commands, with typed options; pure.

Which commands there are, and what they are made of, comes from above, in every language.
"""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from channels.base import CommandOption, CommandSpec, Menus
from channels.foreign import JsonObject

STRING = 3
_LOCALES = {"es": ("es-ES", "es-419"), "de": ("de",), "fr": ("fr",), "pt": ("pt-BR",), "it": ("it",)}
"""Discord's names of languages (discord.com/developers/docs/reference#locales)."""


def commands_of(menus: Menus) -> list[JsonObject]:
    """The whole list for Discord, in the order of the menus; languages are laid over "" or English."""
    base = menus.get("") or menus.get("en") or next(iter(menus.values()), ())
    by_language = {language: {spec.name: spec for spec in menu} for language, menu in menus.items()}
    return [
        _command(spec, {language: specs[spec.name] for language, specs in by_language.items() if spec.name in specs})
        for spec in base
    ]


def shared_names(menus: Menus) -> frozenset[str]:
    """The commands whose answer is everybody's in a server; all others are their person's own affair."""
    return frozenset(spec.name for menu in menus.values() for spec in menu if spec.shared)


def _command(spec: CommandSpec, specs: Mapping[str, CommandSpec]) -> JsonObject:
    """One command; `specs` are the same in each language that has it."""
    options: list[JsonValue] = [
        _option(
            option, {language: each.options[at].description for language, each in specs.items() if each.options[at:]}
        )
        for at, option in enumerate(spec.options)
    ]
    described = _to_description(spec.summary, {language: each.summary for language, each in specs.items()})
    return {"name": spec.name, "type": 1, **described, "options": options}


def _to_description(text: str, texts: Mapping[str, str]) -> JsonObject:
    """What says what something is, and in which languages it is said otherwise."""
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
    """Descriptions are 1 to 100 characters."""
    return (text or "-")[:100]


def same_commands(there: JsonValue, wanted: Sequence[JsonObject]) -> bool:
    """Whether Discord has exactly these: writing them anew is counted and slow."""
    if not isinstance(there, list) or len(there) != len(wanted):
        return False
    by_name = {str(command.get("name")): command for command in there if isinstance(command, dict)}
    return all(_essence(by_name.get(str(command["name"]), {})) == _essence(command) for command in wanted)


def _essence(command: JsonObject) -> tuple[object, ...]:
    """What of a command is ours to say."""
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
