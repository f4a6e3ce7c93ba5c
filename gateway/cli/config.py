"""`tenk config`: what the configuration is, and whether it can be used."""

import os
from pathlib import Path

import click

from gateway.cli.options import config_option


@click.group("config")
def command() -> None:
    """Check or show the configuration."""


@command.command("check")
@config_option
def check(config_path: Path | None) -> None:
    """Say whether the gateway could start with this configuration, and what else could be set."""
    from gateway.config.settings import load  # noqa: PLC0415  heavy: every room's config model

    settings = load(config_path, os.environ)
    click.echo("The configuration can be used.")
    for hint in settings.hints():
        click.echo(hint)


@command.command("show")
@config_option
def show(config_path: Path | None) -> None:
    """Print every key with the value in force and where it comes from; secrets are masked."""
    from gateway.cli.shown import lines_of  # noqa: PLC0415  heavy, with the line below
    from gateway.config.settings import load, read_sources  # noqa: PLC0415  heavy: every room's config model
    from gateway.product import in_force, load_product  # noqa: PLC0415  heavy: whatever the agent is made of

    settings = load(config_path, os.environ)
    settings = in_force(settings, load_product(settings.agent.product))
    for line in lines_of(settings, read_sources(config_path, os.environ)):
        click.echo(line)
