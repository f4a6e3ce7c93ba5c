"""Docstrings begin with a verb or a noun, and use words that a stranger knows."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.house.tree import PACKAGES, is_migration, named, parsed, python_files

FIRST = re.compile(r"(What|Whether|Who|Whose|Where|How|The same|As the|Of)\b")
"""First words of riddles: say what is returned, and by which name."""

BANNED = re.compile(
    r"\b(whoever|somebody|nobody|rungs?|ladders?|trials|suspects|solitude|raise_wall|makers|doorways?|entrance|desks?|heads|"
    r"gone on with|made fit|twist|let_see)\b",
    re.IGNORECASE,
)
"""Words of this code's earlier private language."""

HERE = "tests/house/test_plain_words.py"  # it has to spell what it forbids


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield each docstring with the place where it is, constants' and fields' too."""
    for path in python_files(*PACKAGES, "distributions", "tests"):
        if is_migration(path) or named(path) == HERE:
            continue
        for node in ast.walk(parsed(path)):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                yield f"{named(path)}:{node.lineno}", node.value.value.strip()


@pytest.mark.parametrize(("pattern", "is_start"), [(FIRST, True), (BANNED, False)], ids=["first words", "banned words"])
def test_docstrings_are_plain(pattern: re.Pattern[str], is_start: bool) -> None:
    find = pattern.match if is_start else pattern.search
    found = [f"{place} {match[0]!r} in {text[:60]!r}" for place, text in docstrings() if (match := find(text))]
    assert [] == found, "begin a docstring with a verb or a noun, and use the words of the field"
