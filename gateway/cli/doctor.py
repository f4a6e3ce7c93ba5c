"""`tenk doctor`: what the gateway stands on, looked at from outside; what is wrong comes with what to do."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import click

from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.config.settings import Settings
from gateway.ops.doctor import Finding, check_models

Check = Callable[[Settings], Awaitable[list[Finding]]]

CHECKS: tuple[Check, ...] = (lambda settings: check_models(settings.model),)
"""In the order in which they are told."""


@click.command("doctor")
@config_option
def command(config_path: Path | None) -> None:
    """Look at the models: what each server is and has, and how it answers. Exit status 1: something is to be done."""
    findings = asyncio.run(_look(prepare(config_path)))
    for finding in findings:
        click.echo(f"{'TO DO' if finding.to_do else 'ok':5}  {finding.part}: {finding.words}")
        if finding.to_do:
            click.echo(f"       {finding.to_do}")
    if any(finding.to_do for finding in findings):
        sys.exit(1)


async def _look(settings: Settings) -> list[Finding]:
    return [finding for check in CHECKS for finding in await check(settings)]
