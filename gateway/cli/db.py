"""`tenk db`: the database itself."""

import asyncio
from pathlib import Path

import click

from gateway.cli.options import config_option


@click.group("db")
def command() -> None:
    """Look after the database."""


@command.command("upgrade")
@config_option
def upgrade(config_path: Path | None) -> None:
    """Bring the schema up to date. `run` does that by itself; this does it apart, while no gateway runs."""
    from gateway.cli.operate import upgrade_store  # noqa: PLC0415  heavy: the store
    from gateway.cli.prepare import prepare  # noqa: PLC0415  heavy: every room's config model

    asyncio.run(upgrade_store(prepare(config_path)))
    click.echo("The database is up to date.")
