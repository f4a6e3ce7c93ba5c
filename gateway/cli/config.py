"""`tenk config`: whether the configuration can be used, what it is (secrets masked, each value's source); sets keys."""

import contextlib
import json
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import TypeGuard

import click
from pydantic import BaseModel, SecretStr

from gateway.cli.root import config_option
from gateway.command_line import of_process
from gateway.config.editing import Draft, draft
from gateway.config.settings import Settings, load, read_sources
from gateway.config.sources import KeyPath, Sources, key_parts
from gateway.errors import SettingsError
from gateway.product import check_names, in_force, load_product

MASK = "********"


@click.group("config")
def command() -> None:
    """Check, show or change the configuration."""


@command.command("check")
@config_option
def check(config_path: Path | None) -> None:
    """Say whether the gateway could start with this configuration, and what else could be set."""
    settings = load(config_path, os.environ)
    check_names(settings, read_sources(config_path, os.environ))
    click.echo("The configuration can be used.")
    for hint in settings.hints():
        click.echo(hint)


@command.command("show")
@config_option
def show(config_path: Path | None) -> None:
    """Print every key with the value in force and where it comes from; secrets are masked."""
    settings = load(config_path, os.environ)
    settings = in_force(settings, load_product(settings.agent.product))
    for line in lines_of(settings, read_sources(config_path, os.environ)):
        click.echo(line)


@command.command("set")
@click.argument("key")
@click.argument("value", required=False)
@config_option
def set_(key: str, value: str | None, config_path: Path | None) -> None:
    """Set KEY (such as access.direct) to VALUE, where it belongs: secrets go into the file of secrets.

    Without VALUE it is asked for, or read from the input: what is typed as an argument stands in the shell's history.
    Comments stay; nothing is written that could not be loaded.
    """
    os.umask(0o077)
    path = key_parts(key)
    if not path:
        raise click.UsageError("KEY is a table and a key, joined by dots: access.direct")
    if value is None:
        value = click.prompt(key, hide_input=True) if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    made = _draft_of(config_path, path, value)
    files = [str(file) for file in made.write()]
    click.echo(f"{key} is set in {', '.join(files)}." if files else f"{key} was set so already.")
    if path in made.after.environment:
        click.echo(f"But {made.after.environment[path][0]} of the environment wins over it.")
    click.echo(f"`{of_process().command('reload')}` puts it in force, or says which start does.")


def _draft_of(config_path: Path | None, path: KeyPath, value: str) -> Draft:
    """The value as TOML writes it, where that can be used; else as the text that it is."""
    try:
        return draft(config_path, os.environ, {path: tomllib.loads(f"value = {value}")["value"]})
    except tomllib.TOMLDecodeError:
        return draft(config_path, os.environ, {path: value})
    except SettingsError:
        with contextlib.suppress(SettingsError):
            return draft(config_path, os.environ, {path: value})
        raise


def lines_of(settings: Settings, sources: Sources) -> Iterator[str]:
    """Every key with the value in force; what was set says where, what was not is commented out when it is empty."""
    yield from _table((), settings, sources)


def _table(path: KeyPath, table: BaseModel | Mapping[str, object], sources: Sources) -> Iterator[str]:
    names = table if isinstance(table, Mapping) else type(table).model_fields
    items = {name: table[name] if isinstance(table, Mapping) else getattr(table, name) for name in names}
    tables = {key for key, value in items.items() if isinstance(value, BaseModel | Mapping) or _holds_tables(value)}
    plain = {key: value for key, value in items.items() if key not in tables}
    if plain:
        yield f"[{'.'.join(map(_key, path))}]"
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
    if isinstance(value, tuple | list | frozenset):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, Enum):
        return json.dumps(value.value)
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
