"""`tenk models`: the configured models, and a check of one."""

from pathlib import Path

import click

from gateway.cli.client import get, post, printable
from gateway.cli.root import config_option
from gateway.cli.tables import json_option, print_rows
from gateway.errors import GatewayError


@click.group("models")
def command() -> None:
    """List the models that the running gateway asks; try one."""


@command.command("list")
@json_option
@config_option
def list_(as_json: bool, config_path: Path | None) -> None:
    """List each model with its state, such as the reason for which it rests."""
    status = get(config_path, "status")
    rows = [{"model": name, "state": state} for name, state in (status.get("models") or {}).items()]
    nothing = "The agent answers by its rules and uses no model." if status["running"] else "No gateway is running."
    print_rows(rows, {"model": "model", "state": "state"}, nothing, as_json=as_json)


@command.command("try")
@click.argument("name", required=False)
@config_option
def attempt(name: str | None, config_path: Path | None) -> None:
    """Ask the model NAME (such as openai:gpt-5; default: the one in force) a short question now.

    If it answers, the gateway asks it again.

    Exit status 1: it does not answer. `tenk doctor` tries the models of a configuration that is not in force yet.
    """
    tried = post(config_path, "models", "try", model=name or get(config_path, "status").get("model"))
    if not tried["works"]:
        raise GatewayError(f"{printable(tried['words'])}\n{printable(tried['to_do'])}")
    click.echo(printable(tried["words"]))
