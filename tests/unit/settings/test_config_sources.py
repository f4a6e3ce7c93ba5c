"""Sources of settings: a value names its line, a mistake the nearest right key."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from gateway.cli.client import home_of
from gateway.config.sources import ConfigFile, Sources, explain, key_of, read_file
from gateway.errors import SettingsError

TEXT = """\
# a comment = 1
title = "x"

[rooms.kitchen]   # where it is warm
size_m2 = 12
"odd name" = 1
window.width_m = 2

[rooms."living room"]
size_m2 = 30
"""


class Room(BaseModel):
    model_config = ConfigDict(extra="forbid")

    size_m2: int = 1
    key: SecretStr | None = None


class House(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str
    rooms: Mapping[str, Room] = {}


def sources(text: str, **environment: tuple[tuple[str, ...], str]) -> Sources:
    file = ConfigFile(Path("house.toml"), tomllib.loads(text), text)
    return Sources(file, ConfigFile(Path("secrets.toml")), {path: (name, v) for name, (path, v) in environment.items()})


def explained(given: Sources) -> str:
    with pytest.raises(ValidationError) as bad:
        House.model_validate(given.merge_all())
    return str(explain(House, bad.value, given))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 2),
        (("rooms", "kitchen", "size_m2"), 5),
        (("rooms", "kitchen", "odd name"), 6),
        (("rooms", "kitchen", "window", "width_m"), 7),
        (("rooms", "kitchen", "missing"), 4),
        (("rooms", "living room", "size_m2"), 10),
        (("nothing",), None),
    ],
)
def test_a_key_is_found_on_its_line(path: tuple[str, ...], line: int | None) -> None:
    assert line == ConfigFile(Path("x"), {}, TEXT).line_of(path)


def test_an_unknown_key_names_the_nearest_right_one() -> None:
    text = 'title = "x"\n[rooms.kitchen]\nsize_m = 3\n'
    expected = 'house.toml:3: rooms.kitchen.size_m: there is no such key; did you mean "size_m2"?'
    assert expected == explained(sources(text))


def test_an_unknown_key_like_nothing_lists_what_there_is() -> None:
    expected = "house.toml:2: zzz: there is no such key; there are title, rooms"
    assert expected == explained(sources('title = "x"\nzzz = 1\n'))


def test_a_bad_value_is_shown_with_its_line() -> None:
    text = 'title = "x"\n[rooms.kitchen]\nsize_m2 = "wide"\n'
    assert "house.toml:3: rooms.kitchen.size_m2: a whole number is wanted" in explained(sources(text))
    assert '(it is "wide")' in explained(sources(text))


def test_a_bad_secret_is_never_quoted() -> None:
    message = explained(sources('title = "x"\n[rooms.kitchen]\nkey = 12345678\n'))
    assert "house.toml:3: rooms.kitchen.key" in message
    assert "12345678" not in message


def test_a_value_of_the_environment_is_blamed_on_its_variable() -> None:
    given = sources('title = "x"\n', SIZE=(("rooms", "kitchen", "size_m2"), "wide"))
    assert explained(given).startswith("SIZE: rooms.kitchen.size_m2: ")


def test_all_problems_are_told_at_once() -> None:
    assert 3 == len(explained(sources("a = 1\nb = 2\n")).splitlines())


def test_later_sources_win_key_by_key() -> None:
    file = ConfigFile(Path("a"), {"t": {"x": 1, "y": 1, "z": 1}})
    secrets = ConfigFile(Path("b"), {"t": {"y": 2, "z": 2}})
    assert {"t": {"x": 1, "y": 2, "z": "3"}} == Sources(file, secrets, {("t", "z"): ("Z", "3")}).merge_all()


def test_an_absent_file_is_empty(tmp_path: Path) -> None:
    assert {} == read_file(tmp_path / "none.toml").values


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_secrets_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "secrets.toml"
    path.write_text("a = 1\n")
    path.chmod(mode)
    with pytest.raises(SettingsError, match=rf"mode {mode:04o}.*chmod 600"):
        read_file(path, private=True)
    path.chmod(0o600)
    assert {"a": 1} == read_file(path, private=True).values


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"a = 1\nb = \n", r"x\.toml:2: this is not TOML"),
        (b"a = auto\n", r'x\.toml:1: this is not TOML: .*; text stands in quotes: key = "text"$'),
        (b"[a]\nb = 1\n[c.d]\n[a]\ne = 1\n", r"x\.toml:4: this is not TOML: \[a\] stands a second time here;"),
        (b"[c.d]\n[c.d]\n", r"x\.toml:2: this is not TOML: \[c\.d\] stands a second time here;"),
        (b"a = 1\nb = '\xff'\n", r"x\.toml:2: this is not UTF-8"),
        (b"a = 1\na = 2\n", r"x\.toml:2: this is not TOML"),
        (b"a = " + b"[" * 50_000, r"x\.toml: this cannot be read as TOML"),
        (b"a = " + b"9" * 5_000, r"x\.toml: this cannot be read as TOML"),
    ],
)
def test_a_file_that_is_not_toml_names_the_line(tmp_path: Path, raw: bytes, message: str) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(raw)
    with pytest.raises(SettingsError, match=message):
        read_file(path)


def test_a_directory_in_place_of_a_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot be read \(Is a directory\)"):
        read_file(tmp_path)


def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.toml")
    with pytest.raises(SettingsError, match=r"x\.toml: this is no file"):
        read_file(tmp_path / "x.toml")
    assert None is home_of(tmp_path / "x.toml", {})


@pytest.mark.parametrize(
    ("typed", "parts"),
    [
        ("access.direct", ("access", "direct")),
        ('agent.personas."telegram:main"', ("agent", "personas", "telegram:main")),
        ("access direct", ()),
        ("access.direct\nx", ()),
        ("access.direct = 1 #", ()),
        ("a..b", ()),
        ("", ()),
    ],
)
def test_a_typed_key_is_a_key_and_nothing_else(typed: str, parts: tuple[str, ...]) -> None:
    assert parts == key_of(typed)


@given(st.text())
def test_no_text_breaks_the_search_for_a_line(text: str) -> None:
    ConfigFile(Path("x"), {}, text).line_of(("rooms", "kitchen"))
