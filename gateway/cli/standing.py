"""What `tenk status` shows: the running gateway's own word, or what its store says where none runs.

The store is loaded only where it is asked: a gateway that runs answers in a third of the time.
"""

from pydantic import JsonValue

from gateway.config.settings import Settings
from gateway.ops import control


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
    from gateway.cli.operate import lone_store  # noqa: PLC0415  heavy, and not needed where a gateway runs
    from gateway.store import outbox, pairing  # noqa: PLC0415  heavy, and not needed where a gateway runs

    async with lone_store(settings) as store:
        parts = await store.read(outbox.depths)
        waiting = await store.read(pairing.pending)
    return {"outbox": {str(state): count for state, count in parts.items()}, "pairing_requests": len(waiting)}
