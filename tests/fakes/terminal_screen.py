"""A terminal as far as prompt_toolkit draws on it: rows of characters that it moves over, erases and overwrites."""

import io
import re
from collections.abc import Callable

_TOKEN = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b\][^\x07]*\x07|\x1b.|[\s\S]")


class TerminalScreen(io.StringIO):
    """A file that shows what was written to it; all rows stay, those that scrolled away too."""

    def __init__(self, answer: Callable[[str], None]) -> None:
        """`answer` sends what the terminal is asked, as if it was typed."""
        super().__init__()
        self._answer = answer
        self._rows: list[list[str]] = [[]]
        self._row = self._column = 0

    @property
    def shown(self) -> str:
        """Return the text of all rows."""
        return "\n".join("".join(row).rstrip() for row in self._rows)

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        """Draw."""
        for found in _TOKEN.finditer(text):
            if found[2]:
                self._control(found[1], found[2])
            elif found[0] == "\r":
                self._column = 0
            elif found[0] == "\n":
                self._go_to(self._row + 1)
            elif found[0] == "\b":
                self._column = max(0, self._column - 1)
            elif found[0] >= " ":
                self._put(found[0])
        return len(text)

    def _control(self, given: str, name: str) -> None:
        count = int(given) if given.isdigit() else 1
        row = self._rows[self._row]
        match name:
            case "A":
                self._go_to(max(0, self._row - count))
            case "B":
                self._go_to(self._row + count)
            case "C":
                self._column += count
            case "D":
                self._column = max(0, self._column - count)
            case "n":  # where is the cursor?
                self._answer(f"\x1b[1;{self._column + 1}R")
            case "K":
                del row[self._column :]
            case "J":
                del row[self._column :], self._rows[self._row + 1 :]

    def _go_to(self, row: int) -> None:
        self._row = row
        while len(self._rows) <= row:
            self._rows.append([])

    def _put(self, char: str) -> None:
        row = self._rows[self._row]
        row += " " * (self._column + 1 - len(row))
        row[self._column] = char
        self._column += 1
