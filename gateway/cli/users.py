"""`tenk users`, `pairing`, `invite` and `audit`: people, their roles and requests, and the record of changes."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from gateway.access.config import Role
from gateway.cli.client import get, known_as, post, tenant_option
from gateway.cli.root import config_option, load
from gateway.cli.tables import Columns, json_option, print_rows
from gateway.command_line import of_process
from gateway.safety.names import minute, short, short_of


@click.group("users")
def command() -> None:
    """List people; change roles, block, withdraw access, export or delete their data."""


@command.command("list")
@json_option
@config_option
def list_(as_json: bool, config_path: Path | None) -> None:
    """List all people, oldest first."""
    columns: Columns = {
        "id": lambda user: short(user["user"]),
        "role": "role",
        "name": "name",
        "senders": "senders",
        "accounts": "accounts",
    }
    print_rows(get(config_path, "users")["users"], columns, "Nobody has access yet.", as_json=as_json)


@command.command("role")
@click.argument("who")
@click.argument("role")
@config_option
def role(who: str, role: str, config_path: Path | None) -> None:
    """Make WHO (a name, a sender such as telegram:42, or an id) an owner, operator or member; this ends a block."""
    person = post(config_path, "users", who, "role", role=role)
    click.echo(f"{known_as(person)} is {person['role']} now.")
    _echo_lack_of_access(person)


@command.command("revoke")
@click.argument("who")
@click.argument("account")
@config_option
def revoke(who: str, account: str, config_path: Path | None) -> None:
    """Withdraw WHO's access to ACCOUNT (such as telegram:main).

    It lasts. Where the account lets in everybody, `tenk users role WHO member` lets them in again; where it asks for a
    pairing code, they get one with their next message; a code of `tenk invite` lets them in anywhere.
    """
    person = post(config_path, "users", who, "revoke", account=account)
    click.echo(f"{known_as(person)} has no more access to {account}. To let them in again:")
    click.echo(f"- if it lets in everybody: `{of_process().command('users', 'role', who, 'member')}`")
    click.echo("- if it asks for a pairing code: approve the one that their next message gets")
    click.echo("- anywhere: give them a code of `tenk invite`")


@command.command("unblock")
@click.argument("who")
@config_option
def unblock(who: str, config_path: Path | None) -> None:
    """End the block of WHO (a name, a sender such as telegram:42, or an id): they are a member again."""
    person = post(config_path, "users", who, "unblock")
    click.echo(f"{known_as(person)} is not blocked any more; they are a {person['role']}.")
    _echo_lack_of_access(person)


def _echo_lack_of_access(person: dict[str, Any]) -> None:
    if not person["accounts"] and person["role"] == "member":
        click.echo("They have access to no account: where not everybody is let in, give them a code of `tenk invite`.")


@command.command("unlink")
@click.argument("who")
@config_option
def unlink(who: str, config_path: Path | None) -> None:
    """Separate WHO (a name, a sender such as discord:42, or an id) from the person they were linked to."""
    person = post(config_path, "users", who, "unlink")
    click.echo(f"{known_as(person)} is {person['role']} now, and a person of their own.")


@command.command("forget")
@click.argument("who")
@click.option(
    "--what",
    type=click.Choice(["talk", "everything"]),
    default="everything",
    show_default=True,
    help="talk: their conversations and what came of them. everything: also the person.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@config_option
def forget(who: str, what: str, yes: bool, config_path: Path | None) -> None:
    """Delete the data of WHO (a name, a sender such as telegram:42, or an id), like `/forget`.

    The audit log records it.
    """
    if not yes:
        click.confirm(f"Delete {what} of {who}? Only a backup can bring it back.", abort=True)
    person = post(config_path, "users", who, "forget", extent=what)
    click.echo(f"{known_as(person)}: deleting {what}. Older backups still contain it: delete them in time.")
    if what == "everything" and person["role"] == "blocked":
        click.echo("Their block is deleted, too: they may ask for access again.")


@command.command("export")
@click.argument("who")
@click.argument("destination", type=click.Path(path_type=Path, dir_okay=False))
@config_option
def export(who: str, destination: Path, config_path: Path | None) -> None:
    """Write all data about WHO to the new JSON file DESTINATION, with mode 0600. The audit log records it."""
    person, tables = load("gateway.cli.local:export_person")(config_path, who, destination, tenant_option())
    click.echo(f"{destination} holds the data of {known_as(person)}: {tables}.")


@command.command("audit")
@click.option(
    "--by", default="", metavar="WHO", help="Only changes by WHO: cli, a name, a sender, or an id or its end."
)
@click.option(
    "--about",
    default="",
    metavar="WHAT",
    help="Only changes about WHAT: a name, a sender, an id or its end, or a key of the configuration.",
)
@click.option("--action", default="", help="Only this kind of change, such as role_changed or api_key_created.")
@click.option("--days", type=click.IntRange(1, 36_500), help="Only the last DAYS days. Default: the whole log.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Maximum number of rows.")
@json_option
@config_option
def audit(
    by: str, about: str, action: str, days: int | None, limit: int, as_json: bool, config_path: Path | None
) -> None:
    """Show who changed what, newest first."""
    columns: Columns = {
        "at (utc)": lambda row: minute(row["at"]),
        "by": lambda row: _name_and_id(row["by_name"], row["by"]),
        "action": "action",
        "subject": lambda row: _name_and_id(row["subject_name"], row["subject"]),
        "detail": "detail",
    }
    since = None if days is None else (datetime.now(UTC) - timedelta(days=days)).isoformat()
    changes = get(config_path, "audit", by=by, about=about, action=action, since=since, limit=limit)["changes"]
    nothing = "No such changes." if by or about or action or days else "No changes yet."
    print_rows(changes, columns, nothing, as_json=as_json)


def _name_and_id(name: str, id_: str) -> str:
    """Return the name of a person with their sender or the end of their id; of a thing its id."""
    return f"{name} ({short_of(id_)})" if name not in ("", id_) else short_of(id_)


@click.group("pairing")
def pairing() -> None:
    """List, approve, deny or block requests for access."""


@pairing.command("list")
@json_option
@config_option
def list_requests(as_json: bool, config_path: Path | None) -> None:
    """List open requests, the most likely first. The code is not shown: only the person has it."""
    columns: Columns = {
        "id": lambda request: short(request["request"]),
        "account": "account",
        "sender": "sender",
        "name": "name",
        "minutes ago": lambda request: request["age_s"] // 60,
    }
    print_rows(get(config_path, "pairing")["requests"], columns, "No open requests.", as_json=as_json)


@pairing.command("approve")
@click.argument("code", required=False)
@click.option("--request", "number", help="Approve the request with this id from `tenk pairing list`, without a code.")
@config_option
def approve(code: str | None, number: str | None, config_path: Path | None) -> None:
    """Approve the person to whom the bot showed CODE. The first person approved is the owner, if there is none yet."""
    if (code is None) == (number is None):
        raise click.UsageError("give either the CODE that the bot showed the person, or --request NUMBER")
    if code is not None:
        person = post(config_path, "pairing", "approve", code=code)
    else:
        person = post(config_path, "pairing", number or "-", "approve")
    click.echo(f"{known_as(person)} has access now, as {person['role']}.")
    if person["role"] != Role.OWNER:
        click.echo(
            f"`{of_process().command('users', 'role', person['senders'][0], Role.OWNER)}` makes them an owner, too."
        )


@pairing.command("deny")
@click.argument("number")
@config_option
def deny(number: str, config_path: Path | None) -> None:
    """Deny the request NUMBER. The person gets no message."""
    denied = post(config_path, "pairing", number, "deny")
    click.echo(f"Denied the request of {denied['sender']}.")


@pairing.command("block")
@click.argument("who")
@config_option
def block(who: str, config_path: Path | None) -> None:
    """Block WHO: a request's number, a name, a sender such as telegram:42, or an id."""
    person = post(config_path, "pairing", "block", who=who)
    unheard = [person["name"]] == person["senders"]  # only the typed id is known
    more = " Nobody with that id has written here yet: check the spelling." if unheard else ""
    click.echo(f"{known_as(person)} is blocked.{more}")


