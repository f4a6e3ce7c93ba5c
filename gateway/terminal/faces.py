"""Input and output of `tenk chat` without a terminal: plain text for pipes, JSON lines for scripts."""

import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Protocol, Self

import orjson

from channels.console.client import ConsoleClient, ShownMessage, TerminalView, number_choices
from channels.console.text import printable
from channels.messages import Button
from channels.turn_steps import TurnStep

STDIN = 0
READ_BYTES = 65_536

Lines = asyncio.Queue[str | None]
"""Lines to send; None ends the input."""


class Face(TerminalView, Protocol):
    """A view with a source of lines."""

    lines: Lines
    is_watched: bool  # by a person, at a terminal

    async def open(self, client: ConsoleClient) -> Self:
        """Start to read lines."""
        ...

    async def close(self) -> None:
        """Stop reading and restore the terminal."""
        ...

    def notice(self, text: str) -> None:
        """Show a sentence from the program itself."""
        ...


class PipeFace:
    """Input from one text or a pipe. It prints each message once, when it is complete."""

    is_watched = False

    def __init__(self, text: str | None) -> None:
        self._text = text
        self.lines: Lines = asyncio.Queue()  # bounded by what is in the pipe
        self._printed: dict[str, str] = {}
        self._begun = b""
        self._is_reading = False

    async def open(self, _client: ConsoleClient) -> Self:
        if self._text is not None:
            self.lines.put_nowait(self._text)
            self.lines.put_nowait(None)
            return self
        try:
            asyncio.get_running_loop().add_reader(STDIN, self._read)
            self._is_reading = True
        except PermissionError:  # a file is always ready, and cannot be watched
            while self._read():
                pass
        return self

    async def close(self) -> None:
        if self._is_reading:
            asyncio.get_running_loop().remove_reader(STDIN)

    def show(self, message: ShownMessage) -> None:
        """Print a complete message, unless it was printed with this text before."""
        if not message.is_live and self._printed.get(message.id) != message.text:
            self._printed[message.id] = message.text
            self.print_message(message)

    def print_message(self, message: ShownMessage) -> None:
        """Print a message as text, with the choices that it offers."""
        write("\n".join([printable(message.text), *numbered_choices(message.buttons), ""]))

    def show_step(self, step: TurnStep) -> None:
        pass

    def show_state(self) -> None:
        pass

    def notice(self, text: str) -> None:
        sys.stderr.write(f"{printable(text)}\n")

    def _read(self) -> bool:
        """Read what the pipe holds. Return True if more may follow."""
        chunk = os.read(STDIN, READ_BYTES)
        *lines, self._begun = (self._begun + chunk).split(b"\n")
        for line in lines:
            self.lines.put_nowait(line.decode(errors="replace"))
        if chunk:
            return True
        if self._begun:
            self.lines.put_nowait(self._begun.decode(errors="replace"))
        self.lines.put_nowait(None)
        if self._is_reading:
            asyncio.get_running_loop().remove_reader(STDIN)
            self._is_reading = False
        return False


class JsonFace(PipeFace):
    """One text as input; each step and each complete message is a line of JSON."""

    def print_message(self, message: ShownMessage) -> None:
        choices = [button.label for button in message.buttons]
        write_json({"type": "message", "id": message.id, "text": message.text, "choices": choices})

    def show_step(self, step: TurnStep) -> None:
        write_json({"type": step.type, **asdict(step)})


def numbered_choices(buttons: Sequence[Button]) -> list[str]:
    """Return the labels of buttons with the numbers that press them, after an empty line; none without buttons."""
    choices = [f"{number}. {printable(label)}" for number, label, _ in number_choices(buttons)]
    return ["", *choices] if choices else []


def write_json(value: object) -> None:
    """Write a line of JSON to the standard output at once."""
    sys.stdout.buffer.write(orjson.dumps(value) + b"\n")
    sys.stdout.buffer.flush()


def write(text: str) -> None:
    """Write to the standard output at once."""
    sys.stdout.write(text)
    sys.stdout.flush()
