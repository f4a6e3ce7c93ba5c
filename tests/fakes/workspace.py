"""Workspaces of tests: folders of two people beside a secret, and their tools."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent.ports import Principal
from agent.tools.base import Tool, ToolContext, tools_of
from agent.workspace.config import WorkspaceConfig
from agent.workspace.files import FileTools
from agent.workspace.folder import Folders
from agent.workspace.linting import Linting
from agent.workspace.sandbox import CommandLimits, find_sandbox
from agent.workspace.shell import Shell

ANA = Principal("ana", "acme", "Ana", locale="en")
BEA = Principal("bea", "acme", "Bea", locale="es")
NOW = datetime(2026, 11, 28, tzinfo=UTC)
CANARY = "canary-7391-of-another"
"""Secret text outside of Ana's folder."""

SANDBOX = find_sandbox((), CommandLimits(memory_mb=256, processes=32))
NO_SANDBOX = "bubblewrap is not installed (Debian: apt-get install bubblewrap)"


@dataclass(frozen=True, slots=True)
class Rig:
    """The tools of a workspace, called like the pipeline does, without permission."""

    directory: Path
    config: WorkspaceConfig
    tools: Mapping[str, Tool]
    shell: Shell

    @property
    def folder(self) -> Path:
        """Return Ana's folder."""
        return self.config.root / "acme" / "ana"

    @property
    def outside(self) -> Path:
        """Return a directory with a secret beside the folders."""
        return self.directory / "outside"

    def is_harmed(self) -> bool:
        """Return True if anything outside of Ana's folder was changed."""
        found = [path for path in self.directory.rglob("*") if path.is_file() and not path.is_relative_to(self.folder)]
        elsewhere = {path: path.read_text() for path in found}
        bea = self.config.root / "acme" / "bea" / "diary.txt"
        return elsewhere != {self.outside / "secret.txt": CANARY, bea: CANARY}

    async def call(self, name: str, principal: Principal = ANA, *, key: str = "t/0/0", **arguments: object) -> Any:
        """Check, fill in and run a call; return its data."""
        given, use = await self.prepare(name, principal, key=key, **arguments)
        return await self.tools[name].run(use, given)

    async def prepare(self, name: str, principal: Principal = ANA, *, key: str = "t/0/0", **arguments: object) -> Any:
        """Check a call and fill in its arguments, up to the question to the person."""
        tool, context = self.tools[name], ToolContext(principal, NOW, key)
        given = tool.arguments.model_validate(json.loads(json.dumps(arguments)))  # type: ignore[union-attr]  # all are models
        if tool.validate is not None and (checking := tool.validate(context, given)) is not None:
            await checking
        return given if tool.backfill is None else tool.backfill(context, given), context


def make_rig(directory: Path, *, trusted: bool = False, **settings: Any) -> Rig:
    """Make folders with a secret beside them."""
    config = WorkspaceConfig(root=directory / "root", shell=True, **settings)
    folders = Folders(config.root, per_person=True)
    for person in ("ana", "bea"):
        (config.root / "acme" / person).mkdir(parents=True, exist_ok=True)
    (config.root / "acme" / "bea" / "diary.txt").write_text(CANARY)
    (directory / "outside").mkdir(parents=True, exist_ok=True)
    (directory / "outside" / "secret.txt").write_text(CANARY)
    files = FileTools(folders, Linting(config, SANDBOX, lambda _folder, _digest: trusted))
    shell = Shell(folders, config)
    tools = [*tools_of(files), *([] if SANDBOX is None else [shell.confined_tool(SANDBOX)])]
    return Rig(directory, config, {tool.name: tool for tool in tools}, shell)
