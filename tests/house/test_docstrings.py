"""Every module says what it is."""

import ast

from tests.house.tree import named, parsed, python_files


def test_every_module_has_a_docstring() -> None:
    """It says what the module knows, and what does not live there."""
    modules = [path for path in python_files("gateway", "channels", "agent", "tests") if path.name != "__init__.py"]
    assert [] == [named(path) for path in modules if ast.get_docstring(parsed(path)) is None]
