"""Settings of the workspace: the folders that tools read and write, and the shell."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

LINTERS: Mapping[str, tuple[str, ...]] = {
    "py": ("python3", "-I", "-c", "import ast, sys; ast.parse(sys.stdin.read(), sys.argv[1])", "{path} as edited"),
    "json": ("python3", "-I", "-c", "import json, sys; json.load(sys.stdin)"),
    "toml": ("python3", "-I", "-c", "import sys, tomllib; tomllib.load(sys.stdin.buffer)"),
    "sh": ("bash", "-n"),
}
"""Syntax checks by suffix, which need no configuration of the folder."""

CONFINED = "shell"
UNCONFINED = "shell_without_sandbox"
"""Another name, so that no permission for the confined shell applies to it."""

TOOL_NAMES = ("edit_file", "glob", "grep", "read_file", CONFINED, UNCONFINED, "write_file")

GroupName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
Suffix = Annotated[str, Field(pattern=r"^[A-Za-z0-9_+-]{1,16}$")]


class WorkspaceConfig(BaseModel):
    """Tools that read and write files in a folder, and run commands there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    root: Path
    """Directory of all folders: ROOT/TENANT/PERSON, or ROOT/TENANT."""
    folders: Literal["person", "tenant"] = "person"
    """Owner of a folder: each person has one, or the people of a tenant share one."""
    shell: bool = False
    """True: the model may run commands in the folder."""
    shared_mount: bool = False
    """True: every machine of the cluster sees the same directory at `root`."""
    memory_mb: int = Field(default=1024, ge=64, le=65_536)
    """Maximum memory of a command in MiB."""
    processes: int = Field(default=128, ge=4, le=4096)
    """Maximum number of processes and threads of a command."""
    time_s: float = Field(default=50.0, gt=0, le=600)
    """Seconds after which a command is stopped."""
    deny: Mapping[GroupName, tuple[str, ...]] = Field(default_factory=dict)
    """Patterns of commands that never run, by group; a group of a known name replaces it, and an empty one ends it."""
    linters: Mapping[Suffix, tuple[str, ...]] = Field(default_factory=dict)
    """Program that checks a file, by suffix: it reads the new text; {path} is the file's path. Empty: no check."""

    def linter_of(self, suffix: str) -> tuple[str, ...]:
        """Return the program that checks files with this suffix; () if there is none."""
        return {**LINTERS, **self.linters}.get(suffix, ())
