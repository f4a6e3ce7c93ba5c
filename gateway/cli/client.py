"""Carries an operator's call to the running gateway, or has it done alone where none runs; prints what strangers wrote.

It loads next to nothing where a gateway runs: settings and store take most of a second.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import click

from gateway.ops import control_client
from gateway.safety.private_files import check_home
from gateway.safety.redaction import escape_controls


class Alone(Protocol):
    """`gateway.cli.alone`: what needs the whole configuration, and mostly the store."""

    def operate(self, config_path: Path | None, name: str, arguments: dict[str, Any]) -> Any:
        """What an operator's call of this name answers."""
        ...

    def look_up(self, config_path: Path | None, name: str, arguments: dict[str, Any]) -> Any:
        """What a question that changes nothing is answered."""
        ...

    def export_person(
        self, config_path: Path | None, whom: dict[str, Any], destination: Path
    ) -> tuple[dict[str, Any], str]:
        """Write a person's data to a new file; who it is, and how many rows of what are in it."""
        ...


def alone() -> Alone:
    """Import and return what does an operator's work without a gateway."""
    from gateway.cli import alone as module  # noqa: PLC0415  see the first lines

    return module


def ask(config_path: Path | None, name: str, arguments: dict[str, Any]) -> Any:
    """What the running gateway answers, or the store where none runs.

    Raises:
        GatewayError: it was refused, or nothing can be reached; the message says why.
    """
    arguments = add_tenant(arguments)
    try:
        return _ask_running(config_path, name, arguments)
    except control_client.NobodyAnswers:
        return alone().operate(config_path, name, arguments)


def look(config_path: Path | None, name: str, arguments: dict[str, Any]) -> Any:
    """What the running gateway answers to a question that changes nothing, or its store where it does not answer.

    Nothing is locked or migrated: it works beside a gateway that hangs, too.

    Raises:
        GatewayError: it makes no sense, or there is nothing to look at; the message says why.
    """
    arguments = add_tenant(arguments)
    try:
        return _ask_running(config_path, name, arguments)
    except control_client.NobodyAnswers:
        return alone().look_up(config_path, name, arguments)


def add_tenant(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the tenant of `tenk --tenant NAME`, where one is named."""
    context = click.get_current_context(silent=True)
    tenant = None if context is None else context.find_root().params.get("tenant")
    return arguments if tenant is None else {**arguments, "tenant": tenant}


def _ask_running(config_path: Path | None, name: str, arguments: dict[str, Any]) -> Any:
    """What the gateway answers that runs on the home.

    Raises:
        NobodyAnswers: none does there, or only the settings can say where that is.
    """
    home = home_of(config_path, os.environ)
    if home is None:
        raise control_client.NobodyAnswers("only the settings say where")
    check_home(home)
    return control_client.ask(home / "control.sock", name, arguments)


def home_of(config_path: Path | None, environ: Mapping[str, str]) -> Path | None:
    """The home as the settings have it, without loading them, which takes twice the time of all the rest.

    None: only they can say.
    """
    if given := environ.get("TENK_HOME", "").strip():
        return Path(given)
    written = _written_of_gateway(config_path)
    home = None if written is None else written.get("home", "var")
    return Path(home) if isinstance(home, str) else None


def _written_of_gateway(config_path: Path | None) -> dict[str, Any] | None:
    """What stands under `[gateway]` in the two files; None where they cannot be read so simply."""
    main = config_path or Path("config/gateway.toml")
    written: dict[str, Any] = {}
    for file in (main, main.with_name("secrets.toml")):
        try:
            if file.is_file():  # a pipe would be waited for
                written |= tomllib.loads(file.read_text()).get("gateway", {})
            elif file == config_path or file.exists():
                return None
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            return None
    return written


def known_as(person: dict[str, Any]) -> str:
    """A person by name, with the senders that are theirs."""
    return f"{printable(person['name'])} ({', '.join(person['senders'])})"


def printable(name: str) -> str:
    """A display name is a stranger's text: nothing in it may move the cursor (A67)."""
    return escape_controls(name)
