"""`tenk db`: the database itself."""

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
    settings, database = _sqlite(config_path, "pg_dump")
    size = back_up(database, destination)
    click.echo(f"{destination} holds the database as it was a moment ago ({size:,} bytes, looked over).")
    _tell_keys(settings)


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
    _check_keys(settings)


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


@command.command("dump")
@click.argument("destination", type=NEW_FILE)
@click.option("--final", is_flag=True, help="Close the database here: no gateway starts on it until `tenk db reopen`.")
@config_option
def dump(destination: Path, final: bool, config_path: Path | None) -> None:
    """Write every row to the new file DESTINATION as JSON lines, as of one moment, also while the gateway runs.

    `tenk db load` puts them into another database, SQLite or PostgreSQL. To go on there, stop the gateway and add
    --final.
    """
    settings = prepare(config_path)
    with HomeLock(settings.home) if final else nullcontext():
        final_at = datetime.now(UTC) if final else None
        written = asyncio.run(write_dump(settings.database_url, destination, _tables_of, final_at))
    click.echo(f"{destination} holds all {written.rows:,} rows of {written.tables} tables.")
    _tell_keys(settings)
    if final:
        click.echo("The database here is closed. Next: `tenk db load` with the DATABASE_URL of an empty one.")


@command.command("load")
@click.argument("source", type=NEW_FILE)
@config_option
def load(source: Path, config_path: Path | None) -> None:
    """Fill the empty database of DATABASE_URL, or of the home, with a dump; cut short, it leaves nothing."""
    settings = prepare(config_path)
    with HomeLock(settings.home):
        read = asyncio.run(read_dump(source, settings.database_url, _tables_of))
    where = public_url(settings.database_url)
    click.echo(f"{where} holds all {read.rows:,} rows of {read.tables} tables; `tenk run` goes on from there.")
    if read.mended:
        click.echo(f"In {read.mended} of them a character that PostgreSQL does not keep (NUL) is U+FFFD now.")
    click.echo("What was waiting to be answered or sent at the time of the dump is answered or sent again.")
    _check_keys(settings)


@command.command("reopen")
@config_option
def reopen(config_path: Path | None) -> None:
    """Let the gateway start again on a database that `tenk db dump --final` closed."""
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
        f"Not in it: the configuration and its secrets, {settings.home / KEY}, without which the pairing codes that "
        f"people hold now are void, and {settings.home / SECRETS_KEY}, without which nobody can read the secrets in it."
    )


def _check_keys(settings: Settings) -> None:
    secrets = asyncio.run(check_secrets(settings.database_url, settings.home, settings.gateway.secret_keys))
    if secrets is not None and secrets.to_do:
        click.echo(f"Before it starts: {secrets.words}; {secrets.to_do}.")
    if not (settings.home / KEY).exists():
        click.echo(f"No {settings.home / KEY}: without theirs, codes and invitations that people hold are void.")


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
