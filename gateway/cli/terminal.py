"""Input and output of `tenk chat`: a terminal or a pipe."""

import asyncio
import os
import shutil
import sys
from contextlib import AsyncExitStack
from typing import Protocol, Self

from channels.console.text import printable

STDIN = 0
READ_BYTES = 65_536
PROMPT = "\n> "

Lines = asyncio.Queue[str | None]
"""Lines to send; None ends the input."""


class Face(Protocol):
    """A source of lines that shows messages."""

    lines: Lines

    async def __aenter__(self) -> Self:
        """Start to read lines."""
        ...

    async def __aexit__(self, *error: object) -> None:
        """Stop reading and restore the terminal."""
        ...

    def show(self, message_id: str, text: str, live: bool) -> None:
        """Show a message as it is now; `live` if it will still grow."""
        ...

    def notice(self, text: str) -> None:
        """Show a sentence from the program itself."""
        ...


class PlainFace:
    """Input from one text or a pipe. It prints each message once, when it is complete."""

    def __init__(self, text: str | None) -> None:
        self._text = text
        self.lines: Lines = asyncio.Queue()  # bounded by what is in the pipe
        self._printed: dict[str, str] = {}
        self._begun = b""
        self._watched = False

    async def __aenter__(self) -> Self:
        if self._text is not None:
            self.lines.put_nowait(self._text)
            self.lines.put_nowait(None)
            return self
        try:
            asyncio.get_running_loop().add_reader(STDIN, self._read)
            self._watched = True
        except PermissionError:  # a file is always ready, and cannot be watched
            while self._read():
                pass
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._watched:
            asyncio.get_running_loop().remove_reader(STDIN)

    def show(self, message_id: str, text: str, live: bool) -> None:
        """Print a complete message, unless it was printed with this text before."""
        if not live and self._printed.get(message_id) != text:
            self._printed[message_id] = text
            write(printable(text) + "\n")

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
        if self._watched:
            asyncio.get_running_loop().remove_reader(STDIN)
            self._watched = False
        return False


class TerminalFace:
    """A terminal. A growing answer is drawn above the input line and scrolls away when it is complete."""

    def __init__(self) -> None:
        from prompt_toolkit import PromptSession  # noqa: PLC0415  # 0.2 s, for `tenk chat` on a terminal alone

        self.lines: Lines = asyncio.Queue()  # bounded by what a person types
        self._session = PromptSession[str](message=self._above_the_line)
        self._growing = ""
        self._printed: dict[str, str] = {}
        self._held = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Start to ask for lines, and print all other output above the prompt."""
        from prompt_toolkit.patch_stdout import patch_stdout  # noqa: PLC0415  # as above

        self._held.enter_context(patch_stdout())
        tasks = await self._held.enter_async_context(asyncio.TaskGroup())
        reading = tasks.create_task(self._read())
        self._held.callback(reading.cancel)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._held.aclose()

    def show(self, message_id: str, text: str, live: bool) -> None:
        text = printable(text)
        self._growing = text if live else ""
        if not live and self._printed.get(message_id) != text:
            self._printed[message_id] = text
            self._print(text)
        self._session.app.invalidate()

    def notice(self, text: str) -> None:
        self._print(printable(text))

    def _print(self, text: str) -> None:
        write("\n" + "\n".join(_wrap(text)) + "\n")

    def _above_the_line(self) -> str:
        """Return the prompt below the last rows of the growing message, half a screen at most."""
        rows = _wrap(self._growing)[-(shutil.get_terminal_size().lines // 2) :] if self._growing else []
        return "".join(f"\n{row}" for row in rows) + ("\n" if rows else "") + PROMPT

    async def _read(self) -> None:
        try:
            while True:
                self.lines.put_nowait(await self._session.prompt_async())
        except (EOFError, KeyboardInterrupt):
            self.lines.put_nowait(None)


def _wrap(text: str) -> list[str]:
    """Return the rows of a text, broken at words where the terminal ends."""
    from wcwidth import wrap  # noqa: PLC0415  # 60 ms; prompt_toolkit brings it

    columns = shutil.get_terminal_size().columns - 1
    return [row for line in text.split("\n") for row in wrap(line, columns) or [""]]


def write(text: str) -> None:
    """Write to the standard output at once."""
    sys.stdout.write(text)
    sys.stdout.flush()
