"""Storage of model cooldowns, so that a restart does not ask models that just refused."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from agent.definition import Agent
from agent.errors import FailureKind
from agent.models.health import Cooldown, Gate, HealthBoard
from agent.ports import Turn, TurnPorts
from agent.retry_command import run_retry_command
from agent.transcript import EndReason
from gateway.access.config import Role
from gateway.store.engine import Connection, Store
from gateway.store.rows import Rows
from gateway.store.tables.turns import model_rests

MAX_MODEL_CHARS = 255
COOLDOWNS = Rows(model_rests, Cooldown)


@dataclass(frozen=True, slots=True)
class RetryTurns:
    """A runner of `/retry`. For owners it first ends all cooldowns: they may have replaced a refused key."""

    board: HealthBoard

    async def run(self, turn: Turn, ports: TurnPorts, agent: Agent) -> EndReason:
        if turn.principal.role == Role.OWNER:
            self.board.end_cooldowns()
        return await run_retry_command(turn, ports, agent)


class ModelCooldowns:
    """A board of model cooldowns and the task that stores its changes."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._waiting: dict[tuple[str, Gate], Cooldown | None] = {}
        self._changed = asyncio.Event()
        self.board = HealthBoard(clock, self._note)

    async def load(self) -> None:
        """Load the cooldowns that an earlier process stored."""
        self.board.load(await self._store.read(load_cooldowns))

    async def run(self) -> None:
        """Store changes as they come, several in one commit if possible."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            changes, self._waiting = self._waiting, {}
            await self._store.commit(_save, changes)

    def _note(self, model: str, gate: Gate, cooldown: Cooldown | None) -> None:
        self._waiting[model, gate] = cooldown
        self._changed.set()


def load_cooldowns(connection: Connection) -> list[Cooldown]:
    """Return the stored cooldowns of the kinds that this version knows."""
    return COOLDOWNS.find(connection, gate=list(Gate), why=list(FailureKind))


def _save(connection: Connection, changes: Mapping[tuple[str, Gate], Cooldown | None]) -> None:
    for (model, gate), cooldown in changes.items():
        if cooldown is None:
            COOLDOWNS.delete(connection, model=model[:MAX_MODEL_CHARS], gate=gate)
        else:
            COOLDOWNS.put(connection, replace(cooldown, model=model[:MAX_MODEL_CHARS]))
