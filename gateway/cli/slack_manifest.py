"""`tenk slack-manifest`: what makes a Slack app for the agent that is configured."""

import json
import os
from pathlib import Path

import click

from channels.slack.manifest import build_manifest
from gateway.cli.root import config_option
from gateway.config.settings import load
from gateway.product import load_product
from gateway.wiring import describe_slack_app


@click.command("slack-manifest")
@click.option("--url", metavar="URL", help="Where Slack sends events by HTTP; without it the app is for Socket Mode.")
@config_option
def command(url: str | None, config_path: Path | None) -> None:
    """Print the manifest of a Slack app, to paste at api.slack.com/apps under "From an app manifest"."""
    settings = load(config_path, os.environ)
    app = describe_slack_app(load_product(settings.agent.product))
    click.echo(json.dumps(build_manifest(app, url), indent=2))
