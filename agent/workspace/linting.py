"""Checks of a changed file by the linter of its language, before the change is written.

A linter may run configuration of the folder, so it runs in the sandbox; and a folder that configures linters has to be
trusted by the operator as it is.
"""

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.tools.base import ToolError
from agent.workspace.config import WorkspaceConfig
from agent.workspace.folder import Folder, Parts
from agent.workspace.sandbox import Sandbox, TooLarge

LINT_S = 20.0
SHOWN_CHARS = 2000

CONFIGURATIONS = frozenset(
    {
        *("pyproject.toml", "ruff.toml", ".ruff.toml", "setup.cfg", "tox.ini", "mypy.ini", ".flake8", ".pylintrc"),
        *(
            "package.json",
            ".eslintrc",
            ".eslintrc.js",
            ".eslintrc.cjs",
            ".eslintrc.json",
            ".eslintrc.yml",
            "biome.json",
        ),
        *(
            "eslint.config.js",
            "eslint.config.mjs",
            "eslint.config.cjs",
            "eslint.config.ts",
            "tsconfig.json",
            ".editorconfig",
        ),
        *("Cargo.toml", "clippy.toml", ".clippy.toml", "go.mod", ".golangci.yml", ".golangci.yaml", ".shellcheckrc"),
    }
)
"""Files at the top of a folder that configure linters. A folder with one of them needs the operator's trust."""


IsTrusted = Callable[[Path, str], bool]
"""(folder, digest of its configuration) to True if the operator trusts it."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The files of a folder that configure linters."""

    names: tuple[str, ...]  # sorted; empty: nothing of the folder runs with a linter
    digest: str  # SHA-256 of names and contents, hex


def configuration_of(folder: Folder) -> Configuration:
    """Return the files that configure linters; one that cannot be read counts as its error."""
    hashed, names = hashlib.sha256(), sorted(CONFIGURATIONS.intersection(folder.names()))
    for name in names:
        try:
            content = folder.read((name,)).data
        except ToolError as problem:
            content = str(problem).encode()
        hashed.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return Configuration(tuple(names), hashed.hexdigest())


class Linting:
    """The linters of one tenant."""

    def __init__(self, config: WorkspaceConfig, sandbox: Sandbox | None, is_trusted: IsTrusted) -> None:
        self._config = config
        self._sandbox = sandbox
        self._is_trusted = is_trusted

    def reconfigure(self, config: WorkspaceConfig, sandbox: Sandbox | None) -> None:
        """Use these linters from now on; None: this machine has no sandbox that works."""
        self._config = config
        self._sandbox = sandbox

    def has_linter(self, parts: Parts) -> bool:
        return bool(self._argv(parts))

    async def check(self, folder: Path, configuration: Configuration, parts: Parts, before: bytes, after: bytes) -> str:
        """Check the new text of a file, and return the result for the model.

        Raises:
            ToolError: the linter refuses the new text, and accepts the old one.
        """
        if self._sandbox is None:
            return "not run: this machine has no sandbox"
        if configuration.names and not self._is_trusted(folder, configuration.digest):
            return f"not run: the operator does not trust this folder with its {', '.join(configuration.names)}"
        try:
            code, words = await self._run(self._sandbox, folder, parts, after)
            if code == 0:
                return "passed"
            if code in {126, 127}:
                return f"not run: {self._argv(parts)[0]} is not installed"
            if (await self._run(self._sandbox, folder, parts, before))[0] != 0:
                return f"fails, as before the edit: {words}"
        except TimeoutError:
            return "not run: it took too long"
        except (OSError, TooLarge) as problem:
            return f"not run: {problem}"
        raise ToolError(f"Not written, because the linter refuses it: {words}")

    def _argv(self, parts: Parts) -> tuple[str, ...]:
        return self._config.linter_of(parts[-1].rpartition(".")[2] if "." in parts[-1] else "")

    async def _run(self, sandbox: Sandbox, folder: Path, parts: Parts, text: bytes) -> tuple[int, str]:
        argv = [each.replace("{path}", "/".join(parts)) for each in self._argv(parts)]
        async with asyncio.timeout(LINT_S):
            ended = await sandbox.run(argv, folder, given=text)
        words = (ended.output + ended.errors).decode(errors="replace").strip()
        return ended.code, words[-SHOWN_CHARS:]
