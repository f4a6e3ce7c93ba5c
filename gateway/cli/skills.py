"""`tenk skills`: the skills of an agent, from all sources."""

import asyncio
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from agent.skills.folders import BadFile, read_skill
from agent.skills.library import Library
from agent.skills.skill import BadSkill, SkillSource, WrittenSkill
from channels.tenant import DEFAULT_TENANT
from gateway.capabilities.detached import open_capabilities
from gateway.capabilities.skills import FoundFiles, SkillFiles, runs_what, subject_name, user_folder
from gateway.capabilities.trust import SHOWN_DIGEST_CHARS
from gateway.cli.client import printable, tenant_option
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.cli.tables import Columns, json_option, print_rows
from gateway.cli.trust import add as trust_add
from gateway.config.settings import Settings
from gateway.errors import GatewayError

Row = dict[str, str]


@click.group("skills")
def command() -> None:
    """List the agent's skills, add one from a folder, trust one of a workspace."""


@command.command("list")
@json_option
@config_option
def list_(as_json: bool, config_path: Path | None) -> None:
    """List all skills: used, disabled, replaced by one of a higher source, broken, or waiting for your trust."""
    settings = prepare(config_path)
    tenant = tenant_option() or DEFAULT_TENANT
    columns: Columns = {name: name for name in ("name", "source", "state", "digest", "command", "about")}
    print_rows(_rows(settings, tenant), columns, "There are no skills.", as_json=as_json)


@command.command("add")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--replace", is_flag=True, help="Replace the skill of this name.")
@config_option
def add(folder: Path, replace: bool, config_path: Path | None) -> None:
    """Copy the skill in FOLDER to your own skills. Read it first: the model will follow it."""
    settings = prepare(config_path).of_tenant(tenant_option() or DEFAULT_TENANT)
    try:
        skill = read_skill(folder.resolve(), SkillSource.USER)
    except (BadSkill, BadFile, OSError) as bad:
        raise GatewayError(f"{folder} is no skill: {bad}") from None
    target = user_folder(settings) / skill.name
    if target.exists() and not replace:
        raise GatewayError(f"there is a skill {skill.name} in {target}; replace it with --replace")
    new = target.with_name(f".{skill.name}.{os.getpid()}")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copytree(folder, new)
    shutil.rmtree(target, ignore_errors=True)
    new.rename(target)
    click.echo(f"Added {skill.name} to {target}: {printable(runs_what(skill))}")
    if skill.folder is not None and (settings.workspace is None or not settings.workspace.shell):
        click.echo("It brings files that only the shell reads: set workspace.shell, or the model gets the text alone.")
    if settings.skills is None:
        click.echo("Skills are off: add the table [skills] to the configuration, then restart the gateway.")


@command.command("trust")
@click.argument("name")
@click.option("--digest", default="", help="Its digest in `tenk skills list`; if it has another one now, do nothing.")
@config_option
@click.pass_context
def trust(context: click.Context, name: str, digest: str, config_path: Path | None) -> None:
    """Trust the workspace's skill NAME as it is now; the same as `tenk trust add skill:NAME`."""
    context.invoke(trust_add, what=f"skill:{name}", digest=digest, config_path=config_path)


def _rows(settings: Settings, tenant: str) -> list[Row]:
    own = settings.of_tenant(tenant)
    if own.skills is None or not own.skills.enabled:
        return []
    found = SkillFiles(own.skills, own, tenant).read()
    rows = [*_shared_rows(found, own.skills.disabled), *_broken_rows(found)]
    return rows + asyncio.run(_workspace_rows(settings, tenant, found))


def _shared_rows(found: FoundFiles, disabled: Sequence[str]) -> Iterator[Row]:
    library = Library(skill for skill in found.shared if skill.name not in disabled)
    for skill in found.shared:
        used = library.find(skill.name)
        state = "used" if used is skill else "replaced" if used is not None else "disabled"
        yield _row(skill, skill.name, state)


def _broken_rows(found: FoundFiles) -> Iterator[Row]:
    flaws = dict(found.flaws)
    for folder in found.folders.values():
        flaws |= folder.flaws
    for path, why in flaws.items():
        yield {"name": path, "source": "", "state": "broken", "digest": "", "command": "", "about": why}


async def _workspace_rows(settings: Settings, tenant: str, found: FoundFiles) -> list[Row]:
    async with open_capabilities(settings, tenant) as capabilities:
        states = {subject.key: capabilities.state_of(subject).value for subject in capabilities.subjects()}
    return [
        _row(skill, name, states.get(f"skill:{name}", "waiting"))
        for folder, read in found.folders.items()
        for skill in read.skills
        for name in [subject_name(folder, skill.name)]
    ]


def _row(skill: WrittenSkill, name: str, state: str) -> Row:
    command = f"/{skill.command}" if skill.head.user_invocable else ""
    digest = skill.digest[:SHOWN_DIGEST_CHARS]
    row = {"name": name, "source": skill.source.value, "state": state, "digest": digest, "command": command}
    return row | {"about": runs_what(skill)}
