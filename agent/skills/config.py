"""Settings of skills and of instruction files."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


class SkillsConfig(BaseModel):
    """Written procedures for the model, and instruction files of workspaces."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True
    """False: no skills and no instruction files, as without this table."""
    bundled: bool = True
    """Use the skills that the agent brings along."""
    managed: Path | None = None
    """Folder of skills that go before all others of their names; None: none."""
    user: Path | None = None
    """Folder of skills that `tenk skills add` fills; None: `skills` in the home."""
    plugins: tuple[str, ...] = ()
    """Entry points of the group `tenk.skills` whose skills are used."""
    disabled: tuple[str, ...] = ()
    """Names of skills that are not used, from any source."""
    instructions: tuple[FileName, ...] = Field(default=("AGENTS.md",), max_length=10)
    """Names of files in trusted workspace folders that stand in the prompt."""
