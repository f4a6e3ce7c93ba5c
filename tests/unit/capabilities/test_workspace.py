"""The workspace as a capability: where it may run, and what needs trust."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from gateway.capabilities.base import CapabilityDeps, SkillFolders
from gateway.capabilities.workspace import Workspace, make_workspace
from gateway.config.settings import load
from gateway.errors import SettingsError
from tests.fakes.workspace import NO_SANDBOX, SANDBOX


@dataclass(frozen=True)
class TrustsNothing:
    tenant: str = "default"

    def is_trusted(self, _kind: str, _name: str, _digest: str) -> bool:
        return False


@dataclass(frozen=True)
class Deps:
    trust: TrustsNothing
    skill_folders: SkillFolders = field(default_factory=SkillFolders)


def make(directory: Path, config: str = "", **environ: str) -> Workspace:
    file = directory / "gateway.toml"
    file.write_text(f'[workspace]\nroot = "{directory / "root"}"\n{config}')
    settings = load(file, {"TENK_HOME": str(directory / "home"), **environ})
    assert settings.workspace is not None
    return make_workspace(settings.workspace, settings, cast(CapabilityDeps, Deps(TrustsNothing())))


def test_several_machines_need_a_shared_mount(tmp_path: Path) -> None:
    cluster = {"DATABASE_URL": "postgresql://localhost/tenk"}
    with pytest.raises(SettingsError, match="shared_mount = true"):
        make(tmp_path, **cluster)
    assert not (tmp_path / "root").exists()
    assert {"read_file", "shell_without_sandbox"} & {
        tool.name for tool in make(tmp_path, "shell = true\nshared_mount = true", **cluster).tools()
    }


async def test_the_doctor_finds_a_root_that_is_not_there(tmp_path: Path) -> None:
    workspace = make(tmp_path)
    (tmp_path / "root").rmdir()
    (finding,) = await workspace.check()
    assert ("workspace", "root") == finding.key
    assert finding.to_do.startswith(f"make {tmp_path / 'root'} a directory")


@pytest.mark.skipif(SANDBOX is None, reason=NO_SANDBOX)
async def test_only_a_folder_that_configures_linters_needs_trust(tmp_path: Path) -> None:
    workspace = make(tmp_path)
    for person in ("ana", "bea"):
        (tmp_path / "root" / "default" / person).mkdir(parents=True)
    configuration = tmp_path / "root" / "default" / "bea" / "pyproject.toml"
    configuration.write_text("[tool.ruff]")
    (before,) = workspace.subjects()
    assert (str(configuration.parent), "linters of edited files, with pyproject.toml") == (before.name, before.runs)
    configuration.write_text("[tool.mypy]")
    assert before.digest != workspace.subjects()[0].digest
    assert "" == (await workspace.check())[0].to_do
