"""The way this process was called, so that texts can name `tenk` as the reader has to type it."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

NAME = "tenk"
FROM_A_CHECKOUT = ".venv/bin/tenk"


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Beginning and end of a command line; the reader types what is between."""

    program: tuple[str, ...]  # words: (".venv/bin/tenk",)
    environment: tuple[str, ...] = ()  # NAME=value, before the program
    options: tuple[str, ...] = ()  # at the end

    def command(self, *words: str) -> str:
        """Return what to type in the same directory to reach the same home."""
        typed = (*self.program, *words, *self.options)
        return " ".join([*map(_assignment, self.environment), *map(shlex.quote, typed)])

    @property
    def name(self) -> str:
        """Return the command without details of the machine, for strangers."""
        return FROM_A_CHECKOUT if self.program == (FROM_A_CHECKOUT,) else NAME


PLAIN = CommandLine((NAME,))
"""Default if the call is unknown."""


def of_process() -> CommandLine:
    """Return how this process was called."""
    return invocation_of(sys.argv, os.environ, Path.cwd(), Path(sys.executable), shutil.which)


def invocation_of(
    argv: Sequence[str],
    environ: Mapping[str, str],
    directory: Path,
    python: Path,
    find: Callable[[str], str | None],
) -> CommandLine:
    """Return how a process with these arguments was called. `find` searches for a program as a shell does."""
    script = Path(argv[0]) if Path(argv[0]).name == NAME else python.with_name(NAME)
    found = find(NAME)
    if found is not None and _same(found, script):
        program: tuple[str, ...] = (NAME,)
    elif script.exists() or Path(argv[0]).name == NAME:
        program = (_from_here(script, directory),)
    else:
        program = (_from_here(python, directory), "-m", "gateway")
    home = environ.get("TENK_HOME", "").strip()
    return CommandLine(program, (f"TENK_HOME={home}",) if home else (), _config_option(argv))


def _same(path: str, other: Path) -> bool:
    return os.path.realpath(path) == os.path.realpath(other)


def _from_here(program: Path, directory: Path) -> str:
    """Return the path relative to the directory if it is below it, with a slash, so that a shell finds it."""
    try:
        below = str((directory / program).relative_to(directory))
    except ValueError:
        return str(program)
    return below if "/" in below else f"./{below}"


def _config_option(argv: Sequence[str]) -> tuple[str, ...]:
    for place, word in enumerate(argv):
        if word.startswith("--config="):
            return (word,)
        if word == "--config" and place + 1 < len(argv):
            return (word, argv[place + 1])
    return ()


def _assignment(assignment: str) -> str:
    name, _, value = assignment.partition("=")
    return f"{name}={shlex.quote(value)}"
