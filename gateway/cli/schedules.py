"""`tenk schedules`: reminders, and work that agents do at set times."""

from pathlib import Path

import click

from gateway.cli.client import get, post, printable
from gateway.cli.root import config_option
from gateway.cli.tables import Columns, json_option, print_rows
from gateway.safety.names import minute

COLUMNS: Columns = {
    "id": "id",
    "next (utc)": lambda row: minute(row["next_at"]),
    "person": "person",
    "agent": "agent",
    "kind": "kind",
    "when": "when",
    "zone": "zone",
    "paused by": "paused",
    "failures": "failures",
}


@click.group("schedules")
def command() -> None:
    """List, pause, resume or delete schedules and reminders of people."""


@command.command("list")
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, show_default=True, help="Maximum number.")
@json_option
@config_option
def list_(limit: int, as_json: bool, config_path: Path | None) -> None:
    """List the schedules and reminders that are due next, without their texts."""
    rows = get(config_path, "schedules", limit=limit)["schedules"]
    print_rows(rows, COLUMNS, "There are no schedules.", as_json=as_json)


@command.command("pause")
@click.argument("schedule", metavar="ID")
@config_option
def pause(schedule: str, config_path: Path | None) -> None:
    """Pause a schedule; its person can resume it."""
    _change(config_path, schedule, "pause", "is paused")


@command.command("resume")
@click.argument("schedule", metavar="ID")
@config_option
def resume(schedule: str, config_path: Path | None) -> None:
    """Resume a schedule."""
    _change(config_path, schedule, "resume", "goes on")


@command.command("delete")
@click.argument("schedule", metavar="ID")
@config_option
def delete(schedule: str, config_path: Path | None) -> None:
    """Delete a schedule or a reminder."""
    _change(config_path, schedule, "delete", "is deleted")


def _change(config_path: Path | None, schedule: str, verb: str, done: str) -> None:
    row = post(config_path, "schedules", schedule, verb)
    click.echo(f"{row['id']} of {printable(row['person'])} {done}")
