"""What `tenk status` shows where no gateway answers. Loads what that needs: half of what other commands do."""

import asyncio
from pathlib import Path

from pydantic import JsonValue

from gateway.cli.prepare import prepare
from gateway.config.settings import Settings
from gateway.errors import AlreadyRunning, SchemaDiffers
from gateway.ops import control_client
from gateway.ops.lock import HomeLock
from gateway.store import outbox, pairing
from gateway.store.engine import reading


def closer_status(config_path: Path | None) -> tuple[Path, bool, dict[str, JsonValue]]:
    """By the whole configuration: the home, whether a gateway runs on it, and its answer or what its store holds."""
    settings = prepare(config_path)
    running, answer = asyncio.run(gateway_status(settings))
    return settings.home, running, answer


async def gateway_status(settings: Settings) -> tuple[bool, dict[str, JsonValue]]:
    """Whether a gateway runs on this home, and its answer to `status`; else what its store holds, if there is one."""
    try:
        answer = await control_client.call(settings.control_path, "status", {})
    except control_client.NobodyAnswers:
        return False, await _stored_status(settings)
    return True, answer if isinstance(answer, dict) else {"status": answer}


async def _stored_status(settings: Settings) -> dict[str, JsonValue]:
    """What the store says while no gateway runs; nothing where there is none, as looking must not make a database."""
    if settings.database_url.startswith("sqlite") and not (settings.home / "tenk.db").exists():
        return {}
    silent: dict[str, JsonValue] = {}
    try:
        with HomeLock(settings.home):
            pass
    except AlreadyRunning as running:
        silent = {"needs_you": {"gateway": silent_text(running)}}
    try:
        async with reading(settings.database_url) as store:
            parts = await store.read(outbox.depths)
            waiting = await store.read(pairing.pending_counts)
    except SchemaDiffers as differs:
        return silent | {"store": str(differs)}
    depths: dict[str, JsonValue] = {str(state): count for state, count in parts.items()}
    return silent | {"outbox": depths, "pairing_requests": dict[str, JsonValue](waiting)}


def silent_text(running: AlreadyRunning) -> str:
    """What is known of a home that somebody has who does not answer."""
    return f"{running}; it does not answer: it starts, stops or hangs, or another command is at work"
