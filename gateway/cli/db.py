"""`tenk db`: maintenance of the database."""

import asyncio
import sys
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import click

from gateway.cli.local import upgrade_store
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.cli.tables import json_option, json_text
from gateway.config.settings import Settings
from gateway.errors import GatewayError, SettingsError
from gateway.ops.home_check import check_database, check_secrets
from gateway.ops.lock import HomeLock
from gateway.product import load_product
from gateway.safety.private_files import KEY, SECRETS_KEY
from gateway.store.addresses import file_of, public_url
from gateway.store.agent_tables import AgentTables
from gateway.store.backup import back_up
from gateway.store.backup import restore as put_back
from gateway.store.backup import vacuum as rewrite
from gateway.store.dump import dump as write_dump
from gateway.store.dump import reopen as open_again
from gateway.store.load import load as read_dump

NEW_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group("db")
def command() -> None:
    """Back up, restore, copy, upgrade, check or shrink the database."""


@command.command("upgrade")
@config_option
def upgrade(config_path: Path | None) -> None:
    """Upgrade the schema while no gateway is running. `tenk run` does this by itself."""
    asyncio.run(upgrade_store(prepare(config_path)))
    click.echo("The database is up to date.")


@command.command("backup")
@click.argument("destination", type=NEW_FILE)
@config_option
def backup(destination: Path, config_path: Path | None) -> None:
    """Copy the database to the new file DESTINATION and verify the copy. The gateway may be running."""
    settings, database = _sqlite(config_path, "pg_dump")
    size = back_up(database, destination)
    click.echo(f"{destination} is a verified copy of the database ({size:,} bytes).")
    _tell_keys(settings)


@command.command("restore")
@click.argument("source", type=NEW_FILE)
@config_option
def restore(source: Path, config_path: Path | None) -> None:
    """Restore the backup SOURCE while no gateway is running. Move the old database file away first."""
    settings, database = _sqlite(config_path, "pg_restore --clean --if-exists --dbname=DATABASE SOURCE")
    with HomeLock(settings.home):
        put_back(source, database)
    click.echo(f"Restored {source} to {database}; `tenk run` continues from there.")
    click.echo("Messages that were waiting at the time of the backup will be answered or sent again.")
    _check_keys(settings)


@command.command("check")
@json_option
@config_option
def check(as_json: bool, config_path: Path | None) -> None:
    """Verify every page of the database. The gateway may be running. Exit status 1: something needs fixing."""
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
    """Return the space of deleted rows to the disk, while no gateway is running. Newer databases do this themselves."""
    settings, database = _sqlite(config_path, "VACUUM FULL")
    with HomeLock(settings.home):
        before, after = rewrite(database)
    click.echo(f"{database} shrank from {before:,} to {after:,} bytes.")


@command.command("dump")
@click.argument("destination", type=NEW_FILE)
@click.option("--final", is_flag=True, help="Close this database: no gateway can use it until `tenk db reopen`.")
@config_option
def dump(destination: Path, final: bool, config_path: Path | None) -> None:
    """Write all rows to the new file DESTINATION as JSON lines: a snapshot that a running gateway does not disturb.

    `tenk db load` reads it into another SQLite or PostgreSQL database. To move there, stop the gateway and add
    --final.
    """
    settings = prepare(config_path)
    with HomeLock(settings.home) if final else nullcontext():
        final_at = datetime.now(UTC) if final else None
        written = asyncio.run(write_dump(settings.database_url, destination, _tables_of, final_at))
    click.echo(f"{destination} holds all {written.rows:,} rows of {written.tables} tables.")
    _tell_keys(settings)
    if final:
        click.echo("This database is closed. Next: `tenk db load` with the DATABASE_URL of an empty one.")


@command.command("load")
@click.argument("source", type=NEW_FILE)
@config_option
def load(source: Path, config_path: Path | None) -> None:
    """Load the dump SOURCE into the empty database of DATABASE_URL, or of the home, completely or not at all."""
    settings = prepare(config_path)
    with HomeLock(settings.home):
        read = asyncio.run(read_dump(source, settings.database_url, _tables_of))
    where = public_url(settings.database_url)
    click.echo(f"{where} holds all {read.rows:,} rows of {read.tables} tables; `tenk run` continues from there.")
    if read.mended:
        click.echo(f"In {read.mended} of them, U+FFFD replaces a NUL character, which PostgreSQL cannot store.")
    click.echo("Messages that were waiting at the time of the dump will be answered or sent again.")
    _check_keys(settings)


@command.command("reopen")
@config_option
def reopen(config_path: Path | None) -> None:
    """Reopen a database that `tenk db dump --final` closed."""
    settings = prepare(config_path)
    with HomeLock(settings.home):
        was_closed = asyncio.run(open_again(settings.database_url))
    click.echo("The database is open again." if was_closed else "The database was not closed.")


@command.command("move", hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("anything", nargs=-1, expose_value=False)
def move() -> None:
    """Say what to do instead."""
    raise GatewayError(
        "`tenk db move` is gone: run `tenk db dump --final FILE`, then `tenk db load FILE` with the other DATABASE_URL"
    )


def _tell_keys(settings: Settings) -> None:
    click.echo(
        f"It does not contain the configuration, {settings.home / KEY} (without it, open pairing codes and invitations "
        f"are void) or {settings.home / SECRETS_KEY} (without it, the secrets in the database cannot be read)."
    )


def _check_keys(settings: Settings) -> None:
    secrets = asyncio.run(check_secrets(settings.database_url, settings.home, settings.gateway.secret_keys))
    if secrets is not None and secrets.to_do:
        click.echo(f"Before it starts: {secrets.words}; {secrets.to_do}.")
    if not (settings.home / KEY).exists():
        click.echo(
            f"{settings.home / KEY} is missing: without the original, open pairing codes and invitations are void."
        )


def _tables_of(agent: str) -> AgentTables | None:
    try:
        return load_product(agent).tables
    except SettingsError:
        return None  # not installed: the dump then names its tables


def _sqlite(config_path: Path | None, instead: str) -> tuple[Settings, Path]:
    """Return the settings and the database file.

    Raises:
        GatewayError: the database is PostgreSQL, which has its own tools.
    """
    settings = prepare(config_path)
    database = file_of(settings.database_url)
    if database is None:
        raise GatewayError(f"DATABASE_URL names a PostgreSQL database; use its own tools: {instead}")
    return settings, database
