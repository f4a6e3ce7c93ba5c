"""Distributions of our own in this checkout, which import what a foreign one may."""

import ast
import re
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT, named, parsed, python_files

EXTENDING = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
PUBLIC = {
    "channels.base",
    "channels.bounded_dict",
    "channels.chat",
    "channels.clocks",
    "channels.errors",
    "channels.foreign",
    "channels.markdown",
    "channels.messages",
    "channels.viewers.plain_renderer",
}
PUBLIC_TO_TESTS = {"channels.registry", "gateway.testing"}
LIBRARIES = {"aiohttp", "orjson", "pydantic", "structlog", "yarl"}  # of the gateway's own; yarl is aiohttp's
SOURCES = [path for path in python_files("distributions") if "tests" not in path.parts]
TESTS = [path for path in python_files("distributions") if "tests" in path.parts]


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return {name for name in names if name.partition(".")[0] not in sys.stdlib_module_names}


def is_within(name: str, allowed: set[str]) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in allowed)


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_a_distribution_imports_what_a_foreign_one_may(path: Path) -> None:
    own = {path.parent.name}
    assert [] == sorted(name for name in imported(path) if not is_within(name, PUBLIC | LIBRARIES | own))


@pytest.mark.parametrize("path", TESTS, ids=named)
def test_its_tests_import_no_more_than_the_testing_package_beside(path: Path) -> None:
    names = {name for name in imported(path) if name.partition(".")[0] in {"agent", "channels", "gateway", "tests"}}
    assert [] == sorted(name for name in names if not is_within(name, PUBLIC | PUBLIC_TO_TESTS))


def test_the_page_on_extending_names_what_is_public() -> None:
    section = EXTENDING[EXTENDING.index("## A channel") : EXTENDING.index("## A model server")]
    found = set(re.findall(r"`((?:channels|gateway)(?:\.\w+)+)`", section))
    assert PUBLIC | PUBLIC_TO_TESTS <= found
