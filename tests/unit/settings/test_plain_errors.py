"""Errors of settings in plain words."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel, ValidationError

from agent.plain_errors import UNKNOWN
from gateway.config.settings import Settings
from gateway.config.sources import ConfigFile, KeyPath, Sources, explain, nest
from tests.torture.sampling import sampled

TEXTS = ("", "x", "x" * 100_000, "x y\n")
NUMBERS = (True, -1, 0, 10**30, 1.5, -1e300, float("nan"), float("inf"))
LISTS = ([], ["x"], [[1]], [{}], ["x"] * 10_000)
BAD = (*TEXTS, *NUMBERS, *LISTS, {}, {"x": "x"}, {"x": {}}, {"x": [1]})
SOURCES = Sources(ConfigFile(Path("gateway.toml")), ConfigFile(Path("secrets.toml")), {})
PYTHON = r"True|False|None|dict\w*|tuple|literal|str|int"
FOREIGN = re.compile(rf"\b({PYTHON}|Input should|input|[Vv]alid \w+|validation|instance|Value error)\b")


def paths(model: type[BaseModel], above: KeyPath = ()) -> Iterator[KeyPath]:
    for name, declared in model.model_fields.items():
        yield (*above, name)
        yield from inner(declared.annotation, (*above, name))


def inner(annotation: Any, path: KeyPath) -> Iterator[KeyPath]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from paths(annotation, path)
    elif get_origin(annotation) in (dict, Mapping):
        yield (*path, "x")
        yield from inner(get_args(annotation)[1], (*path, "x"))
    else:
        for part in get_args(annotation):
            yield from inner(part, path) if len(path) < 8 else ()


def told(tree: dict[str, Any]) -> str:
    try:
        Settings.model_validate(tree)
    except ValidationError as error:
        return str(explain(Settings, error, SOURCES))
    return ""


@pytest.mark.parametrize("share", sampled(range(4), 4))
def test_no_key_is_answered_in_the_words_of_a_library(share: int) -> None:
    said: dict[str, str] = {}
    for number, path in enumerate(dict.fromkeys(paths(Settings))):
        for bad in BAD[(number + share) % 4 :: 4]:
            for line in told(nest(path, bad)).splitlines():
                words = re.sub(r"^.*?: [\w.]+: | \(it is .*\)$|\"[^\"]*\"|'[^']*'", "", line)
                if FOREIGN.search(words) or UNKNOWN in words:
                    said.setdefault(words[:200], f"{'.'.join(path)} = {str(bad)[:50]}")
    assert {} == said


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"gateway": {"traces": "perhaps"}}, 'gateway.traces: true or false is wanted (it is "perhaps")'),
        ({"gateway": {"log_level": True}}, "it has to be one of: debug, info, warning, error (it is true)"),
        ({"sessions": {"max_turns": 0}}, "sessions.max_turns: it has to be 1 or more (it is 0)"),
        ({"model": {"thinking": 5}}, "model.thinking: it has to be one of: adaptive; or it has to be 1024 or more"),
    ],
)
def test_a_wrong_value_is_shown_as_it_is_written(tree: dict[str, Any], words: str) -> None:
    assert words in told(tree)
