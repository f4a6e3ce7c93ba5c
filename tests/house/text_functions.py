"""Finds the functions that read text: those which use a pattern, and those which walk through a string in a loop."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.tree import PACKAGES, ROOT, Function, functions, named, parsed, python_files

PATTERN_METHODS = frozenset({"search", "match", "fullmatch", "findall", "finditer", "sub", "subn"})
LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_TEXT = re.compile(r"(?<!\w)(?:str|bytes|bytearray)(?!\w)")


def module_of(path: Path) -> str:
    """The dotted name of a module."""
    return named(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@functools.cache
def text_functions() -> dict[str, Path]:
    """`module:Qualified.name` of every text function of the project, with its file."""
    return {name: path for path in python_files(*PACKAGES) for name in _text_functions_of(path)}


def is_text_function(place: str) -> bool:
    """Whether `module:Qualified.name` is one; its module alone is read, and those it imports."""
    path = ROOT / (place.partition(":")[0].replace(".", "/") + ".py")
    return path.is_file() and place in _text_functions_of(path)


@functools.cache
def _text_functions_of(path: Path) -> frozenset[str]:
    return frozenset(
        f"{module_of(path)}:{name}"
        for name, node in functions(path)
        if not _makes_pattern(node) and reads_text(node, patterns_of(path))
    )


def reads_text(node: Function, patterns: frozenset[str]) -> bool:
    """It uses a pattern, or it has text in its arguments and a loop in its body."""
    body = [inner for statement in node.body for inner in ast.walk(statement)]
    if any(_uses_pattern(inner, patterns) for inner in body):
        return True
    return _takes_text(node) and any(isinstance(inner, LOOPS) for inner in body)


def _uses_pattern(node: ast.AST, patterns: frozenset[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in patterns
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        of_module = isinstance(node.func.value, ast.Name) and node.func.value.id in {"re", "regex"}
        return of_module or node.func.attr in PATTERN_METHODS
    return False


def _takes_text(node: Function) -> bool:
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return any(each.annotation is not None and _is_text(ast.unparse(each.annotation)) for each in arguments)


def _is_text(annotation: str) -> bool:
    return not annotation.startswith("Callable") and _TEXT.search(annotation) is not None


@functools.cache
def patterns_of(path: Path) -> frozenset[str]:
    """Names of a module that stand for compiled patterns, its own and those it imports from the project."""
    return own_patterns(path) | frozenset(_imported(path))


@functools.cache
def own_patterns(path: Path) -> frozenset[str]:
    """Names bound at the module's top to something a pattern is compiled in."""
    tree = parsed(path)
    makers = {node.name for node in tree.body if isinstance(node, Function) and _makes_pattern(node)}
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _compiles(node.value, makers):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return frozenset(found)


def _makes_pattern(node: Function) -> bool:
    return node.returns is not None and "Pattern" in ast.unparse(node.returns)


def _compiles(value: ast.expr, makers: set[str]) -> bool:
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in makers:
                return True
            if isinstance(node.func, ast.Attribute) and node.func.attr == "compile":
                return True
    return False


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in PACKAGES:
            source = ROOT / (node.module.replace(".", "/") + ".py")
            if source.is_file():
                known = own_patterns(source)
                yield from (alias.asname or alias.name for alias in node.names if alias.name in known)
