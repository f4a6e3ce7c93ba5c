"""`tenk slack-manifest`: what makes a Slack app for the agent that is configured."""

import json
import os
from pathlib import Path

import click

from agent.language import DEFAULT
from channels.slack.manifest import AppDescription, build_manifest
from gateway.cli.root import config_option
from gateway.config.settings import Settings, load
from gateway.product import AgentProduct, load_product
from gateway.store.engine import Store, engine_for
from gateway.wiring import command_table

OF_EVERY_AGENT = frozenset({"stop", "link"})
"""Of the commands that every agent has the ones worth a name of their own among a workspace's apps."""


@click.command("slack-manifest")
@click.option("--url", metavar="URL", help="Where Slack sends events by HTTP; without it the app is for Socket Mode.")
@config_option
def command(url: str | None, config_path: Path | None) -> None:
    """Print the manifest of a Slack app, to paste at api.slack.com/apps under "From an app manifest"."""
    settings = load(config_path, os.environ)
    app = describe_app(load_product(settings.agent.product), settings)
    click.echo(json.dumps(build_manifest(app, url), indent=2))


def describe_app(product: AgentProduct, settings: Settings) -> AppDescription:
    """What people on Slack see of an agent: its own commands, the one that talks first, `/stop` and `/link`."""
    store = Store(engine_for(settings.database_url))  # never opened: commands are listed, not run
    own = {command.name for command in product.commands(store)}
    menu = command_table(product, store).menus()[DEFAULT]
    shown = [spec for spec in menu if spec.talks or spec.name in own or spec.name in OF_EVERY_AGENT]
    return AppDescription(product.title, product.catalogue.text(DEFAULT, product.description), shown)
