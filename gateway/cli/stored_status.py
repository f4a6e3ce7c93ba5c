"""What `tenk status` says where no gateway answers: by the database of the home, or by the whole configuration."""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from gateway.errors import AlreadyRunning, SchemaDiffers
from gateway.ops import control_client
from gateway.ops.lock import HomeLock
from gateway.safety.private_files import DATABASE
from gateway.store import outbox, pairing
from gateway.store.engine import reading

if TYPE_CHECKING:
    from gateway.config.settings import Settings  # they take as long to load as all the rest


def of_file(home: Path, file: Path) -> dict[str, JsonValue]:
    """What the database file of a home says."""
    os.umask(0o077)
    return asyncio.run(stored_status(home, f"sqlite:///{file}"))


async def gateway_status(settings: "Settings") -> tuple[bool, dict[str, JsonValue]]:
    """Whether a gateway runs on this home, and its answer to `status`; else what its store holds, if there is one."""
    try:
        answer = await control_client.call(settings.control_path, "status", {})
    except control_client.NobodyAnswers:
        return False, await stored_status(settings.home, settings.database_url)
    return True, answer if isinstance(answer, dict) else {"status": answer}


async def stored_status(home: Path, url: str) -> dict[str, JsonValue]:
    """What the store says while no gateway runs; nothing where there is none, as looking must not make a database."""
    if url.startswith("sqlite") and not (home / DATABASE).exists():
        return {}
    silent: dict[str, JsonValue] = {}
    try:
        with HomeLock(home):
            pass
    except AlreadyRunning as running:
        silent = {"needs_you": {"gateway": running.while_silent}}
    try:
        async with reading(url) as store:
            parts = await store.read(outbox.depths)
            waiting = await store.read(pairing.pending_counts)
    except SchemaDiffers as differs:
        return silent | {"store": str(differs)}
    depths: dict[str, JsonValue] = {str(state): count for state, count in parts.items()}
    return silent | {"outbox": depths, "pairing_requests": dict[str, JsonValue](waiting)}
