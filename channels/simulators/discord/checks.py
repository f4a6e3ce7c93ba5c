"""The messages, buttons and commands that Discord takes. Pure.

Codes and words: discord/discord-api-docs (2026-08), "Opcodes and Status Codes". Lengths are Unicode code points.
"""

import re
from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from channels.simulators.shared.world import File, JsonObject, Refused

MAX_CONTENT = 2000
MAX_NONCE = 25
MAX_UPLOAD_BYTES = 10 * 1024 * 1024  # a server without boosts; bots as everybody (2026-08)
MAX_FILES = 10
MAX_COMMANDS = 100

_COMMAND_NAME = re.compile(r"[-_'\w]{1,32}")
_MENTION = re.compile(r"<@!?(\d+)>")
_ROLE = re.compile(r"<@&(\d+)>")
_EVERYONE = re.compile(r"@(everyone|here)")
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)


class Refusal(Refused):
    """Discord's answer to a call it does not carry out."""

    def __init__(self, status: int, code: int, message: str, errors: JsonObject | None = None) -> None:
        """Take the HTTP status, Discord's own number of the error, its words, and the tree of an invalid form body."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.errors = errors

    def body(self) -> JsonObject:
        """Return the answer's JSON."""
        body: JsonObject = {"message": self.message, "code": self.code}
        if self.errors:
            body["errors"] = self.errors
        return body


def invalid(where: str, code: str, words: str) -> Refusal:
    """Return a 50035 about one field; `where` is its path with dots."""
    tree: JsonObject = {"_errors": [{"code": code, "message": words}]}
    for step in reversed(where.split(".")):
        tree = {step: tree}
    return Refusal(400, 50035, "Invalid Form Body", tree)


def checked_content(body: JsonObject) -> str | None:
    """Return the call's text as Discord keeps it; None if it gives none.

    Raises:
        Refusal: 50035, it is too long or no text.
    """
    content = body.get("content")
    if content is None:
        return None
    if not isinstance(content, str):
        raise invalid("content", "BASE_TYPE_STRING", "Could not interpret as string.")
    text = content.replace("\x00", "").strip()
    if len(text) > MAX_CONTENT:
        raise invalid("content", "BASE_TYPE_MAX_LENGTH", f"Must be {MAX_CONTENT} or fewer in length.")
    return text


def check_nonce(body: JsonObject) -> str | None:
    """Return the nonce as text, or None."""
    nonce = body.get("nonce")
    if nonce is None:
        return None
    if len(str(nonce)) > MAX_NONCE:
        raise invalid("nonce", "NONCE_TYPE_TOO_LONG", f"Must be {MAX_NONCE} or fewer in length.")
    return str(nonce)


def check_files(uploads: Sequence[File]) -> None:
    """Refuse too many or too large files."""
    if len(uploads) > MAX_FILES:
        raise invalid("files", "BASE_TYPE_MAX_LENGTH", f"Must be {MAX_FILES} or fewer in length.")
    if sum(len(upload.content) for upload in uploads) > MAX_UPLOAD_BYTES:
        raise Refusal(413, 40005, "Request entity too large")


def checked_components(body: JsonObject) -> list[JsonValue]:
    """Return rows of buttons.

    Raises:
        Refusal: 50035 for what Discord would not show.
    """
    rows = body.get("components")
    if not isinstance(rows, list):
        return []
    if len(rows) > 5:
        raise invalid("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
    for at, row in enumerate(rows):
        buttons = row.get("components") if isinstance(row, dict) and row.get("type") == 1 else None
        if not isinstance(buttons, list) or not 1 <= len(buttons) <= 5:
            raise invalid(f"components.{at}.components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
        for number, button in enumerate(buttons):
            _check_button(button, f"components.{at}.components.{number}")
    ids = [button["custom_id"] for row in rows for button in row["components"]]  # type: ignore[index,call-overload,union-attr]  # checked above
    if len(set(map(str, ids))) != len(ids):
        raise invalid("components", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated")
    return rows


def _check_button(button: JsonValue, where: str) -> None:
    if not isinstance(button, dict) or button.get("type") != 2 or button.get("style") not in (1, 2, 3, 4):
        raise invalid(where, "UNION_TYPE_CHOICES", "Value of field must be one of (2).")
    for field, most in (("custom_id", 100), ("label", 80)):
        if not 1 <= len(str(button.get(field) or "")) <= most:
            raise invalid(f"{where}.{field}", "BASE_TYPE_BAD_LENGTH", f"Must be between 1 and {most} in length.")


def check_commands(commands: JsonValue) -> list[JsonObject]:
    """Return a list of application commands, as `PUT` takes it."""
    if not isinstance(commands, list) or len(commands) > MAX_COMMANDS:
        raise invalid("commands", "BASE_TYPE_BAD_LENGTH", f"Must be {MAX_COMMANDS} or fewer in length.")
    taken: list[JsonObject] = []
    for at, command in enumerate(commands):
        if not isinstance(command, dict):
            raise invalid(str(at), "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
        _check_named(command, str(at))
        options = command.get("options") or []
        required_ended = False
        for number, option in enumerate(options if isinstance(options, list) else []):
            where = f"{at}.options.{number}"
            if not isinstance(option, dict):
                raise invalid(where, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
            _check_named(option, where)
            if option.get("required") and required_ended:
                raise invalid(where, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", "Required options come first")
            required_ended |= not option.get("required")
        taken.append(command)
    if len({command["name"] for command in taken}) != len(taken):
        raise invalid("name", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique")
    return taken


def _check_named(what: JsonObject, where: str) -> None:
    name, description = str(what.get("name") or ""), str(what.get("description") or "")
    if not _COMMAND_NAME.fullmatch(name) or name != name.lower():
        raise invalid(f"{where}.name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
    for words in (description, *_values(what.get("description_localizations"))):
        if not 1 <= len(words) <= 100:
            raise invalid(f"{where}.description", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")


def _values(localized: JsonValue) -> Iterable[str]:
    return [str(value) for value in localized.values()] if isinstance(localized, dict) else []


def find_pings(content: str, allowed: JsonValue) -> tuple[str, ...]:
    """Return whom a bot's text would notify, as "everyone", "role:1", "user:1"; `allowed` is its allowed_mentions."""
    seen = _CODE.sub(" ", content)
    roles = [f"role:{found}" for found in _ROLE.findall(seen)]
    users = [f"user:{found}" for found in _MENTION.findall(seen)]
    everyone = ["everyone"] if _EVERYONE.search(seen) else []
    if not isinstance(allowed, dict):
        return tuple(dict.fromkeys(everyone + roles + users))
    parse = allowed.get("parse") or []
    kinds = parse if isinstance(parse, list) else []
    named = {f"user:{id_}" for id_ in _list_of(allowed, "users")} | {
        f"role:{id_}" for id_ in _list_of(allowed, "roles")
    }
    everyone = everyone if "everyone" in kinds else []
    roles = [role for role in roles if "roles" in kinds or role in named]
    users = [user for user in users if "users" in kinds or user in named]
    return tuple(dict.fromkeys(everyone + roles + users))


def _list_of(allowed: JsonObject, name: str) -> list[str]:
    found = allowed.get(name)
    return [str(entry) for entry in found] if isinstance(found, list) else []
