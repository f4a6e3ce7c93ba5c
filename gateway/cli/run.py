"""`tenk run`: the gateway in the foreground."""

import asyncio
import os
import sys
from functools import partial
from pathlib import Path

import click

from agent.models.known_servers import KnownServers
from gateway.app import serve
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.config.settings import Settings, load, read_sources
from gateway.ops.model_servers import look_ahead
from gateway.product import check_names


@click.command("run")
@click.option(
    "--role", type=click.Choice(["all", "ingress", "worker", "egress"]),
    help="What this process does where several share one PostgreSQL; by default all.",
)  # fmt: skip
@config_option
def command(config_path: Path | None, role: str | None) -> None:
    """Run the gateway until it is told to stop (SIGTERM, Ctrl-C). What could be set next is said in plain sentences."""
    if role is not None:
        os.environ["TENK_ROLE"] = role  # so that a reload has it, too
    settings = prepare(config_path, level=None)
    check_names(settings, read_sources(config_path, os.environ))
    for hint in settings.hints():
        click.echo(hint)
    asyncio.run(_serve(settings, config_path))


def _read_again(config_path: Path | None) -> Settings:
    """The settings as a start would have them now; in a thread."""
    settings = load(config_path, os.environ)
    check_names(settings, read_sources(config_path, os.environ))
    model, _ = asyncio.run(look_ahead(settings.model, KnownServers()))
    return settings.model_copy(update={"model": model})


async def _serve(settings: Settings, config_path: Path | None) -> None:
    servers = KnownServers()
    model, sentences = await look_ahead(settings.model, servers)
    settings = settings.model_copy(update={"model": model})
    for sentence in sentences:
        click.echo(sentence)
    show = click.echo if sys.stdout.isatty() else None
    await serve(settings, show=show, servers=servers, read_again=partial(_read_again, config_path))
