"""Every test states its claim."""

import ast

from tests.house.tree import functions, named, parsed, python_files


def test_every_test_has_a_docstring() -> None:
    """The docstring is the claim, the body shows it."""
    missing = [
        f"{named(path)}:{name}"
        for path in python_files("tests")
        if path.name.startswith("test_")
        for name, node in functions(path)
        if name.rpartition(".")[2].startswith("test_") and ast.get_docstring(node) is None
    ]
    assert [] == missing


def test_every_module_has_a_docstring() -> None:
    """It says what the module knows, and what does not live there."""
    modules = [path for path in python_files("gateway", "channels", "agent", "tests") if path.name != "__init__.py"]
    assert [] == [named(path) for path in modules if ast.get_docstring(parsed(path)) is None]
