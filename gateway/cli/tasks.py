"""`tenk tasks`: the boards of teams."""

from pathlib import Path

import click

from gateway.cli.client import get
from gateway.cli.root import config_option
from gateway.cli.tables import Columns, json_option, print_rows
from gateway.safety.names import minute

COLUMNS: Columns = {
    "id": "id",
    "changed (utc)": lambda row: minute(row["changed_at"]),
    "person": "person",
    "agent": "agent",
    "state": "state",
    "worker": "worker",
    "claims": "claims",
    "title": "title",
    "waits for": "blocked_by",
}


@click.group("tasks")
def command() -> None:
    """List the tasks that agents share on their boards."""


@command.command("list")
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, show_default=True, help="Maximum number.")
@json_option
@config_option
def list_(limit: int, as_json: bool, config_path: Path | None) -> None:
    """List the tasks of boards that were changed last: who works on them, and what they wait for."""
    rows = get(config_path, "tasks", limit=limit)["tasks"]
    print_rows(rows, COLUMNS, "There are no tasks on any board.", as_json=as_json)
