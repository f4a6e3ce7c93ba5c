"""What `tenk status` says with the whole configuration loaded; it imports no more than that needs, to be quick."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import JsonValue

from channels.tenant import DEFAULT_TENANT
from gateway.cli.prepare import prepare
from gateway.config.settings import Settings
from gateway.errors import GatewayError, SchemaDiffers, unknown_tenant
from gateway.ops import control_client
from gateway.ops.lock import why_silent
from gateway.safety.private_files import DATABASE
from gateway.store import outbox, tickets
from gateway.store.engine import Store, reading


def closer_status(config_path: Path | None, whose: Mapping[str, JsonValue]) -> tuple[Path, bool, dict[str, JsonValue]]:
    """By the whole configuration: the home, whether a gateway runs on it, and its answer or what its store holds."""
    settings = prepare(config_path)
    running, answer = asyncio.run(gateway_status(settings, whose))
    return settings.home, running, answer


async def gateway_status(
    settings: Settings, whose: Mapping[str, JsonValue] = MappingProxyType({})
) -> tuple[bool, dict[str, JsonValue]]:
    """Whether a gateway runs on this home, and its answer to `status`; else what its store holds, if there is one.

    `whose` names the tenant, where it is one's alone.
    """
    try:
        answer = await control_client.call(settings.control_path, "status", dict(whose))
    except control_client.NobodyAnswers:
        part = partial(part_of, settings, arguments=dict(whose))
        return False, await stored_status(settings.home, settings.database_url, part)
    return True, answer if isinstance(answer, dict) else {"status": answer}


async def stored_status(
    home: Path, url: str, part: Callable[[Store], Store] = lambda whole: whole
) -> dict[str, JsonValue]:
    """What the store, or a `part` of it, says while no gateway runs; nothing where there is none: a look makes none."""
    if url.startswith("sqlite") and not (home / DATABASE).exists():
        return {}
    why = why_silent(home)
    silent: dict[str, JsonValue] = {"needs_you": {"gateway": why}} if why else {}
    try:
        async with reading(url) as whole:
            store = part(whole)
            parts = await store.read(outbox.depths)
            waiting = await store.read(tickets.pending_counts)
    except SchemaDiffers as differs:
        return silent | {"store": str(differs)}
    depths: dict[str, JsonValue] = {str(state): count for state, count in parts.items()}
    return silent | {"outbox": depths, "pairing_requests": dict[str, JsonValue](waiting)}


def part_of(settings: Settings, store: Store, arguments: dict[str, Any]) -> Store:
    """What of the store is looked at; the tenant is taken out of the arguments.

    Raises:
        GatewayError: there is no such tenant.
    """
    tenant = arguments.pop("tenant", None)
    if tenant is not None and tenant not in (known := (DEFAULT_TENANT, *settings.tenants)):
        raise GatewayError(unknown_tenant(tenant, known))
    return store.of(tenant)
