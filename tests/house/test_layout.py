"""Places and names of files."""

import re

from agent.context.sections import Section
from tests.house.tree import PACKAGES, ROOT, files, is_migration, named, python_files

TOP = {
    "pyproject.toml",
    "requirements.lock",
    "Makefile",
    "LICENSE",
    "CHANGELOG.md",
    "README.md",
    "gateway",
    "channels",
    "agent",
    "config",
    "distributions",
    "docs",
    "tests",
}
NAMES_FOR_NOTHING = {"utils", "util", "helpers", "helper", "common", "core", "misc"}


def test_every_init_is_empty() -> None:
    inits = [path for path in python_files(*PACKAGES, "distributions", "tests") if path.name == "__init__.py"]
    assert [] == [named(path) for path in inits if path.read_text().strip()]


def test_every_package_directory_has_an_init() -> None:
    directories = {path.parent for path in python_files(*PACKAGES) if not is_migration(path)}
    assert [] == sorted(named(each) for each in directories if not (each / "__init__.py").exists())


def test_nothing_else_stands_at_the_top() -> None:
    top = {path.relative_to(ROOT).parts[0] for path in files()}
    assert set() == {name for name in top if not name.startswith(".")} - TOP


def test_no_module_is_named_for_nothing() -> None:
    assert [] == [named(path) for path in python_files(*PACKAGES, "tests") if path.stem in NAMES_FOR_NOTHING]


def test_the_map_names_every_room() -> None:
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    mapped = {name for row in rows for name in re.findall(r"`([a-z/]+)`", row) if name.partition("/")[0] in PACKAGES}
    rooms = {named(path.parent) for path in python_files(*PACKAGES)}
    inner = ("channels/simulators/", "gateway/store/migrations/")
    expected = {room for room in rooms if not room.startswith(inner)}
    assert expected == mapped, "the table of packages in CONTRIBUTING.md names each package"


def test_configuration_holds_no_code() -> None:
    assert [] == [named(path) for path in python_files("config")]


def test_every_section_of_the_prompt_is_filled() -> None:
    filled = {name for path in python_files(*PACKAGES) for name in re.findall(r"Section\.([A-Z]+):", path.read_text())}
    assert set(Section.__members__) == filled, "remove a section that no part of an agent fills"
