"""Checks of a changed file by the linter of its language, before the change is written.

A linter may run configuration of the folder, so it runs in the sandbox, and only if the operator trusts the folder.
"""

import asyncio
import hashlib
from pathlib import Path
from typing import Protocol

from agent.tools.base import ToolError
from agent.workspace.config import WorkspaceConfig
from agent.workspace.folder import Folder, Parts
from agent.workspace.sandbox import Sandbox, TooLarge

LINT_S = 20.0
SHOWN_CHARS = 2000

CONFIGURATIONS = (
    *("pyproject.toml", "ruff.toml", ".ruff.toml", "setup.cfg", "tox.ini", "mypy.ini", ".flake8", ".pylintrc"),
    *("package.json", ".eslintrc", ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.json", ".eslintrc.yml", "biome.json"),
    *(
        "eslint.config.js",
        "eslint.config.mjs",
        "eslint.config.cjs",
        "eslint.config.ts",
        "tsconfig.json",
        ".editorconfig",
    ),
    *("Cargo.toml", "clippy.toml", ".clippy.toml", "go.mod", ".golangci.yml", ".golangci.yaml", ".shellcheckrc"),
)
"""Files at the top of a folder that configure linters; a folder is trusted with these as they are."""


class TrustsFolders(Protocol):
    """The operator's word about folders."""

    def is_trusted(self, kind: str, name: str, digest: str) -> bool:
        """Return True if the operator trusts it with this digest."""
        ...


def digest_of(folder: Folder) -> str:
    """Return a hash of the files that configure linters; an unreadable one counts as its error."""
    hashed = hashlib.sha256()
    for name in CONFIGURATIONS:
        try:
            content = folder.find((name,))
        except ToolError as problem:
            hashed.update(f"{name} {problem}\n".encode())
        else:
            hashed.update(f"{name} {None if content is None else content.version}\n".encode())
    return hashed.hexdigest()


class Linting:
    """The linters of one tenant."""

    def __init__(self, config: WorkspaceConfig, sandbox: Sandbox | None, trust: TrustsFolders) -> None:
        self._config = config
        self._sandbox = sandbox
        self._trust = trust

    def reconfigure(self, config: WorkspaceConfig, sandbox: Sandbox | None) -> None:
        """Use these linters from now on; None: this machine has no sandbox that works."""
        self._config = config
        self._sandbox = sandbox

    def has_linter(self, parts: Parts) -> bool:
        return bool(self._argv(parts))

    async def check(self, folder: Path, digest: str, parts: Parts, before: bytes, after: bytes) -> str:
        """Check the new text of a file, and return the result for the model.

        Raises:
            ToolError: the linter refuses the new text, and accepts the old one.
        """
        if self._sandbox is None:
            return "not run: this machine has no sandbox"
        if not self._trust.is_trusted("workspace", str(folder), digest):
            return "not run: the operator does not trust this folder as it is configured now"
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
