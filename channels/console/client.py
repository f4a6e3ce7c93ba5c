"""The terminal's side of its WebSocket: it sends lines and presses, passes on frames and detects complete answers.

It outlives a connection: a line that the gateway has not confirmed is offered to the next one under the same id, so
that it is said once. The caller connects, draws, and reads the lines.
"""

import asyncio
import contextlib
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp
import orjson

from channels.base import Reaction
from channels.console.blocks import unpack
from channels.markdown.tree import Block, Paragraph, Span
from channels.messages import Button, ButtonStyle
from channels.turn_steps import STEP_KINDS, TurnClosed, TurnStep
from channels.viewers.viewer_hub import Frame

QUIET_S = 0.7  # after a complete message, until no other is expected


_NUMBERED = re.compile(r"(\d{1,3})\. (.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message of the gateway in its current state."""

    id: str
    text: str
    blocks: tuple[Block, ...]  # the same as a tree
    is_live: bool  # it will still grow, or be replaced
    is_answer: bool = True  # False: a placeholder, or words about what the agent does
    buttons: tuple[Button, ...] = ()


class TerminalView(Protocol):
    """A terminal that shows what the gateway tells."""

    def show(self, message: ShownMessage) -> None:
        """Show a message as it is now; a repetition is shown once."""
        ...

    def show_step(self, step: TurnStep) -> None:
        """Show a step of the running turn."""
        ...

    def show_state(self) -> None:
        """Show that the client's own state has changed."""
        ...


class ConsoleClient:
    """One terminal; `run` serves one connection after the other."""

    def __init__(self, view: TerminalView, locale: str = "", *, recall: bool = False) -> None:
        """`locale` is the terminal's, BCP 47; "" is none. `recall` requests missed messages."""
        self._view = view
        self._locale = locale
        self._recall = recall
        self._outgoing: asyncio.Queue[Frame] | None = None  # None: there is no connection
        self._unsent: dict[str, Frame] = {}  # not confirmed, in order
        self._unanswered = 0  # lines without a complete message after them
        self._heard_s = 0.0
        self._growing = False
        self._busy_until_s = 0.0
        self._open_turns: set[str] = set()
        self._queued: set[str] = set()  # ids of own messages that wait for the turn before them
        self.commands: Sequence[tuple[str, str]] = ()
        """Commands of the agent, each with its summary."""
        self.offered: tuple[str, tuple[Button, ...]] = ("", ())
        """The newest message with buttons that can be pressed, and these."""
        self.last_reason = ""
        """Why the last turn ended; "" before that."""

    async def run(self, peer: aiohttp.ClientWebSocketResponse) -> None:
        """Send and receive on this connection until the gateway closes it."""
        self._outgoing = asyncio.Queue()  # bounded by what a person types
        self._growing, self._busy_until_s = False, 0.0
        self._open_turns.clear()
        self._queued.clear()
        self._outgoing.put_nowait({"type": "hello", "recall": self._recall, "locale": self._locale})
        for frame in self._unsent.values():
            self._outgoing.put_nowait(frame)
        try:
            async with asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(self._write(peer, self._outgoing))
                async for message in peer:
                    if message.type is not aiohttp.WSMsgType.TEXT:
                        break
                    self._hear(orjson.loads(message.data))
                writing.cancel()
        finally:
            self._outgoing = None

    # ---------------------------------------------------------------- what the person does

    def say(self, text: str) -> None:
        """Send a line, or press the button whose number it is."""
        message, buttons = self.offered
        chosen = next((button for number, _, button in number_choices(buttons) if number == text.strip()), None)
        if chosen is None:
            self._act({"type": "say", "text": text, "locale": self._locale})
        else:
            self.press(message, chosen)

    def press(self, message: str, button: Button) -> None:
        """Press a button under a message."""
        self.offered = ("", ())
        self._act({"type": "press", "message": message, "data": button.data})

    def stop(self) -> None:
        """Stop the running turn."""
        self._act({"type": "do", "name": "stop"})

    def _act(self, about: Frame) -> None:
        """Send a frame; repeat it until the gateway confirms it."""
        id_ = secrets.token_hex(16)
        self._unsent[id_] = {**about, "id": id_}
        self._unanswered += 1
        if self._outgoing is not None:
            self._outgoing.put_nowait(self._unsent[id_])

    # ---------------------------------------------------------------- what it knows

    @property
    def untaken(self) -> list[str]:
        """Return the lines that the gateway has not confirmed."""
        return [str(frame["text"]) for frame in self._unsent.values() if frame["type"] == "say"]

    @property
    def is_connected(self) -> bool:
        """Return True if there is a connection."""
        return self._outgoing is not None

    @property
    def queued(self) -> int:
        """Return how many of the lines wait for a turn of their own."""
        return len(self._queued)

    @property
    def waits_for_person(self) -> bool:
        """Return True if a turn is open whose person is asked something."""
        return bool(self._open_turns and self.offered[1])

    def is_busy(self, now_s: float) -> bool:
        """Return True if the agent works on an answer."""
        return bool(self._open_turns) or self._growing or now_s < self._busy_until_s

    def is_answered(self, now_s: float) -> bool:
        """Return True if all lines are answered and no other message is expected."""
        if self._unsent or self._unanswered or self._growing:
            return False
        return now_s >= max(self._heard_s + QUIET_S, self._busy_until_s)

    # ---------------------------------------------------------------- what it hears

    def _hear(self, frame: dict[str, Any]) -> None:
        now_s = asyncio.get_running_loop().time()
        match frame["type"]:
            case "message":
                self._message(frame, now_s)
            case "buttons":
                if frame["message"] == self.offered[0]:
                    self.offered = ("", ())
            case "typing":
                self._busy_until_s = now_s + frame["for_s"]
            case "commands":
                self.commands = [(str(name), str(summary)) for name, summary in frame["commands"]]
            case "reaction":
                self._queued.discard(frame["message"])
                if frame["reaction"] == Reaction.QUEUED.value:
                    self._queued.add(frame["message"])
            case "taken":
                for id_ in frame["ids"]:
                    self._unsent.pop(id_, None)
            case "not_taken":
                asyncio.get_running_loop().call_later(frame["again_after_s"], self._offer, list(frame["ids"]))
            case kind if kind in STEP_KINDS:
                self._step(frame)
                return
        self._view.show_state()

    def _message(self, frame: Mapping[str, Any], now_s: float) -> None:
        self._growing = frame["live"] or frame["waiting"]
        buttons = tuple(Button(each["label"], each["data"], ButtonStyle(each["style"])) for each in frame["buttons"])
        if not self._growing:
            if buttons or frame["id"] == self.offered[0]:
                self.offered = (frame["id"], buttons)
            self._unanswered = 0
            self._busy_until_s = 0.0
        self._heard_s = now_s
        blocks = _paragraphs(frame["text"]) if frame["blocks"] is None else unpack(frame["blocks"])
        is_answer = not (frame["waiting"] or frame["status"])
        self._view.show(ShownMessage(frame["id"], frame["text"], blocks, self._growing, is_answer, buttons))

    def _step(self, frame: dict[str, Any]) -> None:
        turn, kind = frame.pop("turn"), STEP_KINDS[frame.pop("type")]
        step: TurnStep = kind(**frame)
        if isinstance(step, TurnClosed):
            self._open_turns.discard(turn)
            self.last_reason = step.reason
        else:
            self._open_turns.add(turn)
        self._view.show_step(step)

    def _offer(self, ids: list[str]) -> None:
        for id_ in ids:
            if id_ in self._unsent and self._outgoing is not None:
                self._unanswered += 1  # what was shown meanwhile answers an earlier line
                self._outgoing.put_nowait(self._unsent[id_])

    async def _write(self, peer: aiohttp.ClientWebSocketResponse, outgoing: asyncio.Queue[Frame]) -> None:
        with contextlib.suppress(ConnectionError):  # receiving ends, too
            while True:
                await peer.send_str(orjson.dumps(await outgoing.get()).decode())


def number_choices(buttons: Sequence[Button]) -> list[tuple[str, str, Button]]:
    """Return each button after its number and its label without one: the label's own number, else its place."""
    found = [(_NUMBERED.fullmatch(button.label), button) for button in buttons]
    return [
        (str(place), button.label, button) if own is None else (own[1], own[2], button)
        for place, (own, button) in enumerate(found, 1)
    ]


def _paragraphs(text: str) -> tuple[Block, ...]:
    """Return a text without a tree as literal paragraphs."""
    return tuple(Paragraph((Span(piece),)) for piece in text.split("\n\n") if piece)
