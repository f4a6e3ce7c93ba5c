"""The line that a person types: what each key does to it. Pure; `drawing` decides what stands on the screen."""

import codecs
import re

ENTER, DELETED, LITERAL_BREAK = ("\r", "\n"), ("\x7f", "\x08"), "\n"
END_OF_INPUT = "\x04"

_KEYS = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Za-z]|\x1b.|[\x00-\x1a\x1c-\x1f\x7f]|[^\x00-\x1f\x7f]+", re.DOTALL)
_BEGUN = re.compile(r"\x1b(?:\[[0-9;]{0,8}|O)?\Z")
_LEFT, _RIGHT = ("\x1b[D", "\x1bOD", "\x02"), ("\x1b[C", "\x1bOC", "\x06")
_HOME, _END = ("\x1b[H", "\x1bOH", "\x1b[1~", "\x01"), ("\x1b[F", "\x1bOF", "\x1b[4~", "\x05")
_UP, _DOWN = ("\x1b[A", "\x1bOA", "\x10"), ("\x1b[B", "\x1bOB", "\x0e")
_PASTE_BEGINS, _PASTE_ENDS = "\x1b[200~", "\x1b[201~"

PASTES_MARKED, PASTES_PLAIN = "\x1b[?2004h", "\x1b[?2004l"
"""Ask the terminal to say where a paste begins and ends, and no more: its lines are one message."""


class LineEditor:
    """One line, with the place of the cursor in it, and those that were said before."""

    def __init__(self) -> None:
        self.text = ""
        self.cursor = 0  # characters before it
        self.ended = False  # Ctrl-D on an empty line
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._begun = ""  # of a key whose rest is still to come
        self._pasting = False
        self._said: list[str] = []
        self._place = 0  # in `_said`; its length: the line that is being typed
        self._typed = ""  # that line, while another is looked at

    def feed(self, keys: bytes) -> list[str]:
        """Take what was typed; the lines that are complete by it, in order."""
        text = self._begun + self._decode(keys)
        begun = _BEGUN.search(text)
        self._begun = begun[0] if begun is not None else ""  # a lone escape is the beginning of Alt and a key
        lines = []
        for key in _KEYS.findall(text.removesuffix(self._begun) if self._begun else text):
            if key in ENTER and not self._pasting:
                lines.append(self._take())
            else:
                self._press(key)
        return lines

    def _take(self) -> str:
        line, self.text, self.cursor = self.text, "", 0
        if line.strip() and (not self._said or self._said[-1] != line):
            self._said.append(line)
        self._place, self._typed = len(self._said), ""
        return line

    def _press(self, key: str) -> None:
        if key in (_PASTE_BEGINS, _PASTE_ENDS):
            self._pasting = key == _PASTE_BEGINS
        elif key in ENTER:
            self._insert(LITERAL_BREAK)
        elif key == "\t" or (key[0] >= " " and key not in DELETED):
            self._insert(key)
        elif key in _UP + _DOWN:
            self._look_back(-1 if key in _UP else 1)
        else:
            self._edit(key)

    def _insert(self, text: str) -> None:
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)

    def _edit(self, key: str) -> None:
        before, after = self.text[: self.cursor], self.text[self.cursor :]
        if key in DELETED:
            self._set(before[:-1], after)
        elif key == "\x17":  # Ctrl-W: the word before it
            self._set(re.sub(r"\S{0,10000}\s{0,10000}\Z", "", before, count=1), after)
        elif key == "\x15":  # Ctrl-U: all before it
            self._set("", after)
        elif key == "\x0b":  # Ctrl-K: all behind it
            self._set(before, "")
        elif key == "\x1b[3~" or (key == END_OF_INPUT and self.text):
            self._set(before, after[1:])
        elif key == END_OF_INPUT:
            self.ended = True
        else:
            self._move(key)

    def _move(self, key: str) -> None:
        if key in _LEFT:
            self.cursor = max(0, self.cursor - 1)
        elif key in _RIGHT:
            self.cursor = min(len(self.text), self.cursor + 1)
        elif key in _HOME:
            self.cursor = 0
        elif key in _END:
            self.cursor = len(self.text)

    def _set(self, before: str, after: str) -> None:
        self.text, self.cursor = before + after, len(before)

    def _look_back(self, step: int) -> None:
        if self._place == len(self._said):
            self._typed = self.text
        self._place = min(max(0, self._place + step), len(self._said))
        self._set(self._typed if self._place == len(self._said) else self._said[self._place], "")
