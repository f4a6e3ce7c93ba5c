"""Draws the README's picture: scenes of the demo's story as chat bubbles. Pure, but for playing the demo.

`python -m tests.tools.demo_picture .github/demo.svg` plays it as `tenk demo` does, and draws it when it went well.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from channels.simulators.shared.world import JsonObject
from gateway.demo.chat import Entry, Kind
from gateway.demo.main import DemoScreen, main

DRAWN = ((3, 4), (7, 8))
"""The scenes of each column, counted from 1."""

COLUMN, GAP, EDGE = 420.0, 28.0, 24.0  # pixels, as everything here
FONT, LEADING, PAD = 13.0, 18.0, 10.0
BUBBLE, CODE_WIDTH = 330.0, 7.4
LINES_DRAWN = 8
"""A bubble of more lines is drawn without its middle."""

_FONTS = {"": "Helvetica, Arial, sans-serif", "code": "ui-monospace, Menlo, Consolas, monospace"}
_PAGE, _INK, _FAINT, _OURS, _THEIRS, _SHELL = "#dfe7ee", "#17212b", "#5b6b79", "#ffffff", "#e1fbd0", "#1f2933"


@dataclass(frozen=True, slots=True)
class StyledSpan:
    """A piece of a line in one look."""

    text: str
    look: str = ""  # "", "bold", "italic" or "code"


_LOOKS = {"bold": "bold", "italic": "italic", "code": "code", "pre": "code"}


def lines_of(
    text: str, entities: Sequence[JsonObject], width: int, measure: Callable[[str], float] = len
) -> list[list[StyledSpan]]:
    """The text cut into lines no wider than `width` in `measure`, each a row of spans; an empty one is empty."""
    looks = _looks_of(text, entities)
    lines: list[list[StyledSpan]] = []
    start = 0
    for line in text.split("\n"):
        for first, last in _wrap(line, width, measure):
            lines.append(_spans(line, looks[start : start + len(line)], first, last))
        start += len(line) + 1
    return lines


def _looks_of(text: str, entities: Sequence[JsonObject]) -> list[str]:
    """The look of each character."""
    units = [0]
    for character in text:
        units.append(units[-1] + (2 if ord(character) > 0xFFFF else 1))
    looks = [""] * len(text)
    for entity in entities:
        look, offset, length = _LOOKS.get(str(entity.get("type"))), entity.get("offset"), entity.get("length")
        if look is None or not isinstance(offset, int) or not isinstance(length, int):
            continue
        for at in range(len(text)):
            if offset <= units[at] < offset + length:
                looks[at] = look
    return looks


def _wrap(line: str, width: float, measure: Callable[[str], float]) -> Iterator[tuple[int, int]]:
    """(start, end) of each piece of the line, cut between words; a word that is too long stands alone."""
    start = end = 0
    for word in re.finditer(r"\S+", line):
        if end > start and measure(line[start : word.end()]) > width:
            yield start, end
            start = word.start()
        end = word.end()
    yield start, end


def _spans(line: str, looks: Sequence[str], start: int, end: int) -> list[StyledSpan]:
    spans: list[StyledSpan] = []
    for character, look in zip(line[start:end], looks[start:end], strict=True):
        if spans and spans[-1].look == look:
            spans[-1] = StyledSpan(spans[-1].text + character, look)
        else:
            spans.append(StyledSpan(character, look))
    return spans


def _pixels(text: str) -> float:
    """The width as in Helvetica, roughly and rather too wide: viewers have fonts of their own."""
    return sum(_em(character) for character in text) * FONT


def _width(span: StyledSpan) -> float:
    return len(span.text) * CODE_WIDTH if span.look == "code" else _pixels(span.text)


def _em(character: str) -> float:
    if ord(character) > 0x2BFF:
        return 1.5
    if character in " iljtf.,;:'|!()[]/":
        return 0.33
    if character in "mwMW%@—":
        return 0.9
    return 0.7 if character.isupper() else 0.58


@dataclass(slots=True)
class _Column:
    """One column of drawings, from top to bottom."""

    left: float
    y: float = EDGE
    drawn: list[str] = field(default_factory=list)

    def text(self, spans: Sequence[StyledSpan], x: float, y: float, *, colour: str = _INK, size: float = FONT) -> None:
        """One line of text."""
        pieces = "".join(f"<tspan{_style(span.look)}>{escape(span.text)}</tspan>" for span in spans)
        self.drawn.append(f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}" font-size="{size:g}">{pieces}</text>')

    def lines(self, text: str, *, colour: str, look: str = "", size: float = FONT, after: float = 8.0) -> None:
        """Lines of text as wide as the column."""
        for spans in lines_of(text, (), round(COLUMN * 0.92), _pixels):  # these are bold or italic: wider
            self.y += LEADING
            self.text([StyledSpan(span.text, look) for span in spans], self.left, self.y, colour=colour, size=size)
        self.y += after

    def box(
        self, rows: Sequence[Sequence[StyledSpan]], colour: str, *, right: bool, ink: str = _INK, dash: str = ""
    ) -> None:
        """A bubble, on one side of the column."""
        widest = max((sum(_width(span) for span in row) for row in rows), default=0.0)
        width, height = min(widest, COLUMN - 2 * PAD) + 2 * PAD, len(rows) * LEADING + 2 * PAD - 4
        x = self.left + (COLUMN - width if right else 0)
        where = f'x="{x:.0f}" y="{self.y:.0f}" width="{width:.0f}" height="{height:.0f}"'
        self.drawn.append(f'<rect {where} rx="10" fill="{colour}"{dash}/>')
        for number, row in enumerate(rows):
            self.text(row, x + PAD, self.y + PAD + 10 + number * LEADING, colour=ink)
        self.y += height + 6

    def place(self, text: str) -> None:
        """Where what follows was said, in the middle."""
        x = self.left + (COLUMN - _pixels(text) * 0.85) / 2
        self.text([StyledSpan(text)], x, self.y + 10, colour=_FAINT, size=11)
        self.y += 18

    def badge(self, text: str, *, right: bool) -> None:
        """A small note under the last bubble; "" is none."""
        if not text:
            return
        x = self.left + (COLUMN - PAD - _pixels(text) * 0.85 if right else PAD)
        self.text([StyledSpan(text)], x, self.y + 8, colour=_FAINT, size=11)
        self.y += 14


def picture(entries: Sequence[Entry]) -> str:
    """Some of the story's scenes as an SVG, two columns wide."""
    scenes = dict(enumerate(_scenes(entries), 1))
    signs = {entry.text: entry.new for entry in entries if entry.kind is Kind.REACTION}  # as they stand in the end
    columns = (_Column(EDGE), _Column(EDGE + COLUMN + GAP))
    for column, numbers in zip(columns, DRAWN, strict=True):
        for number in numbers:
            _draw(scenes.get(number, []), column, signs)
    width, height = 2 * EDGE + 2 * COLUMN + GAP, max(column.y for column in columns) + EDGE
    body = "\n".join(line for column in columns for line in column.drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="{_FONTS[""]}">\n'
        f'<rect width="100%" height="100%" rx="12" fill="{_PAGE}"/>\n{body}\n</svg>\n'
    )


