"""The state that all parts of a running turn share."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from agent.bounded import Deadline
from agent.config import AgentConfig
from agent.consent import Parked
from agent.journal import Journal
from agent.ports import Turn, TurnPorts

LEAST_LEFT_S = 30.0
"""Seconds that a turn has at least after it waited for its person, so that what they allowed can be done."""


@dataclass(frozen=True, slots=True)
class TurnScope:
    """One turn in this process. Nothing here outlives it; what must is in the journal."""

    turn: Turn
    ports: TurnPorts
    limits: AgentConfig
    clock: Callable[[], datetime]  # aware
    journal: Journal
    deadline: Deadline

    @classmethod
    def begin(cls, turn: Turn, ports: TurnPorts, limits: AgentConfig, clock: Callable[[], datetime]) -> "TurnScope":
        """Start the turn's clock, behind what its journal holds already."""
        journal = Journal(turn.id, turn.events, ports.journal)
        deadline = Deadline(_left_s(turn, limits), limits.working_s, asyncio.get_running_loop().time)
        return cls(turn, ports, limits, clock, journal, deadline)


def _left_s(turn: Turn, limits: AgentConfig) -> float:
    """Return the seconds the turn has; after a wait for its person, what was left when it began."""
    waited = next((event for event in reversed(turn.events) if isinstance(event, Parked)), None)
    if waited is None:
        return limits.deadline_s
    return min(limits.deadline_s, max(waited.left_s, LEAST_LEFT_S))