command.add_command(block)


@click.group("invite", invoke_without_command=True)
@click.option(
    "--role",
    type=click.Choice(["member", "operator", "owner"]),
    default="member",
    show_default=True,
    help="Role of the invited person.",
)
@click.option("--days", type=click.FloatRange(0.001, 366), default=7, show_default=True, help="Days until it expires.")
@config_option
@click.pass_context
def invite(context: click.Context, role: str, days: float, config_path: Path | None) -> None:
    """Create an invitation: the first person who sends its code to the bot gets access at once.

    It works on accounts whose access policy is pairing. The code is shown only now.
    """
    if context.invoked_subcommand is not None:
        return
    made = post(config_path, "invites", role=role, days=days)
    click.echo(f"Invitation for one person, as {made['role']}, until {made['expires_at'][:16]} UTC.")
    for way in made.get("ways", ()):
        click.echo(f"  {way['account']}: {way['link']}")
    click.echo(f"  anywhere: send {made['code']} to the bot in a direct message, with no other text")
    revoke_command = of_process().command("invite", "revoke", short(made["invite"]))
    click.echo(f"Give it to one person only; it is not shown again. To revoke it: {revoke_command}")


@invite.command("list")
@json_option
@config_option
def list_invitations(as_json: bool, config_path: Path | None) -> None:
    """List invitations and their state, newest first. Codes are not shown again."""
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
    """Revoke the unused invitation NUMBER."""
    taken = post(config_path, "invites", number, "revoke")
    click.echo(f"Revoked the invitation {short(taken['invite'])}.")
