"""`tenk acp`: the agent for editors that speak the Agent Client Protocol over standard input and output."""

import asyncio
import contextlib
import os
from importlib.util import find_spec
from pathlib import Path

import click

from gateway import telemetry
from gateway.cli.client import DEFAULT_HOME, home_of
from gateway.cli.root import config_option
from gateway.errors import GatewayError
from gateway.safety.private_files import check_home
from gateway.safety.redaction import Redactor


@click.command("acp")
@config_option
def command(config_path: Path | None) -> None:
    """Let an editor talk to the running gateway's agent. The editor starts this itself.

    It needs an API key in TENK_API_KEY: `tenk keys create "my editor" --for SENDER`.
    """
    if find_spec("acp") is None:
        raise GatewayError("the package for editors is missing: pip install 'tenk-gateway[acp]'")
    from gateway.cli.acp_agent import serve_editor  # noqa: PLC0415  the package that it needs may be missing

    home = home_of(config_path, os.environ) or DEFAULT_HOME
    check_home(home)
    telemetry.configure(Redactor(), level="warning")  # standard output has the protocol alone
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve_editor(home.absolute() / "control.sock", os.environ))
