"""TOML files and environment merged into one configuration; each value is traceable to its line."""

import difflib
import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr, ValidationError

from agent.plain_errors import as_written, words_of_problem
from channels.registry import channel_names
from gateway.errors import SettingsError

KeyPath = tuple[str, ...]
Tree = dict[str, Any]

UNIONS = (Union, UnionType)
HEADER = re.compile(r"\s*\[{1,2}([^\[\]]+)\]{1,2}\s*(#.*)?$")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_KEY_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """One TOML file; empty if it does not exist."""

    path: Path
    values: Tree = field(default_factory=dict)
    text: str = ""

    def line_of(self, path: KeyPath) -> int | None:
        """Return the 1-based line of the key, or of the nearest table around it; None if neither is written."""
        deepest, found = 0, None
        for number, written in _written_keys(self.text):
            depth = _common(written, path)
            if depth > deepest:
                deepest, found = depth, number
        return found


def _written_keys(text: str) -> Iterator[tuple[int, KeyPath]]:
    table: KeyPath = ()
    counts: dict[KeyPath, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if header := HEADER.match(line):
            table = key_parts(header[1])
            if line.lstrip().startswith("[["):  # in an array of tables, the index is part of the path
                counts[table] = counts.get(table, -1) + 1
                table = (*table, str(counts[table]))
            yield number, table
        elif key := _KEY.match(line):
            yield number, (*table, *key_parts(key[1]))


def key_parts(dotted: str) -> KeyPath:
    """Return the parts of a dotted key in TOML: `access.accounts."telegram:main".direct`."""
    return tuple(part.strip("\"'") for part in _KEY_PART.findall(dotted))


def key_of(written: str) -> KeyPath:
    """Return the parts of a dotted key that a person types; () if it is not a key."""
    return key_parts(written) if _KEY.fullmatch(f"{written}=") else ()


def _common(path: KeyPath, other: KeyPath) -> int:
    depth = 0
    for mine, theirs in zip(path, other, strict=False):
        if mine != theirs:
            break
        depth += 1
    return depth


def read_file(path: Path, *, private: bool = False) -> ConfigFile:
    """Return the file, empty if it does not exist. A `private` one must have mode 0600 or stricter.

    Raises:
        SettingsError: it cannot be read, is not TOML, or others may read it.
    """
    try:
        with open(path, "rb", opener=_open_at_once) as opened:
            mode = os.fstat(opened.fileno()).st_mode
            raw = opened.read() if stat.S_ISREG(mode) else b""
    except FileNotFoundError:
        return ConfigFile(path)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror})") from error
    if not stat.S_ISREG(mode):
        raise SettingsError(f"{path}: this is no file")
    mode = stat.S_IMODE(mode)
    if private and mode & 0o077:
        raise SettingsError(f"{path}: others can read it (mode {mode:04o}); run: chmod 600 {path}")
    try:
        text = raw.decode("utf-8-sig")
        return ConfigFile(path, tomllib.loads(text), text)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SettingsError(f"{path}:{line}: this is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+)", str(error))
        place = f"{path}:{at[1]}" if at else str(path)
        raise SettingsError(f"{place}: this is not TOML: {_explain_toml(str(error))}") from None
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, deeply nested tables
        raise SettingsError(f"{path}: this cannot be read as TOML: {error}") from None


def _explain_toml(message: str) -> str:
    """Return the parser's message, with advice for two frequent mistakes."""
    if twice := re.match(r"Cannot declare \((.*)\) twice", message):
        table = ".".join(part.strip(" '") for part in twice[1].split(",") if part.strip())
        return f"[{table}] stands a second time here; write what it has under the first"
    quotes = '; text stands in quotes: key = "text"' if message.startswith("Invalid value") else ""
    return f"{message}{quotes}"


