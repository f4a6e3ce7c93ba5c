"""`tenk users`: who is let in, as what, and who changed that."""

from pathlib import Path

import click

from gateway.cli.client import ask, known_as, printable
from gateway.cli.root import config_option


@click.group("users")
def command() -> None:
    """Show people and their roles, change them, and read who did so."""


@command.command("list")
@config_option
def list_(config_path: Path | None) -> None:
    """Show everybody, in the order they came."""
    known = ask(config_path, "users.list", {})
    if not known:
        click.echo("Nobody has been let in.")
    for user in known:
        where = ", ".join(user["accounts"]) or "no account"
        click.echo(
            f"{user['user'][-8:]}  {user['role']}  {printable(user['name'])}  {', '.join(user['senders'])}  {where}"
        )


@command.command("role")
@click.argument("who")
@click.argument("role")
@config_option
def role(who: str, role: str, config_path: Path | None) -> None:
    """Make WHO (a sender such as telegram:42, or a user's id) an owner, operator or member. It ends a block too."""
    person = ask(config_path, "users.role", {"who": who, "role": role})
    click.echo(f"{known_as(person)} is {person['role']} now.")


@command.command("revoke")
@click.argument("who")
@click.argument("account")
@config_option
def revoke(who: str, account: str, config_path: Path | None) -> None:
    """Let WHO into ACCOUNT (such as telegram:main) no more; they may ask again. `tenk pairing block` silences them."""
    person = ask(config_path, "users.revoke", {"who": who, "account": account})
    click.echo(f"{known_as(person)} is let into {account} no more.")


@command.command("audit")
@config_option
def audit(config_path: Path | None) -> None:
    """Show the latest changes of who may do what, newest first."""
    for row in ask(config_path, "users.audit", {}):
        told = "  ".join(printable(row[key]) for key in ("by", "action", "subject", "detail"))
        click.echo(f"{row['at'][:19]}  {told}")
