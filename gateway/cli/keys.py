"""`tenk keys`: what programs show to be heard over the HTTP API."""

from pathlib import Path

import click

from gateway.cli.client import ask, printable
from gateway.cli.root import config_option


@click.group("keys")
def command() -> None:
    """Make keys of the HTTP API, see which there are, and take them back."""


@command.command("create")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(["chat", "read", "operate"]),
    multiple=True,
    default=("chat",),
    show_default=True,
    help="What it opens: to talk, to look at everybody's, to decide. May be given several times.",
)
@click.option("--for", "who", default="", help="Speak as this person (a sender such as telegram:42, or a user's id).")
@config_option
def create(name: str, scopes: tuple[str, ...], who: str, config_path: Path | None) -> None:
    """Make a key called NAME. It is shown this once."""
    made = ask(config_path, "keys.create", {"name": name, "scopes": " ".join(scopes), "who": who})
    click.echo(f"The key {made['id']} ({printable(made['name'])}) opens: {', '.join(made['scopes'])}.")
    click.echo(f"  {made['key']}")
    click.echo("Keep it like a password; it is not shown again. Send it as: Authorization: Bearer KEY")


@command.command("list")
@config_option
def list_(config_path: Path | None) -> None:
    """Show every key, in the order they were made; never the key itself."""
    known = ask(config_path, "keys.list", {})
    if not known:
        click.echo("There are no keys.")
    for key in known:
        speaks = f"  for {key['for']}" if key["for"] else ""
        state = f"revoked {key['revoked_at'][:19]}" if key["revoked_at"] else "holds"
        click.echo(f"{key['id']}  {printable(key['name'])}  {','.join(key['scopes'])}{speaks}  {state}")


@command.command("revoke")
@click.argument("id_", metavar="ID")
@config_option
def revoke(id_: str, config_path: Path | None) -> None:
    """Let the key with this ID open nothing more, at once."""
    taken = ask(config_path, "keys.revoke", {"id": id_})
    click.echo(f"The key {taken['id']} ({printable(taken['name'])}) opens nothing any more.")