def _open_at_once(path: str, flags: int) -> int:
    """Open a descriptor without blocking, also of a pipe without a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


@dataclass(frozen=True, slots=True)
class Sources:
    """All sources; later ones win: the file, the secrets file, the environment."""

    file: ConfigFile
    secrets: ConfigFile
    environment: Mapping[KeyPath, tuple[str, str]]  # key path -> (variable, value)

    def merge_all(self) -> Tree:
        """Return one tree of all sources."""
        tree = merge(self.file.values, self.secrets.values)
        for path, (_, value) in self.environment.items():
            tree = merge(tree, nest(path, value))
        return tree

    def sets(self, path: KeyPath) -> bool:
        """Return True if any source sets the value at `path`."""
        return path in self.environment or any(has_path(file.values, path) for file in (self.secrets, self.file))

    def place_of(self, path: KeyPath) -> str:
        """Return the source of a value: `file:line` or the environment variable."""
        for written, (variable, _) in self.environment.items():
            if written[: len(path)] == path and not (len(written) > len(path) and self._holds_value(path)):
                return variable
        source = self.secrets if has_path(self.secrets.values, path) else self.file
        line = source.line_of(path)
        return f"{source.path}:{line}" if line else f"{source.path}"

    def _holds_value(self, path: KeyPath) -> bool:
        """Return True if the file has a value at `path` that is no table."""
        return has_path(self.file.values, path) and not isinstance(value_at(self.file.values, path), dict)


def has_path(tree: object, path: KeyPath) -> bool:
    """Return True if the tree has a value at `path`."""
    for part in path:
        if not isinstance(tree, Mapping) or part not in tree:
            return False
        tree = tree[part]
    return True


def value_at(tree: Any, path: KeyPath) -> object:
    """Return the value at `path`, which must exist."""
    for part in path:
        tree = tree[part]
    found: object = tree
    return found


def merge(base: Tree, over: Tree) -> Tree:
    """Return one tree of both; values of `over` win, tables are merged. A value in place of a table stays an error."""
    merged = dict(base)
    for key, value in over.items():
        before = merged.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            merged[key] = merge(before, value)
        elif before is None or not isinstance(value, dict):
            merged[key] = value
    return merged


def nest(path: KeyPath, value: Any) -> Tree:
    """Return the tables around one value."""
    tree: Any = value
    for part in reversed(path):
        tree = {part: tree}
    return dict(tree)


def explain(model: type[BaseModel], error: ValidationError, sources: Sources) -> SettingsError:
    """Return the error for the operator, a line for each problem: place, key, message, nearest right name."""
    found: dict[KeyPath, list[Any]] = {}
    for problem in error.errors():
        path = tuple(str(part) for part in problem["loc"])
        found.setdefault(_key_path(model, path), []).append(problem)
    return SettingsError("\n".join(_explain_one(model, path, problems, sources) for path, problems in found.items()))


def _key_path(model: type[BaseModel], path: KeyPath) -> KeyPath:
    """Return the path without the names that pydantic adds for union members."""
    path = path[:-1] if path[-1:] == ("[key]",) else path
    ends = (end for end in range(1, len(path)) if get_origin(annotation_at(model, path[:end])) in UNIONS)
    return path[: next(ends, len(path))]


def _explain_one(model: type[BaseModel], path: KeyPath, problems: Sequence[Any], sources: Sources) -> str:
    problem = problems[0]
    key = ".".join(path)
    place = sources.place_of(path)
    if problem["type"] == "extra_forbidden":
        return f"{place}: {key}: there is no such key{_nearest(model, path)}"
    if problem["type"] == "missing":
        where = f"; it belongs in {sources.secrets.path} or the environment" if is_secret(model, path) else ""
        return f"{place}: {key}: is missing{where}"
    table = annotation_at(model, path)
    if problem["type"] == "model_type" and path[-1] in getattr(table, "model_fields", ()):
        named = ".".join((*path[:-1], "NAME"))
        return f"{place}: {key}: it belongs in [{named}], where NAME is a name of yours"
    message = "; or ".join(map(words_of_problem, problems))
    given = problem["input"]
    is_shown = isinstance(given, str | int | float) and not is_secret(model, path)
    return f"{place}: {key}: {message}" + (f" (it is {as_written(given)})" if is_shown else "")


def _nearest(model: type[BaseModel], path: KeyPath) -> str:
    around = annotation_at(model, path[:-1])
    names = list(around.model_fields) if isinstance(around, type) and issubclass(around, BaseModel) else []
    offered = list(dict.fromkeys([*names, *(channel_names() if path[:-1] == ("channels",) else ())]))
    if near := difflib.get_close_matches(path[-1], offered, 1, cutoff=0.6):
        return f'; did you mean "{near[0]}"?'
    for name in names:
        table = annotation_at(around, (name,))
        inner, place = (
            (get_args(table)[-1], (*path[:-1], name, "NAME"))
            if get_origin(table) is Mapping
            else (table, (*path[:-1], name))
        )
        if isinstance(inner, type) and issubclass(inner, BaseModel) and path[-1] in inner.model_fields:
            return f"; it belongs in [{'.'.join(place)}]"
    return f"; there are {', '.join(offered)}" if offered else ""


def is_secret(model: type[BaseModel], path: KeyPath) -> bool:
    """Return True if the key at `path` is a secret."""
    annotation = annotation_at(model, path)
    return annotation is SecretStr or SecretStr in get_args(annotation)


def annotation_at(annotation: Any, path: Sequence[str]) -> Any:
    """Return the declared type at `path` under a model, or None."""
    for part in path:
        inner = _unwrap_optional(annotation)
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            declared = inner.model_fields.get(part)
            annotation = declared.annotation if declared else None
        elif get_origin(inner) in {dict, Mapping}:
            annotation = get_args(inner)[1]
        elif get_origin(inner) is tuple:
            annotation = get_args(inner)[0]
        else:
            return None
    return _unwrap_optional(annotation)


def _unwrap_optional(annotation: Any) -> Any:
    """Return `X` of `X | None`; other annotations unchanged."""
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    if len(kinds) == 1 and type(None) in get_args(annotation):
        return kinds[0]
    return annotation
