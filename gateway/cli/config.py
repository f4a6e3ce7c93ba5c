"""`tenk config` checks, shows and changes the configuration; `tenk slack-manifest` describes the Slack app."""

import json
import os
import sys
from pathlib import Path

import click

from channels.slack.manifest import build_manifest
from gateway.agent_models import price_sentences
from gateway.cli.root import config_option
from gateway.command_line import of_process
from gateway.command_set import describe_slack_app
from gateway.config.editing import draft, draft_of_text
from gateway.config.listing import lines_of
from gateway.config.settings import load, read_sources
from gateway.config.sources import KeyPath, key_of
from gateway.product import check_names, in_force, load_product


@click.group("config")
def command() -> None:
    """Check, show or change the configuration."""


@command.command("check")
@config_option
def check(config_path: Path | None) -> None:
    """Check that the gateway can start with this configuration, and print hints about useful settings."""
    settings = load(config_path, os.environ)
    check_names(settings, read_sources(config_path, os.environ))
    lost = price_sentences(settings)
    click.echo("The configuration is valid.")
    for sentence in lost:
        click.echo(sentence)
    for name in settings.unused_tenants():
        click.echo(f'No account has tenant = "{name}": only programs with a key of that tenant can reach it.')
    for hint in settings.hints(of_process().command("run")):
        click.echo(hint)


@command.command("show")
@config_option
def show(config_path: Path | None) -> None:
    """Print every key with its value and where that comes from. Secrets are masked."""
    settings = load(config_path, os.environ)
    settings = in_force(settings, load_product(settings.agent.product))
    for line in lines_of(settings, read_sources(config_path, os.environ)):
        click.echo(line)


@command.command("set")
@click.argument("key")
@click.argument("value", required=False)
@config_option
def set_(key: str, value: str | None, config_path: Path | None) -> None:
    """Set KEY (such as access.direct) to VALUE in the configuration file; secrets go into secrets.toml.

    Leave VALUE out for secrets: it is then asked for, or read from standard input, and stays out of the shell's
    history. Comments in the file stay. An invalid configuration is not written.
    """
    os.umask(0o077)
    path = _path_of(key)
    if value is None:
        value = click.prompt(key, hide_input=True) if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    made = draft_of_text(config_path, os.environ, path, value)
    files = [str(file) for file in made.write()]
    click.echo(f"{key} is set in {', '.join(files)}." if files else f"{key} already has this value.")
    if path in made.after.environment:
        click.echo(f"But the environment variable {made.after.environment[path][0]} overrides it.")
    click.echo(f"`{of_process().command('reload')}` applies it, or says that it needs a restart.")


@command.command("unset")
@click.argument("key")
@config_option
def unset(key: str, config_path: Path | None) -> None:
    """Remove KEY (such as budgets.user_usd) or a table from the files, so that its default applies again.

    Comments in the files stay. An invalid configuration is not written.
    """
    os.umask(0o077)
    path = _path_of(key)
    made = draft(config_path, os.environ, {path: None})
    files = [str(file) for file in made.write()]
    click.echo(f"{key} is removed from {', '.join(files)}." if files else f"{key} was not set in any file.")
    if path in made.after.environment:
        click.echo(f"But the environment variable {made.after.environment[path][0]} still sets it.")
    if files:
        click.echo(f"`{of_process().command('reload')}` applies this, or says that it needs a restart.")


def _path_of(key: str) -> KeyPath:
    if path := key_of(key):
        return path
    raise click.UsageError(
        'write KEY as table names and a key, joined by dots: access.direct, agent.personas."telegram:main"'
    )


@click.command("slack-manifest")
@click.option(
    "--url", metavar="URL", help="URL to which Slack sends events over HTTP. Default: Socket Mode, without a URL."
)
@config_option
def slack_manifest(url: str | None, config_path: Path | None) -> None:
    """Print the manifest of the Slack app. Paste it at api.slack.com/apps under "From an app manifest"."""
    settings = load(config_path, os.environ)
    app = describe_slack_app(load_product(settings.agent.product))
    click.echo(json.dumps(build_manifest(app, url), indent=2))
