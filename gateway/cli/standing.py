"""What `tenk status` shows: the running gateway's own word, or what its store says where none runs. Heavy."""

from pydantic import JsonValue

from gateway import control
from gateway.cli.operate import lone_store
from gateway.settings import Settings
from gateway.store import outbox, pairing


async def standing(settings: Settings) -> tuple[bool, dict[str, JsonValue]]:
    """Whether a gateway runs on this home, and its answer to `status`; else what its store holds, if there is one."""
    try:
        answer = await control.call(settings.control_path, "status", {})
        return True, answer if isinstance(answer, dict) else {"status": answer}
    except control.NobodyAnswers:
        return False, await _from_store(settings)


async def _from_store(settings: Settings) -> dict[str, JsonValue]:
    if settings.database_url.startswith("sqlite") and not (settings.home / "tenk.db").exists():
        return {}  # looking must not make a database
    async with lone_store(settings) as store:
        parts = await store.read(outbox.depths)
        waiting = await store.read(pairing.pending)
    return {"outbox": {str(state): count for state, count in parts.items()}, "pairing_requests": len(waiting)}
