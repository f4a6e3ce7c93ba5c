"""`tenk memory`: what an agent remembers of a person, as a folder of files."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from agent.memory.files import EXTENSION, MAX_FILE_BYTES, BadMemory, read_memory, write_memory
from agent.memory.index import FILE, write_index
from agent.memory.memory import Memory, MemoryOrigin, MemoryType
from agent.skills.folders import BadFile, decode, read_file
from channels.tenant import DEFAULT_TENANT
from gateway.cli.client import get, post, printable, tenant_option
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.cli.tables import Columns, json_option, print_rows
from gateway.definitions import read_agents
from gateway.errors import GatewayError
from gateway.safety.names import minute, short
from gateway.safety.private_files import replace_file

AT_ONCE = 100

COLUMNS: Columns = {
    "name": "name",
    "type": "type",
    "changed (utc)": lambda row: minute(row["updated_at"]),
    "origin": "origin",
    "description": lambda row: printable(row["description"]),
}

PASSAGE_COLUMNS: Columns = {
    "at (utc)": lambda row: minute(row["at"]),
    "conversation": lambda row: short(row["session"]),
    "person": lambda row: printable(row["person"]),
    "outcome": "outcome",
    "messages": "messages",
    "facts": "facts",
    "memories": "memories",
    "model": "model",
    "cost": lambda row: "unknown" if row["cost_microusd"] is None else f"${row['cost_microusd'] / 1_000_000:.4f}",
}

agent_option = click.option("--agent", default=None, help="Agent by name. Default: the product of the tenant.")
who_argument = click.argument("who")


@click.group("memory")
def command() -> None:
    """List, show, export or import what an agent remembers of WHO; list consolidations.

    WHO is a name, a sender such as telegram:42, the end of a user id, or team: what everyone in the tenant shares.
    """


@command.command("list")
@who_argument
@agent_option
@json_option
@config_option
def list_(who: str, agent: str | None, as_json: bool, config_path: Path | None) -> None:
    """List the memories of WHO, the newest first."""
    rows = list(_read_all(who, agent, config_path))
    nothing = f"The agent {printable(agent or _product(config_path))} remembers nothing; see `tenk agents list`."
    print_rows(rows, COLUMNS, nothing, as_json=as_json)


@command.command("show")
@who_argument
@click.argument("name")
@agent_option
@config_option
def show(who: str, name: str, agent: str | None, config_path: Path | None) -> None:
    """Show the file of the memory NAME of WHO."""
    wanted = name.removesuffix(EXTENSION)
    row = next((row for row in _read_all(who, agent, config_path) if row["name"] == wanted), None)
    if row is None:
        raise GatewayError(f"there is no memory {name!r}; see `tenk memory list {who}`")
    click.echo("\n".join(map(printable, write_memory(_to_memory(row)).splitlines())))


@command.command("export")
@who_argument
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@agent_option
@config_option
def export(who: str, folder: Path, agent: str | None, config_path: Path | None) -> None:
    """Write the memories of WHO to DIR: an index and one file each. DIR is made, and must be empty."""
    known = [_to_memory(row) for row in _read_all(who, agent, config_path)]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise GatewayError(f"{folder} is not empty")
        for memory in known:
            replace_file(folder / f"{memory.name}{EXTENSION}", write_memory(memory).encode())
        if known:
            replace_file(folder / FILE, f"{write_index(known, len(known))}\n".encode())
    except OSError as error:
        raise GatewayError(f"{folder} cannot be written: {error.strerror}") from None
    click.echo(f"Wrote {_count(len(known))} to {folder}.")


@command.command("import")
@who_argument
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False, exists=True))
@agent_option
@config_option
def import_(who: str, folder: Path, agent: str | None, config_path: Path | None) -> None:
    """Add the memory files in DIR for WHO, or put them in place of those of their names.

    A file that is no memory is named with its line and left out; the others are imported.
    """
    by_agent = _existing(agent, config_path)
    good, flaws = _read_folder(folder)
    for start in range(0, len(good), AT_ONCE):
        given = [_to_json(memory) for memory in good[start : start + AT_ONCE]]
        try:
            post(config_path, "users", who, "memories", agent=by_agent, memories=given)
        except GatewayError as refused:
            raise GatewayError(f"{refused}; {start:,} of {len(good):,} memories were imported") from None
    names = ", ".join(memory.name for memory in good[:AT_ONCE])
    click.echo(f"Imported {_count(len(good))}{f': {names}' if names else ''}.")
    if flaws:
        raise GatewayError("\n".join([f"{len(flaws)} files were left out:", *flaws]))


@command.command("consolidations")
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, show_default=True, help="Maximum number.")
@json_option
@config_option
def consolidations(limit: int, as_json: bool, config_path: Path | None) -> None:
    """List the passages of conversations that were consolidated last, with what came of them and what it cost."""
    rows = get(config_path, "consolidations", limit=limit)["consolidations"]
    print_rows(rows, PASSAGE_COLUMNS, "No conversation was consolidated.", as_json=as_json)


def _count(memories: int) -> str:
    return "1 memory" if memories == 1 else f"{memories:,} memories"


def _existing(agent: str | None, config_path: Path | None) -> str:
    tenant = tenant_option() or DEFAULT_TENANT
    settings = prepare(config_path).of_tenant(tenant)
    known = [settings.agent.name, *(each.name for each in read_agents(settings, tenant))]
    if agent is not None and agent not in known:
        raise GatewayError(f'there is no agent "{agent}"; there are: {", ".join(known)}')
    return agent or settings.agent.name


def _product(config_path: Path | None) -> str:
    settings = prepare(config_path)
    return settings.of_tenant(tenant_option() or DEFAULT_TENANT).agent.name


def _read_all(who: str, agent: str | None, config_path: Path | None) -> Iterator[dict[str, Any]]:
    by_agent, skip = agent or _product(config_path), 0
    while True:
        page = get(config_path, "users", who, "memories", agent=by_agent, skip=skip)
        yield from page["memories"]
        skip += len(page["memories"])
        if not page["more"] or not page["memories"]:
            return


def _read_folder(folder: Path) -> tuple[list[Memory], list[str]]:
    """Return the memories in a folder, and why other Markdown files in it are none."""
    good, flaws, now = list[Memory](), list[str](), datetime.now(UTC)
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(EXTENSION) and entry.name != FILE)
    except OSError as error:
        raise GatewayError(f"{folder} cannot be read: {error.strerror}") from None
    for name in names:
        path = folder / name
        try:
            text = decode(read_file(path, folder.resolve(), MAX_FILE_BYTES))
            memory = read_memory(text, now, name.removesuffix(EXTENSION))
            good.append(memory)
        except BadMemory as bad:
            flaws.append(printable(f"{path}:{bad.line}: {bad}"))
        except BadFile as bad:
            flaws.append(printable(f"{path}:1: {bad}"))
        except OSError as error:
            flaws.append(printable(f"{path}:1: it cannot be read: {error.strerror}"))
    return good, flaws


def _to_json(memory: Memory) -> dict[str, Any]:
    return {
        "name": memory.name,
        "type": memory.type.value,
        "description": memory.description,
        "body": memory.body,
        "origin": memory.origin.value,
        "created_at": memory.created_at.isoformat(),
        "updated_at": memory.updated_at.isoformat(),
    }


def _to_memory(row: dict[str, Any]) -> Memory:
    return Memory(
        name=row["name"],
        type=MemoryType(row["type"]),
        description=row["description"],
        body=row["body"],
        origin=MemoryOrigin(row["origin"]),
        created_at=datetime.fromisoformat(row["created_at"]),
        updated_at=datetime.fromisoformat(row["updated_at"]),
    )
