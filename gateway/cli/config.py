"""`tenk config`: checks and shows the configuration (secrets masked, each value's source); sets and unsets keys.

Also `tenk slack-manifest`, which makes a Slack app for the agent that is configured.
"""

import contextlib
import json
import os
import sys
import tomllib
from pathlib import Path

import click

from channels.slack.manifest import build_manifest
from gateway.agent_models import price_sentences
from gateway.cli.root import config_option
from gateway.command_line import of_process
from gateway.command_set import describe_slack_app
from gateway.config.editing import Draft, draft
from gateway.config.listing import lines_of
from gateway.config.settings import load, read_sources
from gateway.config.sources import KeyPath, key_of
from gateway.errors import SettingsError
from gateway.product import check_names, in_force, load_product


@click.group("config")
def command() -> None:
    """Check, show or change the configuration."""


@command.command("check")
@config_option
def check(config_path: Path | None) -> None:
    """Say whether the gateway could start with this configuration, and what else could be set."""
    settings = load(config_path, os.environ)
    check_names(settings, read_sources(config_path, os.environ))
    lost = price_sentences(settings)
    click.echo("The configuration can be used.")
    for sentence in lost:
        click.echo(sentence)
    for name in settings.unused_tenants():
        click.echo(f'No account says tenant = "{name}": nobody reaches that tenant but programs, with a key of it.')
    for hint in settings.hints(of_process().command("run")):
        click.echo(hint)


@command.command("show")
@config_option
def show(config_path: Path | None) -> None:
    """Print every key with the value in force and where it comes from; secrets are masked."""
    settings = load(config_path, os.environ)
    settings = in_force(settings, load_product(settings.agent.product))
    for line in lines_of(settings, read_sources(config_path, os.environ)):
        click.echo(line)


@command.command("set")
@click.argument("key")
@click.argument("value", required=False)
@config_option
def set_(key: str, value: str | None, config_path: Path | None) -> None:
    """Set KEY (such as access.direct) to VALUE, where it belongs: secrets go into the file of secrets.

    Without VALUE it is asked for, or read from the input: what is typed as an argument stands in the shell's history.
    Comments stay; nothing is written that could not be loaded.
    """
    os.umask(0o077)
    path = _path_of(key)
    if value is None:
        value = click.prompt(key, hide_input=True) if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    made = _draft_of(config_path, path, value)
    files = [str(file) for file in made.write()]
    click.echo(f"{key} is set in {', '.join(files)}." if files else f"{key} was set so already.")
    if path in made.after.environment:
        click.echo(f"But {made.after.environment[path][0]} of the environment wins over it.")
    click.echo(f"`{of_process().command('reload')}` puts it in force, or says which start does.")


@command.command("unset")
@click.argument("key")
@config_option
def unset(key: str, config_path: Path | None) -> None:
    """Take KEY (such as budgets.user_usd), or a table, out of the files: its default is in force again.

    Comments stay; nothing is written that could not be loaded.
    """
    os.umask(0o077)
    path = _path_of(key)
    made = draft(config_path, os.environ, {path: None})
    files = [str(file) for file in made.write()]
    click.echo(f"{key} is not set any more in {', '.join(files)}." if files else f"{key} was not set in a file.")
    if path in made.after.environment:
        click.echo(f"But {made.after.environment[path][0]} of the environment sets it.")
    if files:
        click.echo(f"`{of_process().command('reload')}` puts that in force, or says which start does.")


def _path_of(key: str) -> KeyPath:
    if path := key_of(key):
        return path
    raise click.UsageError('KEY is tables and a key, joined by dots: access.direct, agent.personas."telegram:main"')


def _draft_of(config_path: Path | None, path: KeyPath, value: str) -> Draft:
    """The value as TOML writes it, where that can be used; else as the text that it is."""
    try:
        return draft(config_path, os.environ, {path: tomllib.loads(f"value = {value}")["value"]})
    except tomllib.TOMLDecodeError:
        return draft(config_path, os.environ, {path: value})
    except SettingsError:
        with contextlib.suppress(SettingsError):
            return draft(config_path, os.environ, {path: value})
        raise


@click.command("slack-manifest")
@click.option("--url", metavar="URL", help="Where Slack sends events by HTTP; without it the app is for Socket Mode.")
@config_option
def slack_manifest(url: str | None, config_path: Path | None) -> None:
    """Print the manifest of a Slack app, to paste at api.slack.com/apps under "From an app manifest"."""
    settings = load(config_path, os.environ)
    app = describe_slack_app(load_product(settings.agent.product))
    click.echo(json.dumps(build_manifest(app, url), indent=2))
