"""The files of the project, as git knows them or as they are on disk."""

import ast
import functools
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("gateway", "channels", "agent")
IGNORED = {".git", ".venv", "__pycache__", "var", "dist", "build"}


@functools.cache
def files() -> tuple[Path, ...]:
    """Return every file that is or would be tracked; without git, every file outside ignored directories."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=50,
    )
    if listed.returncode == 0:
        found = [ROOT / name for name in os.fsdecode(listed.stdout).split("\0") if name]
    else:
        found = [path for path in ROOT.rglob("*") if not IGNORED & set(path.relative_to(ROOT).parts)]
        found = [path for path in found if not any(part.endswith("_cache") for part in path.parts)]
    return tuple(sorted(path for path in found if path.is_file()))


def is_migration(path: Path) -> bool:
    """Return True for revisions of the schema: generated, loaded by path, never changed once released."""
    return "migrations" in path.parts


def named(path: Path) -> str:
    """Return the path relative to the project."""
    return path.relative_to(ROOT).as_posix()


def python_files(*tops: str) -> Iterator[Path]:
    """Return the Python files under these top directories."""
    for path in files():
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in tops:
            yield path


@functools.cache
def parsed(path: Path) -> ast.Module:
    """Return the module's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(path: Path) -> Iterator[tuple[str, Function]]:
    """Return every function of a module with its qualified name."""
    yield from _functions(parsed(path), "")


def _functions(node: ast.AST, above: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        name = f"{above}{child.name}" if isinstance(child, Function | ast.ClassDef) else above
        if isinstance(child, Function):
            yield name, child
        yield from _functions(child, f"{name}." if isinstance(child, Function | ast.ClassDef) else above)
