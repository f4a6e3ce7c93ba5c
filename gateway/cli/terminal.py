"""Where lines come from and answers go, for `tenk chat`: a terminal, where one types below what is said, or a pipe."""

import asyncio
import os
import shutil
import sys
import termios
import tty
from types import TracebackType
from typing import Protocol

from channels.console.drawing import Drawing, printable
from channels.console.line_editor import PASTES_MARKED, PASTES_PLAIN, LineEditor

STDIN = 0
READ_BYTES = 65_536


Lines = asyncio.Queue[str | None]
"""What is to be said, line by line; None is the end."""


class Face(Protocol):
    """One of the two."""

    def __enter__(self) -> Lines:
        """Begin to take lines; None is the end of the input."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave everything as it was found."""
        ...

    def show(self, message_id: str, text: str, live: bool) -> None:
        """A message as it is now."""
        ...

    def notice(self, text: str) -> None:
        """A word of the terminal's own."""
        ...


class PlainFace:
    """Takes one text, or the lines of the input, and prints each message once, when it is complete."""

    def __init__(self, text: str | None) -> None:
        self._text = text
        self._lines: Lines = asyncio.Queue()  # bounded by what is in the pipe
        self._printed: dict[str, str] = {}
        self._begun = b""
        self._watched = False

    def __enter__(self) -> Lines:
        """As the protocol says."""
        if self._text is not None:
            self._lines.put_nowait(self._text)
            self._lines.put_nowait(None)
            return self._lines
        try:
            asyncio.get_running_loop().add_reader(STDIN, self._read)
            self._watched = True
        except PermissionError:  # a file is always ready, and cannot be watched
            while self._read():
                pass
        return self._lines

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """As the protocol says."""
        if self._watched:
            asyncio.get_running_loop().remove_reader(STDIN)

    def show(self, message_id: str, text: str, live: bool) -> None:
        """Print it unless it goes on, or was printed as it is."""
        if not live and self._printed.get(message_id) != text:
            self._printed[message_id] = text
            write(printable(text) + "\n")

    def notice(self, text: str) -> None:
        """Say it beside the answers."""
        sys.stderr.write(f"{printable(text)}\n")

    def _read(self) -> bool:
        """Take what there is; whether there may be more."""
        chunk = os.read(STDIN, READ_BYTES)
        *lines, self._begun = (self._begun + chunk).split(b"\n")
        for line in lines:
            self._lines.put_nowait(line.decode(errors="replace"))
        if chunk:
            return True
        if self._begun:
            self._lines.put_nowait(self._begun.decode(errors="replace"))
        self._lines.put_nowait(None)
        if self._watched:
            asyncio.get_running_loop().remove_reader(STDIN)
            self._watched = False
        return False


class TerminalFace:
    """Draws on a terminal: answers grow above the line that is typed, which stays as it is meanwhile."""

    def __init__(self) -> None:
        size = shutil.get_terminal_size()
        self._drawing = Drawing(columns=size.columns, rows=size.lines)
        self._editor = LineEditor()
        self._lines: Lines = asyncio.Queue()  # bounded by what a person types

    def __enter__(self) -> Lines:
        """Keys come one by one and unechoed from here on; Ctrl-C interrupts as ever."""
        self._before = termios.tcgetattr(STDIN)
        tty.setcbreak(STDIN, termios.TCSANOW)  # what was typed early is kept
        asyncio.get_running_loop().add_reader(STDIN, self._read)
        write(PASTES_MARKED + self._drawing.prompt())
        return self._lines

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The terminal is as it was, the cursor below what was drawn."""
        asyncio.get_running_loop().remove_reader(STDIN)
        termios.tcsetattr(STDIN, termios.TCSANOW, self._before)
        write(f"{PASTES_PLAIN}\n")

    def show(self, message_id: str, text: str, live: bool) -> None:
        """Draw a message as it is now."""
        self._fit()
        write(self._drawing.message(message_id, text, live=live))

    def notice(self, text: str) -> None:
        """Draw it below what was said."""
        self._fit()
        write(self._drawing.notice(text))

    def _fit(self) -> None:
        self._drawing.columns, self._drawing.rows = shutil.get_terminal_size()

    def _read(self) -> None:
        keys = os.read(STDIN, READ_BYTES)
        self._fit()
        for line in self._editor.feed(keys):
            write(self._drawing.type(line, len(line)) + self._drawing.submit())
            self._lines.put_nowait(line)
        write(self._drawing.type(self._editor.text, self._editor.cursor))
        if self._editor.ended or not keys:
            asyncio.get_running_loop().remove_reader(STDIN)
            self._lines.put_nowait(None)


def write(text: str) -> None:
    """Put it on the standard output at once."""
    sys.stdout.write(text)
    sys.stdout.flush()
