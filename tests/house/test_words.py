"""Words and marks that the project does not use."""

import re

import pytest

from tests.house.tree import ROOT, files, named, python_files

HERE = "tests/house/test_words.py"  # has to spell what it forbids


def lines_with(pattern: str, *, only_python: bool = False) -> list[str]:
    wanted = re.compile(pattern)
    found = []
    for path in python_files("gateway", "channels", "agent", "tests") if only_python else files():
        if named(path) == HERE:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{named(path)}:{number}" for number, line in enumerate(text.splitlines(), 1) if wanted.search(line)]
    return found


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?<![A-Za-z0-9_.~-])/(root|work|farm|home/[a-z]+|Users)/",
        r"pythonhosted|registry\.npmjs|--index-url|--extra-index-url|--find-links",
    ],
)
def test_no_file_names_a_machine_or_a_registry(pattern: str) -> None:
    assert [] == lines_with(pattern)


def test_nothing_is_cited_that_is_not_here() -> None:
    assert [] == lines_with(r"\b(SPEC|HOUSE|REVIEW)(?: sections?)? ?P?\d")


def test_tests_use_fakes_and_simulators() -> None:
    assert [] == lines_with(r"(?i)\bmock|mocker|monkeypatch\.setattr", only_python=True)


def test_no_word_stands_for_work_not_done() -> None:
    assert [] == lines_with(r"\bTODO\b|\bFIXME\b|\bXXX\b|NotImplementedError", only_python=True)


def test_every_exception_from_a_rule_ends_with_its_reason() -> None:
    bare = r"#\s*noqa(:\s*[A-Z0-9, ]+)?\s*$|#\s*type:\s*ignore(\[[a-z-, ]+\])?\s*$|#\s*pragma:[a-z ]+$"
    assert [] == lines_with(bare, only_python=True)


def test_unit_tests_do_not_sleep() -> None:
    found = [line for line in lines_with(r"\bsleep\((?!0\))", only_python=True) if line.startswith("tests/unit/")]
    assert [] == found


def test_the_lock_names_no_index() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert [] == re.findall(r"^-.*|https?://\S+", text, re.MULTILINE)
    assert [] == [line for line in text.splitlines() if re.match(r"[a-z]", line) and "==" not in line]
