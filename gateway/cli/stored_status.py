"""`tenk status` for a gateway that does not run, or whose home only the whole configuration tells."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from channels.tenant import DEFAULT_TENANT
from gateway.access.ranks import BY_CLI
from gateway.cli.prepare import prepare
from gateway.config.settings import Settings
from gateway.errors import GatewayError, SchemaDiffers, unknown_tenant
from gateway.operators import client
from gateway.operators.models import Status
from gateway.operators.process import DetachedProcess
from gateway.operators.service import Operators
from gateway.ops.lock import why_silent
from gateway.safety.private_files import DATABASE
from gateway.store.engine import Store, reading


def configured_status(config_path: Path | None, tenant: str | None) -> tuple[Path, dict[str, Any]]:
    """Return the home and its status: from the running gateway, else from the store."""
    settings = prepare(config_path)
    return settings.home, asyncio.run(gateway_status(settings, tenant))


async def gateway_status(settings: Settings, tenant: str | None = None) -> dict[str, Any]:
    """Return the running gateway's answer to `GET /v1/status`; if none runs, the store's."""
    try:
        answer: dict[str, Any] = await client.call(settings.control_path, "GET /v1/status", tenant=tenant)
    except client.NoGateway:
        answer = (await _stored_status(settings, tenant)).model_dump(mode="json")
    return answer


async def _stored_status(settings: Settings, tenant: str | None) -> Status:
    """Return the status from the store. Do not create a store that does not exist."""
    if settings.database_url.startswith("sqlite") and not (settings.home / DATABASE).exists():
        return Status(running=False)
    why = why_silent(settings.home)
    silent = {"gateway": why} if why else None
    try:
        async with reading(settings.database_url) as whole:
            operators = Operators(part_of(settings, whole, tenant), b"", lambda: datetime.now(UTC), DetachedProcess())
            return (await operators.status(BY_CLI)).model_copy(update={"needs_you": silent})
    except SchemaDiffers as differs:
        return Status(running=False, needs_you=silent, store=str(differs))


def part_of(settings: Settings, store: Store, tenant: str | None) -> Store:
    """Return the store limited to a tenant, or the whole store for None.

    Raises:
        GatewayError: there is no such tenant.
    """
    if tenant is not None and tenant not in (known := (DEFAULT_TENANT, *settings.tenants)):
        raise GatewayError(unknown_tenant(tenant, known))
    return store.of(tenant)
