"""The generator of the configuration reference; `make generated` runs it."""

import json
import re
import types
from collections.abc import Iterator, Mapping
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from gateway import reloading
from gateway.config.settings import Settings

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"
INTRODUCTION = """# Configuration

`config/gateway.toml` holds the settings; every key is optional, and each stands there with its default and an
explanation. Secrets (marked below) belong in `config/secrets.toml` (mode 0600) or in the environment.
`tenk config check` says whether a configuration can be used, `tenk config show` what is in force and where each value
comes from. NAME stands for a name of yours.

`tenk reload` applies the tables {live} without a restart, except {waiting}. All other settings wait for the next start.

This page is made from the settings models and `config/gateway.toml` by `make generated`.
"""
NAMES = {
    str: "text",
    int: "number",
    float: "number",
    bool: "true or false",
    Path: "path",
    SecretStr: "secret",
    Decimal: "number",
}


CONFIG = Path(__file__).parents[2] / "config"
SHIPPED = (CONFIG / "secrets.example.toml", CONFIG / "gateway.toml")
EXAMPLES = {"main", "acme", "example", "gh", "policy", "telegram:main"}
"""Names of tables in the shipped file that stand for any name."""

_KEY = re.compile(r'#?"?([a-z_]+)"? = ')
_TABLE = re.compile(r"#?\[+([a-z_.:\"]+)\]+$")


def page() -> str:
    """Return the whole reference as Markdown."""
    explained = {
        key: words for file in SHIPPED for key, words in explanations(file.read_text(encoding="utf-8")).items()
    }
    live, waiting = (", ".join(f"`{'.'.join(key)}`" for key in keys) for keys in (reloading.LIVE, reloading.NEXT_START))
    return INTRODUCTION.format(live=live, waiting=waiting) + "".join(_tables(Settings, (), explained, {}))


def explanations(text: str) -> Mapping[tuple[str, ...], str]:
    """Return the comment above each key and table of the shipped file, by its path.

    Keys without a blank line between them share one.
    """
    found: dict[tuple[str, ...], str] = {}
    table: tuple[str, ...] = ()
    comment: list[str] = []
    for line in text.splitlines():
        if match := _TABLE.match(line):
            named = match[1].replace('"', "").replace("profiles.oauth", "profiles.NAME").split(".")
            table = tuple("NAME" if part in EXAMPLES else part for part in named)
            found[table], comment = " ".join(comment), []
        elif match := _KEY.match(line):
            found[*table, match[1]] = " ".join(comment)
        elif line.startswith("# "):
            comment.append(line[2:])
        elif not line:
            comment = []
    return found


def _tables(
    model: type[BaseModel],
    path: tuple[str, ...],
    explained: Mapping[tuple[str, ...], str],
    written: dict[type[BaseModel], tuple[str, ...]],
) -> Iterator[str]:
    """Yield the table of a model and those inside it; `written` says where a model's keys stand already."""
    first = next((place for known, place in written.items() if issubclass(known, model)), path)
    written.setdefault(model, path)
    if first != path:
        yield f"\n## [{'.'.join(path)}]\n\nThe keys of `[{'.'.join(first)}]`, with its inner tables.\n"
        return
    own = [(name, field) for name, field in model.model_fields.items() if _model_of(field.annotation) is None]
    inner = [(name, field) for name, field in model.model_fields.items() if _model_of(field.annotation) is not None]
    if own and path:
        yield f"\n## [{'.'.join(path)}]\n\n| key | value | default | meaning |\n|---|---|---|---|\n"
        for name, field in own:
            key = field.alias or name
            if (path[0], key) in {("channels", "name"), ("tenants", "hooks")}:
                continue  # the table's own name; as the installation's
            meaning = explained.get((*path, key)) or "See `config/secrets.example.toml`."
            meaning = meaning.replace("|", "\\|").replace("\n", " ")
            yield f"| `{key}` | {_type(field.annotation, field.metadata)} | {_default(field)} | {meaning} |\n"
    for name, field in inner:
        found = _model_of(field.annotation)
        assert found is not None
        inside, is_named = found
        if path[:1] == ("tenants",):
            continue  # the same tables as the installation's
        yield from _tables(inside, (*path, field.alias or name, *(("NAME",) if is_named else ())), explained, written)


def _model_of(annotation: Any) -> tuple[type[BaseModel], bool] | None:
    """Return the model that a field holds, and True if it holds several by name; None for plain values."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _model_of(arguments[0])
    if origin in (Union, types.UnionType):
        return next((found for each in arguments if (found := _model_of(each)) is not None), None)
    if arguments and isinstance(origin, type) and not issubclass(origin, str) and origin is not Literal:
        found = _model_of(arguments[-1])
        return None if found is None else (found[0], True)
    return None


def _type(annotation: Any, metadata: list[Any]) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(arguments[0], [*metadata, *arguments[1:]])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_type(each, metadata) for each in arguments if each is not type(None)))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return ", ".join(f"`{each.value}`" for each in annotation)
    if origin is not None:
        return "table" if len(arguments) == 2 and arguments[1] is not Ellipsis else "list"
    return NAMES.get(annotation, "text") + _bounds(metadata)


def _bounds(metadata: list[Any]) -> str:
    least = next((f"from {each.ge}" for each in metadata if isinstance(each, Ge)), "")
    above = next((f"over {each.gt}" for each in metadata if isinstance(each, Gt)), "")
    most = next((f"to {each.le}" for each in metadata if isinstance(each, Le)), "")
    below = next((f"under {each.lt}" for each in metadata if isinstance(each, Lt)), "")
    words = " ".join(filter(None, (least or above, most or below)))
    return f" ({words})" if words else ""


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "required"
    if value is None:
        return "unset"
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, (set, frozenset, tuple)):
        value = sorted(value) if isinstance(value, (set, frozenset)) else list(value)
    return f"`{json.dumps(value, default=str, ensure_ascii=False)}`".replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