def _scenes(entries: Iterable[Entry]) -> list[list[Entry]]:
    scenes: list[list[Entry]] = []
    for entry in entries:
        if entry.kind is Kind.SCENE:
            scenes.append([])
        if scenes:
            scenes[-1].append(entry)
    return scenes


def _draw(scene: Sequence[Entry], column: _Column, signs: Mapping[str, str]) -> None:
    """One scene; a live answer becomes one bubble, drawn half-way only where a command ends it."""
    growing: list[Entry] = []
    chat = ""
    for entry in scene:
        if entry.kind is Kind.GROWING:
            growing.append(entry)
        elif entry.kind is Kind.SCENE:
            column.lines(entry.text, colour=_INK, look="bold", after=10)
        elif entry.kind is Kind.NOTE:
            column.lines(entry.text, colour=_FAINT, look="italic")
        elif entry.kind in (Kind.COMMAND, Kind.OUTPUT):
            _draw_command(entry, growing, column)
            growing = []
        elif entry.kind in (Kind.SAID, Kind.ANSWER):
            _draw_message(entry, chat, column, signs.get(entry.text, ""), growing)
            chat, growing = entry.chat, growing if entry.kind is Kind.SAID else []
    column.y += 14


def _draw_message(entry: Entry, chat: str, column: _Column, sign: str, growing: Sequence[Entry]) -> None:
    """What somebody writes, and where it is said when that was another `chat` before."""
    if entry.chat != chat:
        column.place(entry.chat)
    mine = entry.kind is Kind.SAID
    _bubble(entry, column)
    grew = f"grew while it was written, {len(growing)} edits" if growing else ""
    column.badge(sign if mine else grew, right=mine)


def _draw_command(entry: Entry, growing: Sequence[Entry], column: _Column) -> None:
    """What the operator types or reads, under the answer that was being written then."""
    if growing:
        _bubble(growing[-1], column, dash=f' stroke="{_FAINT}" stroke-dasharray="4 3"')
    lead = "$ " if entry.kind is Kind.COMMAND else ""
    column.box([[StyledSpan(lead + entry.text, "code")]], _SHELL, right=False, ink="#e4e7eb")


def _bubble(entry: Entry, column: _Column, dash: str = "") -> None:
    rows = lines_of(entry.text, entry.entities, round(BUBBLE - 2 * PAD), _pixels)
    if len(rows) > LINES_DRAWN:
        rows = [*rows[: LINES_DRAWN - 4], [StyledSpan("…")], *rows[-3:]]
    mine = entry.kind is Kind.SAID
    column.box(rows, _THEIRS if mine else _OURS, right=mine, dash=dash)


def _style(look: str) -> str:
    styles = {
        "bold": ' font-weight="bold"',
        "italic": ' font-style="italic"',
        "code": f' font-family="{_FONTS["code"]}" font-size="12"',
    }
    return styles.get(look, "")


if __name__ == "__main__":
    screen = DemoScreen(sys.stdout)
    status = main(screen)
    if status == 0:
        Path(sys.argv[1]).write_text(picture(screen.entries), encoding="utf-8")
    sys.exit(status)
