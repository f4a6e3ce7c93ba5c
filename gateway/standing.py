"""How the gateway is doing, for health checks and for `tenk status`. It only reads; nothing is mended here."""

import math
import os
from collections.abc import Mapping
from datetime import datetime, timedelta

from pydantic import JsonValue

from channels.base import ChannelState
from gateway.access.policy import AccessSnapshot
from gateway.errors import StoreUnavailable
from gateway.http.health import PartHealth
from gateway.manager import ChannelManager
from gateway.sessions.router import Router
from gateway.store import inbox, outbox
from gateway.store.engine import Store
from gateway.telemetry import OUTBOX_WAITING


class Standing:
    """The parts of one running gateway."""

    def __init__(
        self,
        store: Store,
        manager: ChannelManager,
        router: Router,
        snapshot: AccessSnapshot,
        model_name: str,
        started_at: datetime,
    ) -> None:
        self._store = store
        self._manager = manager
        self._router = router
        self._snapshot = snapshot
        self._model_name = model_name
        self._started_at = started_at

    def health(self) -> Mapping[str, PartHealth]:
        """By name: the store, and each channel account with when it was last really heard."""
        state = ChannelState.READY if self._store.healthy else ChannelState.FAILED
        detail = "" if self._store.healthy else "commits fail: look at the disk, or at the database server"
        channels = {name: PartHealth(*how) for name, how in self._manager.states().items()}
        return {"store": PartHealth(state, detail), **channels}

    async def measure(self) -> None:
        """Count what waits; where the store does not answer nobody knows."""
        try:
            OUTBOX_WAITING.set(await self._store.read(outbox.open_count))
        except StoreUnavailable:
            OUTBOX_WAITING.set(math.nan)

    async def status(self, now: datetime) -> JsonValue:
        """What `tenk status` shows."""
        parts: dict[str, JsonValue] = {}
        for name, part in self.health().items():
            parts[name] = part.state.value + (f" ({part.detail})" if part.detail else "")
        depths: dict[str, JsonValue] = dict(await self._store.read(outbox.depths))
        return {
            "process": os.getpid(),
            "up_s": int((now - self._started_at) / timedelta(seconds=1)),
            "model": self._model_name,
            "parts": parts,
            "turns_running": self._router.running,
            "inbox_open": await self._store.read(inbox.open_count),
            "outbox": depths,
            "people": len(self._snapshot),
        }
