"""`tenk trust`: skills, files and commands that run only if an operator has looked at them."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from channels.tenant import DEFAULT_TENANT
from gateway.capabilities.detached import open_capabilities
from gateway.capabilities.trust import SHOWN_DIGEST_CHARS, TrustState, TrustSubject
from gateway.cli.client import get, post, printable, tenant_option
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.cli.tables import Columns, json_option, print_rows
from gateway.config.settings import Settings
from gateway.errors import GatewayError, unknown_tenant
from gateway.extensions import list_installed
from gateway.store.addresses import file_of
from gateway.store.trusted import TrustKind


@click.group("trust")
def command() -> None:
    """List what runs only if you trust it, trust a thing as it is now, or no longer."""


@command.command("list")
@json_option
@config_option
def list_(as_json: bool, config_path: Path | None) -> None:
    """List skills, files, commands and plug-ins: trusted, waiting for you, or changed since you trusted them.

    Nothing that is waiting or changed runs. A plug-in is in use if the configuration names it, which trusts it.
    """
    settings = prepare(config_path)
    rows = [row for tenant in _tenants(settings) for row in asyncio.run(_subjects(settings, tenant))]
    there = {(row["tenant"], row["what"]) for row in rows}
    file = file_of(settings.database_url)
    is_new = file is not None and not file.exists()
    for pinned in () if is_new else get(config_path, "trust")["trusted"]:
        what = f"{pinned['kind']}:{pinned['name']}"
        if (pinned["tenant"], what) not in there:
            rows.append(_row(pinned["tenant"], what, "gone", pinned["digest"], "trusted, but no longer there"))
    columns: Columns = {
        **({"tenant": "tenant"} if settings.tenants else {}),
        "what": "what",
        "state": "state",
        "digest": lambda row: row["digest"][:SHOWN_DIGEST_CHARS],
        "runs": "runs",
    }
    print_rows([*rows, *_plugins(settings)], columns, "Nothing needs your trust.", as_json=as_json)


@command.command("add")
@click.argument("what", metavar="KIND:NAME")
@click.option("--digest", default="", help="Its digest in `tenk trust list`; if it has another one now, do nothing.")
@config_option
def add(what: str, digest: str, config_path: Path | None) -> None:
    """Trust KIND:NAME, as `tenk trust list` shows it, as it is now. If it changes later, it waits for you again."""
    settings = prepare(config_path)
    (tenant,) = _tenants(settings, DEFAULT_TENANT)
    found = asyncio.run(_subjects(settings, tenant))
    row = next((row for row in found if row["what"] == what), None)
    if row is None:
        known = ", ".join(row["what"] for row in found) or "nothing"
        raise GatewayError(f"{what!r} is nothing that needs trust; there is: {known}")
    now = row["digest"][:SHOWN_DIGEST_CHARS]
    if not row["digest"].startswith(digest.lower()):
        raise GatewayError(f"{what} has changed: its digest is {now} now; look at it again")
    kind, _, name = what.partition(":")
    post(config_path, "trust", kind=kind, name=name, digest=row["digest"])
    click.echo(f"{printable(what)} is trusted as it is now ({now}): {printable(row['runs'])}")


@command.command("remove")
@click.argument("what", metavar="KIND:NAME")
@config_option
def remove(what: str, config_path: Path | None) -> None:
    """Stop trusting KIND:NAME: from now on it does not run."""
    kind, _, name = what.partition(":")
    if kind not in list(TrustKind):
        raise GatewayError(f"{what!r} is no KIND:NAME; the kinds are: {', '.join(TrustKind)}")
    post(config_path, "trust", "remove", kind=kind, name=name)
    click.echo(f"{printable(what)} is no longer trusted.")


def _tenants(settings: Settings, otherwise: str | None = None) -> list[str]:
    """Return the tenant of the command line, or without one `otherwise`, or without that all."""
    known = [DEFAULT_TENANT, *settings.tenants]
    wanted = tenant_option() or otherwise
    if wanted is not None and wanted not in known:
        raise GatewayError(unknown_tenant(wanted, known))
    return known if wanted is None else [wanted]


async def _subjects(settings: Settings, tenant: str) -> list[dict[str, Any]]:
    async with open_capabilities(settings, tenant) as capabilities:
        return [_of_subject(tenant, each, capabilities.state_of(each)) for each in capabilities.subjects()]


def _of_subject(tenant: str, subject: TrustSubject, state: TrustState) -> dict[str, Any]:
    return _row(tenant, subject.key, state.value, subject.digest, subject.runs)


def _plugins(settings: Settings) -> Iterator[dict[str, Any]]:
    """Yield the entry points of other distributions, which all tenants share."""
    named = settings.named_plugins()
    for point in list_installed():
        state = "in use" if (point.group, point.name) in named else "not used"
        where = f"{point.place} of {point.distribution}"
        yield _row(DEFAULT_TENANT, f"plugin:{point.group}:{point.name}", state, "", where)


def _row(tenant: str, what: str, state: str, digest: str, runs: str) -> dict[str, Any]:
    return {"tenant": tenant, "what": what, "state": state, "digest": digest, "runs": runs}
