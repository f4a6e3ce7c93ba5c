"""`tenk config` checks, shows and changes the configuration; `tenk slack-manifest` describes the Slack app."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import click

from channels.slack.manifest import build_manifest
from gateway.agent_models import price_sentences
from gateway.cli.agent_texts import missing_texts
from gateway.cli.root import config_option
from gateway.cli.writing import write_draft
from gateway.command_line import of_process
from gateway.command_set import check_commands, describe_slack_app
from gateway.config.editing import draft, draft_of_texts
from gateway.config.listing import lines_of
from gateway.config.settings import Settings, load, read_sources
from gateway.config.sources import KeyPath, key_of
from gateway.product import check_names, in_force, load_product


@dataclass(frozen=True, slots=True)
class Ability:
    """A capability that an agent has if the configuration has its table."""

    table: str
    words: str
    extra: str = ""  # of our distribution; "": none is needed
    module: str = ""  # installed with the extra


ABILITIES: Mapping[str, Ability] = {
    "mcp": Ability("[mcp.NAME]", "tools of MCP servers", "mcp", "mcp"),
    "integrations": Ability("[integrations]", "many services behind one MCP server, such as mail"),
    "memory": Ability("[memory]", "what people tell, remembered in later conversations"),
    "skills": Ability("[skills]", "instructions for tasks, in folders"),
    "schedules": Ability("[schedules]", "work at set times, by itself"),
    "delegation": Ability("[delegation]", "tasks for agents of its own"),
    "teams": Ability("[teams]", "a board of tasks that agents share"),
    "tools": Ability("[tools]", "notes of the model to itself, and a list that ticks"),
    "voice": Ability("[voice]", "voice messages as text, and answers by voice"),
    "web": Ability("[web]", "reading and searching the web", "web", "trafilatura"),
    "workspace": Ability("[workspace]", "a folder with files, and a shell", "workspace", "tree_sitter_bash"),
    "cli": Ability("[cli.NAME]", "programs with secrets that the model does not see"),
}
"""By the name of their settings."""


@click.group("config")
def command() -> None:
    """Check, show or change the configuration."""


@command.command("check")
@config_option
def check(config_path: Path | None) -> None:
    """Check that the gateway can start with this configuration, and say whether a platform or a model is missing."""
    settings = load(config_path, os.environ)
    check_names(settings, read_sources(config_path, os.environ))
    check_commands(settings)
    lost = price_sentences(settings)
    click.echo("The configuration is valid.")
    for sentence in lost:
        click.echo(sentence)
    for name in settings.unused_tenants():
        click.echo(f'No account has tenant = "{name}": only programs with a key of that tenant can reach it.')
    missing = [] if any(settings.channels.accounts()) else ["no platform"]
    missing += ["no model"] if settings.model.name == "offline" and not settings.agent.is_bridged else []
    if missing:
        click.echo(f"It has {' and '.join(missing)}: `{of_process().command('init')}` asks for what is missing.")
    for line in missing_texts(settings):
        click.echo(line)
    for line in () if settings.agent.is_bridged else _missing_abilities(settings):
        click.echo(line)


@command.command("show")
@config_option
def show(config_path: Path | None) -> None:
    """Print every key with its value and where that comes from. Secrets are masked.

    Reads the files and the environment of this shell. A running gateway may have others in force: its console shows
    them on the page Configuration.
    """
    settings = load(config_path, os.environ)
    click.echo("# From the files and the environment of this shell. A running gateway shows what it has in force in")
    click.echo(f"# its console, on the page Configuration: {of_process().command('console')}\n")
    settings = in_force(settings, load_product(settings.agent.product))
    for line in lines_of(settings, read_sources(config_path, os.environ)):
        click.echo(line)


@command.command("set", context_settings={"ignore_unknown_options": True})
@click.argument("pairs", metavar="KEY VALUE [KEY VALUE]...", nargs=-1, required=True)
@config_option
def set_(pairs: tuple[str, ...], config_path: Path | None) -> None:
    """Set each KEY (such as access.direct) to its VALUE in the configuration file; secrets go into secrets.toml.

    All pairs are checked together, in any order. Leave the last VALUE out if it is a secret: it is then asked for, or
    read from standard input, and stays out of the shell's history. Comments in the file stay. An invalid configuration
    is not written.
    """
    os.umask(0o077)
    keys, values = pairs[::2], [*pairs[1::2]]
    texts = {_path_of(key): key for key in keys}
    if len(texts) < len(keys):
        raise click.UsageError("a key is named twice")
    if len(values) < len(keys):
        hidden = sys.stdin.isatty()
        values.append(click.prompt(keys[-1], hide_input=True) if hidden else sys.stdin.readline().rstrip("\n"))
    made = draft_of_texts(config_path, os.environ, dict(zip(texts, values, strict=True)))
    files = write_draft(made)
    named = " and ".join((", ".join(keys[:-1]), keys[-1])) if keys[1:] else keys[0]
    verb, has = ("are", "have these values") if keys[1:] else ("is", "has this value")
    click.echo(f"{named} {verb} set in {' and '.join(files)}." if files else f"{named} already {has}.")
    for path, key in texts.items():
        if path in made.after.environment:
            click.echo(f"But the environment variable {made.after.environment[path][0]} overrides {key}.")
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
    files = write_draft(made)
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


def _missing_abilities(settings: Settings) -> list[str]:
    """Return lines about the capabilities that the configuration does not have."""
    missing = [ability for name, ability in ABILITIES.items() if not getattr(settings, name)]
    switch = of_process().command("config", "set", "memory", "{}")
    lines = [f"Off, each until its table is there, for example by `{switch}` (docs/index.md lists their pages):"]
    for ability in missing:
        lacks = ability.extra and find_spec(ability.module) is None
        needs = f" (needs: pip install 'tenk-gateway[{ability.extra}]')" if lacks else ""
        lines.append(f"  {ability.table:14}  {ability.words}{needs}")
    return lines if missing else []
