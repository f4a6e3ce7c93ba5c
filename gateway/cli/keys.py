"""`tenk keys`: API keys for programs, and the key that encrypts secrets in the database."""

from pathlib import Path

import click

from gateway.cli.client import get, post, printable
from gateway.cli.root import config_option
from gateway.cli.tables import Columns, json_option, print_rows
from gateway.safety.names import minute


@click.group("keys")
def command() -> None:
    """Create, list and revoke API keys; rotate the key that encrypts secrets in the database."""


@command.command("create")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(["chat", "read", "operate", "system"]),
    multiple=True,
    default=("chat",),
    show_default=True,
    help="chat: talk. read: see all data. operate: change it. system: all tenants. Repeatable.",
)
@click.option("--for", "who", default="", help="Act as this person (a sender such as telegram:42, or a user id).")
@config_option
def create(name: str, scopes: tuple[str, ...], who: str, config_path: Path | None) -> None:
    """Create an API key called NAME. The key is shown only now."""
    made = post(config_path, "keys", name=name, scopes=scopes, who=who)
    click.echo(f"The key {made['id']} ({printable(made['name'])}) allows: {', '.join(made['scopes'])}.")
    click.echo(f"  {made['key']}")
    click.echo("Keep it like a password; it is not shown again. Send it as: Authorization: Bearer KEY")


@command.command("list")
@json_option
@config_option
def list_(as_json: bool, config_path: Path | None) -> None:
    """List all keys, oldest first. The keys themselves are not shown."""
    columns: Columns = {
        "id": "id",
        "name": "name",
        "scopes": "scopes",
        "for": "for",
        "state": lambda key: f"revoked {minute(key['revoked_at'])}" if key["revoked_at"] else "valid",
    }
    print_rows(get(config_path, "keys")["keys"], columns, "There are no keys.", as_json=as_json)


@command.command("revoke")
@click.argument("id_", metavar="ID")
@config_option
def revoke(id_: str, config_path: Path | None) -> None:
    """Revoke the key with this ID at once."""
    taken = post(config_path, "keys", id_, "revoke")
    click.echo(f"The key {taken['id']} ({printable(taken['name'])}) is revoked.")


@command.command("rotate")
@config_option
def rotate(config_path: Path | None) -> None:
    """Create a new encryption key and re-encrypt all secrets in the database with it, without downtime."""
    done = post(config_path, "keys", "rotate")
    click.echo(f"Encrypted {done['sealed']} secrets with the key {done['key']}.")
    if done["lost"]:
        click.echo(f"{done['lost']} secrets could not be read, because their key is gone. They are unchanged.")
    click.echo(printable(done["next"]))
