"""Edits of configuration files: comments stay, and a result that would not load is never written."""

import contextlib
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.container import OutOfOrderTableProxy
from tomlkit.items import AoT, Table

from gateway.config.settings import Settings, read_files, read_sources, settings_model, settings_of, sources_of
from gateway.config.sources import (
    HEADER,
    ConfigFile,
    KeyPath,
    Sources,
    Tree,
    has_path,
    is_secret,
    key_parts,
    merge,
    nest,
    value_at,
)
from gateway.errors import SettingsError
from gateway.safety.private_files import replace_file

Changes = Mapping[KeyPath, Any]
"""New value by key, as TOML has it; None removes the key or table."""

EMPTIED = "# No settings.\n"
"""Content of a file whose last value was removed: a reload refuses a file without any text as lost."""

_COMMENTED = re.compile(r"""#(?=\[|(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')\s*=)""")


@dataclass(frozen=True, slots=True)
class Draft:
    """Changed configuration that is not written yet."""

    before: Sources
    after: Sources
    settings: Settings
    keys: tuple[KeyPath, ...]

    def replaced_keys(self) -> Iterator[KeyPath]:
        """Yield the keys that had another value in a file."""
        for key in self.keys:
            for old, new in ((self.before.file, self.after.file), (self.before.secrets, self.after.secrets)):
                if has_path(old.values, key) and value_at(old.values, key) != value_at(new.values, key):
                    yield key

    def write(self) -> list[Path]:
        """Write each changed file atomically; return the files.

        Raises:
            SettingsError: a file cannot be written, or was changed meanwhile.
        """
        written = []
        for old, new in ((self.before.file, self.after.file), (self.before.secrets, self.after.secrets)):
            if old.text != new.text:
                _write(old, new, private=new is self.after.secrets)
                written.append(new.path)
        return written

    def undo(self) -> None:
        """Write the files as they were before.

        Raises:
            SettingsError: a file cannot be written, or was changed meanwhile.
        """
        replace(self, before=self.after, after=self.before).write()


@dataclass(frozen=True, slots=True)
class ConfigFiles:
    """The files and variables that a running gateway reads its settings from."""

    path: Path | None
    environ: Mapping[str, str]
    read: Callable[[], Settings]
    """Returns the settings as they are now, for a reload."""

    def sources(self) -> Sources:
        """Return files and environment as they are now."""
        return read_sources(self.path, self.environ)

    def draft(self, key: KeyPath, text: str) -> Draft:
        """Return the configuration with what an operator typed for a key; an empty text removes the key.

        Raises:
            SettingsError: the changed files do not load, or the environment overrides the key.
        """
        if text:
            made = draft_of_texts(self.path, self.environ, {key: text})
        else:
            made = draft(self.path, self.environ, {key: None})
        if key in made.after.environment:
            raise SettingsError(f"the environment variable {made.after.environment[key][0]} sets this, and wins")
        return made


def draft(
    path: Path | None, environ: Mapping[str, str], changes: Changes, beginning: str = "", *, is_new: bool = False
) -> Draft:
    """Return the configuration with these changes, each in its file. A new main file starts as `beginning`.

    A file that is named must exist, unless it `is_new`.

    Raises:
        SettingsError: the files, or the changed files, do not load.
    """
    main, secrets = read_files(path, is_new=is_new)
    before = sources_of(main, secrets, environ)
    after_main = main if main.text or not beginning else ConfigFile(main.path, tomllib.loads(beginning), beginning)
    model = settings_model(Sources(after_main, secrets, dict.fromkeys(changes, ("", ""))))
    hidden = {key: value for key, value in changes.items() if value is None or is_secret(model, key)}
    shown = {key: value for key, value in changes.items() if value is None or key not in hidden}
    after = sources_of(_with_all(after_main, shown), _with_all(secrets, hidden), environ)
    settings = settings_of(after)
    emptied = {key[:-1] for key, value in changes.items() if value is None}
    shorter = replace(after, file=_without_empty(after.file, emptied), secrets=_without_empty(after.secrets, emptied))
    if settings_of(shorter) == settings:  # an empty table may mean something: [memory] remembers
        after = shorter
    return Draft(before, after, settings, tuple(changes))


