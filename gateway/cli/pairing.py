"""`tenk pairing`: who waits to be let in, and what becomes of them."""

from pathlib import Path

import click

from gateway.cli.client import ask, known_as, look
from gateway.cli.root import config_option
from gateway.cli.tables import Columns, json_option, print_rows
from gateway.safety.names import short


@click.group("pairing")
def command() -> None:
    """List, approve, deny or block those who wait to be let in."""


@command.command("list")
@json_option
@config_option
def list_(as_json: bool, config_path: Path | None) -> None:
    """Show who waits, the likeliest first. A code is never shown: the person has it."""
    columns: Columns = {
        "id": lambda request: short(request["request"]),
        "account": "account",
        "sender": "sender",
        "name": "name",
        "minutes ago": lambda request: request["age_s"] // 60,
    }
    print_rows(look(config_path, "pairing.list", {}), columns, "Nobody waits.", as_json=as_json)


@command.command("approve")
@click.argument("code", required=False)
@click.option("--request", "number", help="Approve by the number that `list` shows, instead of the person's code.")
@config_option
def approve(code: str | None, number: str | None, config_path: Path | None) -> None:
    """Let in the person who was shown CODE. The first one becomes the owner."""
    if (code is None) == (number is None):
        raise click.UsageError("give either the CODE that the person was shown, or --request NUMBER")
    arguments = {"code": code} if code is not None else {"request": number}
    person = ask(config_path, "pairing.approve", arguments)
    click.echo(f"{known_as(person)} is let in as {person['role']}.")


@command.command("deny")
@click.argument("number")
@config_option
def deny(number: str, config_path: Path | None) -> None:
    """Turn down the request NUMBER. The person is not told."""
    denied = ask(config_path, "pairing.deny", {"request": number})
    click.echo(f"The request of {denied['sender']} is turned down.")


@command.command("block")
@click.argument("who")
@config_option
def block(who: str, config_path: Path | None) -> None:
    """Answer WHO no more: a request's number, a sender such as telegram:42, or a user's id."""
    person = ask(config_path, "pairing.block", {"who": who})
    click.echo(f"{known_as(person)} is blocked.")
