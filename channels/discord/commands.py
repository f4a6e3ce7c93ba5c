"""Our commands become Discord's application commands, with typed options; pure.

Which commands there are comes from above, in every language; what their arguments look like here is this module's.
"""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

JsonObject = dict[str, JsonValue]

STRING = 3
_LOCALES = {"es": ("es-ES", "es-419"), "de": ("de",), "fr": ("fr",), "pt": ("pt-BR",), "it": ("it",)}
"""Discord's names of languages (discord.com/developers/docs/reference#locales)."""

_MODES = ("steer", "followup")


def _option(name: str, description: str, *, required: bool = False, choices: Sequence[str] = ()) -> JsonObject:
    option: JsonObject = {"type": STRING, "name": name, "description": description, "required": required}
    if choices:
        option["choices"] = [{"name": choice, "value": choice} for choice in choices]
    return option


_OPTIONS: Mapping[str, tuple[JsonObject, ...]] = {
    "coach": (_option("text", "What you want to say", required=True),),
    "log": (_option("text", "What you practised, and how long: guitar 30 min", required=True),),
    "stats": (_option("skill", "One skill; without it, all of them"),),
    "plan": (_option("skill", "What to plan for"),),
    "timezone": (_option("zone", "Like Europe/Madrid", required=True),),
    "start": (_option("code", "The code of an invitation, if you have one"),),
    **dict.fromkeys(("skills", "stop", "help", "new", "undo", "export"), ()),
}
_ANY = (_option("text", "What comes after the command"),)
_COACH = {"": "Talk with your coach", "es": "Habla con tu coach"}


def commands_of(menus: Mapping[str, Sequence[tuple[str, str]]], modes: Sequence[str] = _MODES) -> list[JsonObject]:
    """The whole list for Discord, `/coach` first; languages are laid over "" or English."""
    base = menus.get("") or menus.get("en") or next(iter(menus.values()), ())
    commands = [_command("coach", _COACH[""], {"es": _COACH["es"]}, modes)]
    for name, summary in base:
        if name != "coach":
            others = {language: text for language, menu in menus.items() for other, text in menu if other == name}
            commands.append(_command(name, summary, others, modes))
    return commands


def _command(name: str, summary: str, others: Mapping[str, str], modes: Sequence[str]) -> JsonObject:
    options = (
        (_option("mode", "How messages are taken", choices=modes),) if name == "mode" else _OPTIONS.get(name, _ANY)
    )
    localized: JsonObject = {
        locale: _short(text) for language, text in others.items() for locale in _LOCALES.get(language, ())
    }
    command: JsonObject = {"name": name, "type": 1, "description": _short(summary), "options": list(options)}
    if localized:
        command["description_localizations"] = localized
    return command


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