def draft_of_texts(path: Path | None, environ: Mapping[str, str], texts: Mapping[KeyPath, str]) -> Draft:
    """Return the configuration with these values, checked together.

    Each is read as TOML if that gives valid settings, else as plain text.

    Raises:
        SettingsError: the files, or the changed files, do not load.
    """
    typed = {key: _as_toml(text) for key, text in texts.items()}
    try:
        return draft(path, environ, typed)
    except SettingsError:
        doubtful = {key: text for key, text in texts.items() if typed[key] != text}
        for plain in (*({key: text} for key, text in doubtful.items()), doubtful):
            with contextlib.suppress(SettingsError):
                return draft(path, environ, typed | plain)
        raise


def _as_toml(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _with_all(file: ConfigFile, changes: Changes) -> ConfigFile:
    for key, value in changes.items():
        before = file.text.removeprefix(EMPTIED)
        text = without_value(before, key) if value is None else with_value(before, key, value)
        file = _with_text(file, text)
    return file


def _with_text(file: ConfigFile, text: str) -> ConfigFile:
    text = EMPTIED if file.text.strip() and not text.strip() else text
    return replace(file, text=text, values=tomllib.loads(text))


def _without_empty(file: ConfigFile, tables: Collection[KeyPath]) -> ConfigFile:
    """Return the file without the headers of these tables that nothing stands under, and the empty line before each."""
    kept: list[str] = []
    lines = file.text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        header = HEADER.match(line)
        below = next((other for other in lines[number + 1 :] if other.strip()), "[")
        if not header or key_parts(header[1]) not in tables or not below.startswith("["):
            kept.append(line)
        elif kept and not kept[-1].strip():
            kept.pop()
    return _with_text(file, "".join(kept))


def with_value(text: str, key: KeyPath, value: Any) -> str:
    """Return the TOML text with this value at the key; other values and all comments stay.

    If the key is commented out, as in the example, it is written below that line, and so is its table's header.
    """
    wanted = merge(tomllib.loads(text), nest(key, value))
    for candidate in (*_taken_out_of_comment(text, key, value), _by_parser(text, key, value)):
        try:
            if tomllib.loads(candidate) == wanted:
                return candidate
        except tomllib.TOMLDecodeError:
            continue
    raise SettingsError(f"{'.'.join(key)}: cannot be set; write it into the file by hand")


def without_value(text: str, key: KeyPath) -> str:
    """Return the TOML text without this key or table; other values and comments stay.

    A header below its commented copy goes with the table's last key; one with commented keys is commented out.
    """
    before = tomllib.loads(text)
    if not has_path(before, key):
        return text
    after = text
    while has_path(tomllib.loads(after), key):
        document = tomlkit.parse(after)
        if not _remove_first(document if len(key) == 1 else value_at(document, key[:-1]), key[-1]):
            break
        after = tomlkit.dumps(document)
    if _is_table(value_at(before, key)):
        after = _without_headers(_without_copies(after, key), key)
    elif value_at(tomllib.loads(after), key[:-1]) == {}:
        after = _without_copies(after, key[:-1])
    if _drop_empty(tomllib.loads(after)) != _drop_empty(_without(before, key)):
        raise SettingsError(f"{'.'.join(key)}: cannot be taken away; remove it from the file by hand")
    return after


def _remove_first(table: Any, key: str) -> bool:
    """Delete the key's first line and return True if there was one.

    Line by line, because tomlkit would delete a table's comments with it, and loses track of dotted keys.
    """
    for inner in value if isinstance(value := table[key], AoT) else (value,):
        if not isinstance(inner, Table | OutOfOrderTableProxy):
            del table[key]
            return True
        if any(_remove_first(inner, name) for name in list(inner)):
            return True
    return False


def _is_table(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _without_copies(text: str, key: KeyPath) -> str:
    """Return the text without the headers of this table that stand below a commented copy."""
    lines = text.splitlines(keepends=True)
    pairs = zip(["", *lines], lines, strict=False)
    return "".join(line for above, line in pairs if not (_heads(line, key) and above.strip() == f"#{line.strip()}"))


def _without_headers(text: str, key: KeyPath) -> str:
    """Return the text without the headers of this table and the empty line before each.

    A header with commented keys is commented out.
    """
    kept: list[str] = []
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if not _heads(line, key):
            kept.append(line)
        elif _has_commented_key(lines[number + 1 :]):
            kept.append(f"#{line}")
        elif kept and not kept[-1].strip():
            kept.pop()
    return "".join(kept)


def _heads(line: str, key: KeyPath) -> bool:
    """Return True if the line is the header of this table, or of one in it."""
    header = HEADER.match(line)
    return header is not None and key_parts(header[1])[: len(key)] == key


def _has_commented_key(lines: Sequence[str]) -> bool:
    """Return True if there is a commented key before the next header."""
    first = next((line for line in lines if HEADER.match(line) or _COMMENTED.match(line)), "")
    return _COMMENTED.match(first) is not None and not first.startswith("#[")


def _without(tree: Tree, key: KeyPath) -> Tree:
    kept = {name: value for name, value in tree.items() if name != key[0]}
    return kept if len(key) == 1 else kept | {key[0]: _without(tree[key[0]], key[1:])}


def _drop_empty(tree: Tree) -> Tree:
    """Return the tree without empty tables, which mean nothing here."""
    inner = {name: _drop_empty(value) if isinstance(value, dict) else value for name, value in tree.items()}
    return {name: value for name, value in inner.items() if value != {}}


def _by_parser(text: str, key: KeyPath, value: Any) -> str:
    document = tomlkit.parse(text)
    table: Any = document
    for part in key[:-1]:
        if part not in table:
            table[part] = tomlkit.table(is_super_table=part is not key[-2])
        table = table[part]
    table[key[-1]] = value
    return tomlkit.dumps(document)


def _taken_out_of_comment(text: str, key: KeyPath, value: Any) -> Iterator[str]:
    """Yield the text with the key below its commented line, and with its table's header, if that is a comment too."""
    lines, header = text.split("\n"), 0
    table: KeyPath = ()
    for number, line in enumerate(lines):
        bare = _uncomment(line)
        if bare.startswith("["):
            table, header = key_parts(bare.partition("]")[0].lstrip("[")), number
            if table == key and value == {}:  # the table itself
                yield "\n".join([*lines[:number], bare, *lines[number + 1 :]])
        elif bare != line and table == key[:-1] and key_parts(bare.partition("=")[0]) == key[-1:]:
            changed = [*lines]
            changed.insert(number + 1, tomlkit.dumps({key[-1]: value}).rstrip("\n"))
            if table and (active := _uncomment(lines[header])) != lines[header]:
                changed.insert(header + 1, active)
            yield "\n".join(changed)


def _uncomment(line: str) -> str:
    """Return the line without the # before a key or header."""
    return _COMMENTED.sub("", line, count=1) if line.startswith("#") else line


def _write(old: ConfigFile, new: ConfigFile, *, private: bool) -> None:
    place = Path(os.path.realpath(new.path))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o600 if private else place.stat().st_mode & 0o777 if place.exists() else 0o644
        if place.exists() and place.read_bytes().decode("utf-8-sig") != old.text:
            raise SettingsError(f"{new.path} was changed meanwhile; nothing was written, try again")
        replace_file(place, new.text.encode(), mode)
    except OSError as error:
        raise SettingsError(f"{new.path} cannot be written ({error.strerror})") from error
