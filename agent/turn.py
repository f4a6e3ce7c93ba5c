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
"""Minimum seconds of a turn after an approval, so that the approved call can run."""


@dataclass(frozen=True, slots=True)
class TurnScope:
    """One turn in this process; durable state is in the journal."""

    turn: Turn
    ports: TurnPorts
    limits: AgentConfig
    clock: Callable[[], datetime]  # aware
    journal: Journal
    deadline: Deadline

    @classmethod
    def begin(cls, turn: Turn, ports: TurnPorts, limits: AgentConfig, clock: Callable[[], datetime]) -> "TurnScope":
        """Start the turn's clock, after the events that are journaled already."""
        journal = Journal(turn.id, turn.events, ports.journal)
        deadline = Deadline(_left_s(turn, limits), limits.working_s, asyncio.get_running_loop().time)
        return cls(turn, ports, limits, clock, journal, deadline)


def _left_s(turn: Turn, limits: AgentConfig) -> float:
    """Return the seconds of the turn; after an approval, those that were left before it."""
    waited = next((event for event in reversed(turn.events) if isinstance(event, Parked)), None)
    if waited is None:
        return limits.deadline_s
    return min(limits.deadline_s, max(waited.left_s, LEAST_LEFT_S))
