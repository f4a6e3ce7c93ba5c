"""Listing of all settings in force, as TOML: secrets masked, with the source of each value."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Literal, TypeGuard, get_args, get_origin

from pydantic import BaseModel, SecretStr

from gateway.config.sources import KeyPath, Sources, annotation_at

MASK = "********"

_IN_ADDRESS = re.compile(r"(?<=://)[^/@\s]+(?=@)|(?<==)[^&#\s]+")
"""Parts of a URL that may be secret: the user, and the values after `?`."""


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """One key with its value, as an operator reads and types it."""

    key: KeyPath
    value: str  # "": it is not set
    is_secret: bool  # the value is masked
    choices: tuple[str, ...]  # the only values; empty: others, too

    @property
    def table(self) -> str:
        """Return the name of its table; "" for none."""
        return ".".join(map(_key, self.key[:-1]))

    @property
    def written(self) -> str:
        """Return the key as an operator types it."""
        return ".".join(map(_key, self.key))


def shown_settings(settings: BaseModel) -> Iterator[ShownSetting]:
    """Yield each key that has one value, or a list of plain ones."""
    yield from _list_settings((), settings, type(settings))


def _list_settings(
    path: KeyPath, table: BaseModel | Mapping[str, object], model: type[BaseModel]
) -> Iterator[ShownSetting]:
    names = table if isinstance(table, Mapping) else type(table).model_fields
    for name in names:
        value = table[name] if isinstance(table, Mapping) else getattr(table, name)
        key = (*path, name)
        if isinstance(value, BaseModel | Mapping):
            yield from _list_settings(key, value, model)
        elif not _holds_tables(value):
            toml = "" if value is None else _toml(value).strip('"')
            is_secret = MASK in toml
            is_plain = isinstance(value, str) and not is_secret  # without the escapes of TOML
            yield ShownSetting(key, str(value) if is_plain else toml, is_secret, _choices(model, key))


def _choices(model: type[BaseModel], key: KeyPath) -> tuple[str, ...]:
    declared = annotation_at(model, key)
    if declared is bool:
        return ("true", "false")
    if isinstance(declared, type) and issubclass(declared, Enum):
        return tuple(str(each.value) for each in declared)
    return tuple(map(str, get_args(declared))) if get_origin(declared) is Literal else ()


def lines_of(settings: BaseModel, sources: Sources) -> Iterator[str]:
    """Yield each key with its value and its source, if it was set; empty keys are commented out."""
    yield from _table((), settings, sources)


def _table(path: KeyPath, table: BaseModel | Mapping[str, object], sources: Sources) -> Iterator[str]:
    names = table if isinstance(table, Mapping) else type(table).model_fields
    items = {name: table[name] if isinstance(table, Mapping) else getattr(table, name) for name in names}
    tables = {key for key, value in items.items() if isinstance(value, BaseModel | Mapping) or _holds_tables(value)}
    plain = {key: value for key, value in items.items() if key not in tables}
    if plain:
        yield from [f"[{'.'.join(map(_key, path))}]"] if path else []
        for key, value in plain.items():
            yield _line((*path, key), value, sources)
        yield ""
    for key, value in items.items():
        if isinstance(value, BaseModel | Mapping):
            yield from _table((*path, key), value, sources)
        elif _holds_tables(value):
            for index, entry in enumerate(value):
                place = (*path, key, str(index))
                yield f"[[{'.'.join(map(_key, (*path, key)))}]]  # {sources.place_of(place)}"
                fields = type(entry).model_fields
                yield from (_line((*place, name), getattr(entry, name), sources) for name in fields)
                yield ""


def _holds_tables(value: object) -> TypeGuard[tuple[BaseModel, ...]]:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], BaseModel)


def _line(path: KeyPath, value: object, sources: Sources) -> str:
    source = f"  # {sources.place_of(path)}" if sources.sets(path) else ""
    if value is None:
        return f"# {_key(path[-1])} is not set"
    return f"{_key(path[-1])} = {_toml(value)}{source}"


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else json.dumps(name)


def _toml(value: object) -> str:
    if isinstance(value, SecretStr):
        return f'"{MASK}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, tuple | list | frozenset):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, Enum):
        return json.dumps(value.value)
    if isinstance(value, str) and "://" in value:
        value = _IN_ADDRESS.sub(MASK, value)
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
