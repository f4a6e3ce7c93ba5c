"""`tenk keys`: what programs show to be heard over the HTTP API, and the key that secrets are kept under."""

from pathlib import Path

import click

from gateway.cli.client import get, post, printable
from gateway.cli.root import config_option
from gateway.cli.tables import Columns, json_option, print_rows
from gateway.safety.names import minute


@click.group("keys")
def command() -> None:
    """Make keys of the HTTP API, see which there are, take them back; change the key of the database's secrets."""


@command.command("create")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(["chat", "read", "operate", "system"]),
    multiple=True,
    default=("chat",),
    show_default=True,
    help="To talk, to look at everybody's, to decide; system: so for any tenant. May be given several times.",
)
@click.option("--for", "who", default="", help="Speak as this person (a sender such as telegram:42, or a user's id).")
@config_option
def create(name: str, scopes: tuple[str, ...], who: str, config_path: Path | None) -> None:
    """Make a key called NAME. It is shown this once."""
    made = post(config_path, "keys", name=name, scopes=scopes, who=who)
    click.echo(f"The key {made['id']} ({printable(made['name'])}) opens: {', '.join(made['scopes'])}.")
    click.echo(f"  {made['key']}")
    click.echo("Keep it like a password; it is not shown again. Send it as: Authorization: Bearer KEY")


@command.command("list")
@json_option
@config_option
def list_(as_json: bool, config_path: Path | None) -> None:
    """Show every key, in the order they were made; never the key itself."""
    columns: Columns = {
        "id": "id",
        "name": "name",
        "scopes": "scopes",
        "for": "for",
        "state": lambda key: f"revoked {minute(key['revoked_at'])}" if key["revoked_at"] else "holds",
    }
    print_rows(get(config_path, "keys")["keys"], columns, "There are no keys.", as_json=as_json)


@command.command("revoke")
@click.argument("id_", metavar="ID")
@config_option
def revoke(id_: str, config_path: Path | None) -> None:
    """Let the key with this ID open nothing more, at once."""
    taken = post(config_path, "keys", id_, "revoke")
    click.echo(f"The key {taken['id']} ({printable(taken['name'])}) opens nothing any more.")


@command.command("rotate")
@config_option
def rotate(config_path: Path | None) -> None:
    """Make a new key for what is secret in the database, and encrypt everything anew with it; nothing stops for it."""
    done = post(config_path, "keys", "rotate")
    click.echo(f"{done['sealed']} secrets are encrypted with the key {done['key']}.")
    if done["lost"]:
        click.echo(f"{done['lost']} could not be read: their key is gone. They are left as they are.")
    click.echo(printable(done["next"]))
