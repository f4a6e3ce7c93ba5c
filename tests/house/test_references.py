"""References in prose: modules and names in docstrings and comments, decisions in their index."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.house.tree import PACKAGES, ROOT, is_migration, named, parsed, python_files

DOTTED = re.compile(r"`((?:gateway|channels|agent|tests)(?:\.\w+)+)")
NAME = re.compile(r"`([A-Za-z_]\w*(?:[._]\w+)+)(?:\(\))?`")
FOREIGN = {"DEFAULT_TIMEOUT", "WebhookActor", "cpp", "get_final_froms", "inserted_primary_key"}
"""Names of libraries and platforms that prose explains."""

DECISIONS = ROOT / "docs" / "decisions"
INDEX = (DECISIONS / "README.md").read_text(encoding="utf-8")
PAGES = sorted(DECISIONS.glob("[0-9]*.md"))


def is_there(dotted: str) -> bool:
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[:length])
        if path.is_dir():
            return length == len(parts)
        if (module := path.with_suffix(".py")).exists():
            text = module.read_text(encoding="utf-8")
            return all(re.search(rf"\b{name}\b", text) for name in parts[length:])
    return False


def test_every_dotted_name_of_ours_is_there() -> None:
    assert set() == {
        (named(path), name)
        for path in python_files(*PACKAGES, "tests")
        for name in DOTTED.findall(path.read_text(encoding="utf-8"))
        if not is_there(name)
    }


@cache
def prose_of(path: Path) -> Sequence[str]:
    return [*_prose(path)]


def _prose(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value
    yield from re.findall(r"(?m)# .*$", path.read_text(encoding="utf-8"))


@cache
def words_in_use() -> frozenset[str]:
    words = set(FOREIGN)
    for path in python_files(*PACKAGES, "tests"):
        words.update(path.relative_to(ROOT).with_suffix("").parts)
        source = path.read_text(encoding="utf-8")
        for text in sorted(prose_of(path), key=len, reverse=True):
            source = source.replace(text, "")
        words.update(re.findall(r"\w+", source))
    for path in (*ROOT.glob("config/*.toml"), *ROOT.glob("*/locale/en/LC_MESSAGES/*.po"), ROOT / "pyproject.toml"):
        words.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return frozenset(words)


def test_every_name_in_backticks_is_one() -> None:
    assert set() == {
        (named(path), name)
        for path in python_files(*PACKAGES)
        if not is_migration(path)
        for text in prose_of(path)
        for name in NAME.findall(text)
        if not words_in_use().issuperset(name.split("."))
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_decision_says_how_it_stands(page: Path) -> None:
    title, _, status, *_ = page.read_text(encoding="utf-8").splitlines()
    assert title.startswith(f"# {page.name[:4]}: ")
    assert re.match(r"Date: \d{4}-\d\d-\d\d\. Status: (accepted|proposed)", status)
    listed = re.findall(rf"- \[{page.name[:4]}\]\((.*?)\): (.*)", INDEX)
    assert [(page.name, title.partition(": ")[2])] == listed


def test_a_newcomer_can_read_all_decisions() -> None:
    assert len(PAGES) <= 30
    assert [] == [page.name for page in PAGES if len(page.read_text(encoding="utf-8").splitlines()) > 40]
    numbers = {page.name[:4] for page in PAGES}
    assert set() == {
        (named(path), number)
        for path in python_files(*PACKAGES, "tests")
        for number in re.findall(r"[Dd]ecisions? (\d{4})", path.read_text(encoding="utf-8"))
        if number not in numbers
    }
