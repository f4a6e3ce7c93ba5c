"""Modules and functions stay small enough to be read whole."""

import ast

from tests.house.tree import PACKAGES, functions, is_migration, named, python_files

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 50


def body_lines(node: ast.AST) -> int:
    """Lines from the first statement after the docstring to the last line."""
    body = list(node.body)  # type: ignore[attr-defined]  # functions and classes have one
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and len(body) > 1:
        body = body[1:]
    return body[-1].end_lineno - body[0].lineno + 1


def test_no_module_is_over_400_lines() -> None:
    """A module that needs more has two reasons to change."""
    sizes = {
        named(path): len(path.read_text().splitlines())
        for path in python_files(*PACKAGES, "tests")
        if not is_migration(path)
    }
    assert {} == {name: lines for name, lines in sizes.items() if lines > MAX_MODULE_LINES}


def test_no_function_is_over_50_lines() -> None:
    """Counted without its signature and docstring."""
    sizes = {
        f"{named(path)}:{name}": body_lines(node)
        for path in python_files(*PACKAGES, "tests")
        if not is_migration(path)
        for name, node in functions(path)
    }
    assert {} == {name: lines for name, lines in sizes.items() if lines > MAX_FUNCTION_LINES}
