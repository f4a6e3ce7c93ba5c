"""`tenk users`, `pairing`, `invite` and `audit`: who is let in, as what, who waits to be, and who changed that."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from gateway.cli.client import get, known_as, post, tenant_option
from gateway.cli.root import config_option, load
from gateway.cli.tables import Columns, json_option, print_rows
from gateway.command_line import of_process
from gateway.safety.names import minute, short, short_of


@click.group("users")
def command() -> None:
    """Show people and their roles, change them, and read who did so."""


@command.command("list")
@json_option
@config_option
def list_(as_json: bool, config_path: Path | None) -> None:
    """Show everybody, in the order they came."""
    columns: Columns = {
        "id": lambda user: short(user["user"]),
        "role": "role",
        "name": "name",
        "senders": "senders",
        "accounts": "accounts",
    }
    print_rows(get(config_path, "users")["users"], columns, "Nobody has been let in.", as_json=as_json)


@command.command("role")
@click.argument("who")
@click.argument("role")
@config_option
def role(who: str, role: str, config_path: Path | None) -> None:
    """Make WHO (a sender such as telegram:42, or a user's id) an owner, operator or member. It ends a block too."""
    person = post(config_path, "users", who, "role", role=role)
    click.echo(f"{known_as(person)} is {person['role']} now.")


@command.command("revoke")
@click.argument("who")
@click.argument("account")
@config_option
def revoke(who: str, account: str, config_path: Path | None) -> None:
    """Let WHO into ACCOUNT (such as telegram:main) no more; they may ask again. `tenk pairing block` silences them."""
    person = post(config_path, "users", who, "revoke", account=account)
    click.echo(f"{known_as(person)} is let into {account} no more.")


@command.command("unlink")
@click.argument("who")
@config_option
def unlink(who: str, config_path: Path | None) -> None:
    """Undo the link by which WHO (a sender such as discord:42, or whom it joined) is one person with another."""
    person = post(config_path, "users", who, "unlink")
    click.echo(f"{known_as(person)} is {person['role']}, and nobody else, now.")


@command.command("forget")
@click.argument("who")
@click.option(
    "--what", type=click.Choice(["talk", "everything"]), default="everything", show_default=True,
    help="What they said and what was made of it, or that and who they are.",
)  # fmt: skip
@click.option("--yes", is_flag=True, help="Do not ask.")
@config_option
def forget(who: str, what: str, yes: bool, config_path: Path | None) -> None:
    """Forget WHO (a sender such as telegram:42, or a user's id), as `/forget` does. The audit keeps that."""
    if not yes:
        click.confirm(f"Forget {what} of {who}? Nothing brings it back but a backup.", abort=True)
    person = post(config_path, "users", who, "forget", extent=what)
    click.echo(
        f"{known_as(person)}: {what} is being forgotten. Backups made before still hold it: throw them away in time."
    )
    if what == "everything" and person["role"] == "blocked":
        click.echo("They were blocked, which is forgotten with them: they may ask to be let in again.")


@command.command("export")
@click.argument("who")
@click.argument("destination", type=click.Path(path_type=Path, dir_okay=False))
@config_option
def export(who: str, destination: Path, config_path: Path | None) -> None:
    """Write everything that is kept of WHO to the new file DESTINATION, as JSON of mode 0600. The audit keeps that."""
    person, tables = load("gateway.cli.local:export_person")(config_path, who, destination, tenant_option())
    click.echo(f"{destination} holds what is kept of {known_as(person)}: {tables}.")


@command.command("audit")
@click.option("--by", default="", metavar="WHO", help="Only what WHO did: cli, a sender, an id or its end.")
@click.option("--about", default="", metavar="WHAT", help="Only what names WHAT: a sender, an id or its end.")
@click.option("--action", default="", help="Only these, as the list calls them: role_changed, api_key_created ...")
@click.option("--days", type=click.IntRange(1, 36_500), help="How far to look back; without it, as far as it is kept.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="How many, at most.")
@json_option
@config_option
def audit(
    by: str, about: str, action: str, days: int | None, limit: int, as_json: bool, config_path: Path | None
) -> None:
    """Show who changed what, newest first."""
    columns: Columns = {
        "at (utc)": lambda row: minute(row["at"]),
        "by": lambda row: short_of(row["by"]),
        "action": "action",
        "subject": lambda row: short_of(row["subject"]),
        "detail": "detail",
    }
    since = None if days is None else (datetime.now(UTC) - timedelta(days=days)).isoformat()
    changes = get(config_path, "audit", by=by, about=about, action=action, since=since, limit=limit)["changes"]
    nothing = "Nothing like that was changed." if by or about or action or days else "Nothing was changed."
    print_rows(changes, columns, nothing, as_json=as_json)


@click.group("pairing")
def pairing() -> None:
    """List, approve, deny or block those who wait to be let in."""


@pairing.command("list")
@json_option
@config_option
def list_requests(as_json: bool, config_path: Path | None) -> None:
    """Show who waits, the likeliest first. A code is never shown: the person has it."""
    columns: Columns = {
        "id": lambda request: short(request["request"]),
        "account": "account",
        "sender": "sender",
        "name": "name",
        "minutes ago": lambda request: request["age_s"] // 60,
    }
    print_rows(get(config_path, "pairing")["requests"], columns, "Nobody waits.", as_json=as_json)


@pairing.command("approve")
@click.argument("code", required=False)
@click.option("--request", "number", help="Approve by the number that `list` shows, instead of the person's code.")
@config_option
def approve(code: str | None, number: str | None, config_path: Path | None) -> None:
    """Let in the person who was shown CODE. The first one becomes the owner."""
    if (code is None) == (number is None):
        raise click.UsageError("give either the CODE that the person was shown, or --request NUMBER")
    if code is not None:
        person = post(config_path, "pairing", "approve", code=code)
    else:
        person = post(config_path, "pairing", number or "-", "approve")
    click.echo(f"{known_as(person)} is let in as {person['role']}.")


@pairing.command("deny")
@click.argument("number")
@config_option
def deny(number: str, config_path: Path | None) -> None:
    """Turn down the request NUMBER. The person is not told."""
    denied = post(config_path, "pairing", number, "deny")
    click.echo(f"The request of {denied['sender']} is turned down.")


@pairing.command("block")
@click.argument("who")
@config_option
def block(who: str, config_path: Path | None) -> None:
    """Answer WHO no more: a request's number, a sender such as telegram:42, or a user's id."""
    person = post(config_path, "pairing", "block", who=who)
    unheard = [person["name"]] == person["senders"]  # what was typed is all that is known of them
    more = " Nobody of that id has ever written here: is it spelled as the lists show it?" if unheard else ""
    click.echo(f"{known_as(person)} is blocked.{more}")


@click.group("invite", invoke_without_command=True)
@click.option("--role", type=click.Choice(["member", "operator", "owner"]), default="member", show_default=True)
@click.option("--days", type=click.FloatRange(0.001, 366), default=7, show_default=True, help="How long it holds.")
@config_option
@click.pass_context
def invite(context: click.Context, role: str, days: float, config_path: Path | None) -> None:
    """Make an invitation: whoever brings its code first is let in at once, wherever people are let in by pairing.

    Its code is shown this once.
    """
    if context.invoked_subcommand is not None:
        return
    made = post(config_path, "invites", role=role, days=days)
    click.echo(f"An invitation for one person, as {made['role']}, until {made['expires_at'][:16]} UTC.")
    for way in made.get("ways", ()):
        click.echo(f"  {way['account']}: {way['link']}")
    click.echo(f"  anywhere: say {made['code']} to the bot, alone, in a direct message")
    take_back = of_process().command("invite", "revoke", short(made["invite"]))
    click.echo(f"Give it to one person only; it is not shown again. To take it back: {take_back}")


@invite.command("list")
@json_option
@config_option
def list_invitations(as_json: bool, config_path: Path | None) -> None:
    """Show invitations and what became of them, newest first. A code is never shown again."""
    columns: Columns = {
        "id": lambda invite: short(invite["invite"]),
        "role": "role",
        "state": "state",
        "used by": "used_by",
        "until (utc)": lambda invite: minute(invite["expires_at"]),
    }
    print_rows(get(config_path, "invites")["invites"], columns, "There are no invitations.", as_json=as_json)


@invite.command("revoke")
@click.argument("number")
@config_option
def revoke_invitation(number: str, config_path: Path | None) -> None:
    """Take back the invitation NUMBER, as long as nobody has used it."""
    taken = post(config_path, "invites", number, "revoke")
    click.echo(f"The invitation {short(taken['invite'])} holds no more.")
