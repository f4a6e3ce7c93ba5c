"""`tenk invite`: links and codes that let one person in at once."""

from pathlib import Path

import click

from gateway.cli.client import ask, look
from gateway.cli.root import config_option
from gateway.cli.tables import Columns, json_option, print_rows
from gateway.command_line import of_process
from gateway.safety.names import minute, short


@click.group("invite", invoke_without_command=True)
@click.option("--role", type=click.Choice(["member", "operator", "owner"]), default="member", show_default=True)
@click.option("--days", type=click.FloatRange(0.001, 366), default=7, show_default=True, help="How long it holds.")
@config_option
@click.pass_context
def command(context: click.Context, role: str, days: float, config_path: Path | None) -> None:
    """Make an invitation: whoever brings its code first is let in at once, wherever people are let in by pairing.

    Its code is shown this once.
    """
    if context.invoked_subcommand is not None:
        return
    made = ask(config_path, "invite.make", {"role": role, "days": str(days)})
    click.echo(f"An invitation for one person, as {made['role']}, until {made['expires_at'][:16]} UTC.")
    for way in made.get("ways", ()):
        click.echo(f"  {way['account']}: {way['link']}")
    click.echo(f"  anywhere: say {made['code']} to the bot, alone, in a direct message")
    take_back = of_process().command("invite", "revoke", short(made["invite"]))
    click.echo(f"Give it to one person only; it is not shown again. To take it back: {take_back}")


@command.command("list")
@json_option
@config_option
def list_(as_json: bool, config_path: Path | None) -> None:
    """Show invitations and what became of them, newest first. A code is never shown again."""
    columns: Columns = {
        "id": lambda invite: short(invite["invite"]),
        "role": "role",
        "state": "state",
        "used by": "used_by",
        "until (utc)": lambda invite: minute(invite["expires_at"]),
    }
    print_rows(look(config_path, "invite.list", {}), columns, "There are no invitations.", as_json=as_json)


@command.command("revoke")
@click.argument("number")
@config_option
def revoke(number: str, config_path: Path | None) -> None:
    """Take back the invitation NUMBER, as long as nobody has used it."""
    taken = ask(config_path, "invite.revoke", {"invite": number})
    click.echo(f"The invitation {short(taken['invite'])} holds no more.")
