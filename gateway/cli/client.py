"""The command line's client of `/v1`: over the running gateway's socket, or in this process if none runs.

It imports little, so that a command starts quickly.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from gateway.operators.client import DEADLINE_S, NoGateway, ask, path_of
from gateway.safety.private_files import check_home
from gateway.safety.redaction import escape_controls

DEFAULT_HOME = Path("var")


def get(config_path: Path | None, *segments: str, **query: Any) -> Any:
    """Return the JSON of `GET /v1/SEGMENTS`: from the running gateway, else from the store without changing it.

    Raises:
        GatewayError: the request was refused, or there is no store; the message says why.
    """
    return _request(config_path, f"GET {path_of(*segments)}", query)


def post(config_path: Path | None, *segments: str, **body: Any) -> Any:
    """Return the JSON of `POST /v1/SEGMENTS`, carried out by the running gateway, else by this process on the store.

    Raises:
        GatewayError: the request was refused, or neither can be reached; the message says why.
    """
    return _request(config_path, f"POST {path_of(*segments)}", body or None)


def post_within(timeout_s: float, config_path: Path | None, *segments: str, **body: Any) -> Any:
    """Return the JSON of a POST as `post`, which may take so many seconds; the gateway stops if this process does."""
    return _request(config_path, f"POST {path_of(*segments)}", body, timeout_s)


def _request(
    config_path: Path | None, request: str, given: Mapping[str, Any] | None, timeout_s: float = DEADLINE_S
) -> Any:
    home = home_of(config_path, os.environ)
    try:
        if home is None:
            raise NoGateway("only the settings name the home")
        check_home(home)
        return ask(home / "control.sock", request, given, tenant=tenant_option(), timeout_s=timeout_s)
    except NoGateway:
        from gateway.cli import local  # noqa: PLC0415  settings and store take most of a second

        return local.answer(config_path, request, given or {}, tenant_option(), timeout_s)


def terminal_locale(environ: Mapping[str, str]) -> str:
    """Return the terminal's language as a BCP 47 tag, from "es_ES.UTF-8"; "" if it has none."""
    said = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    tag = said.partition(".")[0].partition("@")[0].replace("_", "-")
    return tag if tag not in {"C", "POSIX"} else ""


def tenant_option() -> str | None:
    """Return the tenant of `tenk --tenant NAME`; None: all."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.find_root().params.get("tenant")


def home_of(config_path: Path | None, environ: Mapping[str, str]) -> Path | None:
    """Return the home without loading the settings, which is slow; None if only they can tell."""
    if given := environ.get("TENK_HOME", "").strip():
        return Path(given)
    written = _written_of_gateway(config_path)
    home = None if written is None else written.get("home", str(DEFAULT_HOME))
    return Path(home) if isinstance(home, str) else None


def _written_of_gateway(config_path: Path | None) -> dict[str, Any] | None:
    """Return the `[gateway]` tables of both files, or None if they cannot be read as plain TOML files."""
    main = config_path or Path("config/gateway.toml")
    written: dict[str, Any] = {}
    for file in (main, main.with_name("secrets.toml")):
        try:
            if file.is_file():  # a pipe would be waited for
                written |= tomllib.loads(file.read_text()).get("gateway", {})
            elif file == config_path or file.exists():
                return None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            click.echo(f"{file} is not TOML: this asks the gateway on the default home, {DEFAULT_HOME}.", err=True)
            return {}
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            return None
    return written


def known_as(person: dict[str, Any]) -> str:
    """Return a person's name and senders."""
    return f"{printable(person['name'])} ({', '.join(person['senders'])})"


def printable(name: str) -> str:
    """Escape control characters in a display name: it is a stranger's text."""
    return escape_controls(name)
