"""`tenk db`: the database itself."""

import asyncio
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import click

from gateway.cli.alone import upgrade_store
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.cli.tables import json_option, json_text
from gateway.config.settings import Settings
from gateway.errors import GatewayError, SettingsError
from gateway.ops.home_check import check_database, check_secrets
from gateway.ops.lock import HomeLock
from gateway.product import load_product
from gateway.safety.private_files import DATABASE, KEY, SECRETS_KEY
from gateway.store.addresses import file_of
from gateway.store.agent_tables import AgentTables
from gateway.store.backup import back_up
from gateway.store.backup import restore as put_back
from gateway.store.backup import vacuum as rewrite
from gateway.store.engine import engine_for
from gateway.store.moving import Moved
from gateway.store.moving import move as carry

NEW_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group("db")
def command() -> None:
    """Look after the database."""


@command.command("upgrade")
@config_option
def upgrade(config_path: Path | None) -> None:
    """Bring the schema up to date. `run` does that by itself; this does it apart, while no gateway runs."""
    asyncio.run(upgrade_store(prepare(config_path)))
    click.echo("The database is up to date.")


@command.command("backup")
@click.argument("destination", type=NEW_FILE)
@config_option
def backup(destination: Path, config_path: Path | None) -> None:
    """Copy the database to the new file DESTINATION, whole and looked over, also while the gateway runs."""
    settings, database = _sqlite(config_path, "PGOPTIONS='-c tenk.tenant=*' pg_dump --enable-row-security")
    size = back_up(database, destination)
    click.echo(f"{destination} holds the database as it was a moment ago ({size:,} bytes, looked over).")
    click.echo(
        f"Not in it: the configuration and its secrets, {settings.home / KEY}, without which the pairing codes that "
        f"people hold now are void, and {settings.home / SECRETS_KEY}, without which nobody can read the secrets in it."
    )


@command.command("restore")
@click.argument("source", type=NEW_FILE)
@config_option
def restore(source: Path, config_path: Path | None) -> None:
    """Put the backup SOURCE in the place of a database that was moved away, while no gateway runs."""
    settings, database = _sqlite(config_path, "pg_restore --clean --if-exists --dbname=DATABASE SOURCE")
    with HomeLock(settings.home):
        put_back(source, database)
    click.echo(f"{database} is the database of {source}; `tenk run` goes on from there.")
    click.echo("What was waiting to be answered or sent at the time of the backup is answered or sent again.")
    secrets = asyncio.run(check_secrets(settings.database_url, settings.home, settings.gateway.secret_keys))
    if secrets is not None and secrets.to_do:
        click.echo(f"Before it starts: {secrets.words}; {secrets.to_do}.")
    if not (settings.home / KEY).exists():
        click.echo(f"No {settings.home / KEY}: without theirs, codes and invitations that people hold are void.")


@command.command("check")
@json_option
@config_option
def check(as_json: bool, config_path: Path | None) -> None:
    """Read every page of the database, also beside a running gateway. Exit status 1: something is to be done."""
    settings = prepare(config_path)
    found = asyncio.run(check_database(settings.database_url, settings.home))
    if as_json:
        click.echo(json_text({"ok": not found.to_do, "found": found.words, "to_do": found.to_do}))
    else:
        click.echo("\n".join(filter(None, (found.words, found.to_do))))
    if found.to_do:
        sys.exit(1)


@command.command("vacuum")
@config_option
def vacuum(config_path: Path | None) -> None:
    """Give the room of removed rows back, while no gateway runs. A database made by this version does it by itself."""
    settings, database = _sqlite(config_path, "VACUUM FULL")
    with HomeLock(settings.home):
        before, after = rewrite(database)
    click.echo(f"{database} was {before:,} bytes long and is {after:,}.")


@command.command("move")
@click.argument("destination", required=False)
@config_option
def move(destination: str | None, config_path: Path | None) -> None:
    """Carry everything to the empty database DESTINATION, such as postgresql://tenk@host/tenk, while no gateway runs.

    Without DESTINATION it is asked for, or read from the input: what is typed as an argument stands in the shell's
    history. Every row is read back; killed, it goes on when it is called again. The database here answers no gateway
    any more afterwards. The way back is the same command, called with the other DATABASE_URL.
    """
    settings = prepare(config_path)
    if destination is None:
        asks = sys.stdin.isatty()
        destination = click.prompt("DESTINATION", hide_input=True) if asks else sys.stdin.readline().strip()
    engine_for(destination)  # whether it means a database
    moved = asyncio.run(_move(settings, destination))
    click.echo(f"{moved.target} holds all {moved.rows:,} rows of {moved.tables} tables now; each was read back.")
    if moved.mended:
        click.echo(f"In {moved.mended} of them a character that PostgreSQL does not keep (NUL) is U+FFFD now.")
    click.echo(
        f"Not in it, and needed as before: the configuration, {settings.home / KEY} and {settings.home / SECRETS_KEY}; "
        "on another machine put them into the home there first."
    )
    if moved.target == str(settings.home.absolute() / DATABASE):
        click.echo(
            "Next: start the gateway without DATABASE_URL (and gateway.database_url): it is the home's own again."
        )
    else:
        click.echo("Next: set DATABASE_URL to it (or: tenk config set gateway.database_url), then start the gateway.")
    click.echo(
        f"{moved.source} is the past: no gateway starts on it. Remove it when you are sure; its words stand in it."
    )


async def _move(settings: Settings, destination: str) -> Moved:
    """With both homes held."""
    file = file_of(destination)
    with ExitStack() as held:
        held.enter_context(HomeLock(settings.home))
        if file is not None and file.absolute().parent != settings.home.absolute():
            held.enter_context(HomeLock(file.absolute().parent))
        return await carry(settings.database_url, destination, _tables_of, datetime.now(UTC), click.echo)


def _tables_of(agent: str) -> AgentTables | None:
    try:
        return load_product(agent).tables
    except SettingsError:
        return None  # it is not installed: what it kept is named when the tables are looked at


def _sqlite(config_path: Path | None, instead: str) -> tuple[Settings, Path]:
    """The settings and the database file.

    Raises:
        GatewayError: the database is a server's, which has a tool of its own.
    """
    settings = prepare(config_path)
    database = file_of(settings.database_url)
    if database is None:
        raise GatewayError(f"the database is PostgreSQL's (DATABASE_URL); use its own tools: {instead}")
    return settings, database
