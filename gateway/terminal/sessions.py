"""The conversations of a terminal, as the running gateway tells them to operators."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.errors import GatewayError
from gateway.operators.client import call, path_of

MOST_LISTED = 200
LAST_TURNS = 3
"""Turns whose messages are shown when a conversation is resumed."""


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The conversation that goes on in this terminal."""

    id: str
    agent: str
    model: str
    cost_usd: float | None  # None: unknown
    turns: int
    others: frozenset[str]  # ids of the conversations that can be resumed here


@dataclass(frozen=True, slots=True)
class PastMessage:
    """A message of an earlier turn."""

    text: str  # Markdown, if it is the agent's
    is_own: bool  # the person's


class Sessions:
    """The conversations of the terminals on this machine."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    async def look(self) -> SessionFacts | None:
        """Return the living conversation; None if there is none, or the gateway does not answer."""
        try:
            status = await call(self._socket, "GET /v1/status")
            listed = await call(self._socket, f"GET {path_of('all-sessions')}", {"limit": MOST_LISTED})
        except GatewayError:
            return None
        ours = [each for each in listed["sessions"] if is_of_terminal(each)]
        living = next((each for each in ours if each["living"]), None)
        if living is None:
            return None
        cost = living["cost_microusd"]
        return SessionFacts(
            id=living["id"],
            agent=living["agent"],
            model=str(status.get("model") or ""),
            cost_usd=None if cost is None else cost / 1_000_000,
            turns=living["turns"],
            others=frozenset(each["id"] for each in ours if each is not living),
        )

    async def last_messages(self, facts: SessionFacts) -> Sequence[PastMessage]:
        """Return the messages of the last turns; none if the gateway does not answer."""
        request = f"GET {path_of('all-sessions', facts.id, 'export')}"
        try:
            whole = await call(self._socket, request, {"skip": max(0, facts.turns - LAST_TURNS)})
        except GatewayError:
            return ()
        return tuple(message for turn in whole["turns"] for message in _messages_of(turn))

    async def to_resume(self, id_end: str) -> str:
        """Return the chat command that resumes a conversation; without an id, the one that lists them.

        Raises:
            GatewayError: no conversation has this id, or it belongs to another channel.
        """
        if not id_end:
            return "/sessions"
        found = await call(self._socket, f"GET {path_of('all-sessions', id_end)}", {"turns": 1})
        if not is_of_terminal(found["session"]):
            raise GatewayError("that conversation belongs to another channel: resume it there with `/sessions`")
        return f"/sessions {found['session']['id']}"


def is_of_terminal(session: Mapping[str, Any]) -> bool:
    """Return True if a conversation was held in a terminal."""
    return ":console:" in session["key"]


def _messages_of(turn: Mapping[str, Any]) -> Iterator[PastMessage]:
    for event in turn["events"]:
        if text := event.get("person"):
            yield PastMessage(text, is_own=True)
        elif text := event.get("answer"):
            yield PastMessage(text, is_own=False)
