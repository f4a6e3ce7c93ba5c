"""Writes what happened on the stage as entries that a screen prints and a picture draws. Pure; prints nothing."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from channels.simulators.shared.person_side import SeenMessage
from channels.simulators.telegram.checks import JsonObject, utf16_length

_MARK = re.compile(
    r"\*\*(?P<bold>.+?)\*\*|`(?P<code>[^`\n]+)`|^#{1,3} (?P<heading>.+)$|\\(?P<literal>[!-/:-@\[-`{-~])"
    r"|(?<!\w)(?P<mark>[*_])(?P<italic>[^*_\n]+)(?P=mark)(?!\w)",
    re.MULTILINE,
)
"""Of the Markdown that Discord and Slack show, what the coach uses: bold, slanted, code, headings, escapes."""

_BLANKS = re.compile(r"[ \t]+")


class Kind(StrEnum):
    """What an entry is."""

    SCENE = "scene"  # a heading
    NOTE = "note"  # the narrator
    COMMAND = "command"  # what the operator types
    OUTPUT = "output"  # what they read
    SAID = "said"  # a person writes
    ANSWER = "answer"  # the bot writes, or finishes what it was writing
    GROWING = "growing"  # a live answer as it stands
    SIGN = "sign"  # a reaction on the person's message `text`, or "typing"


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that somebody saw."""

    kind: Kind
    text: str
    at_s: float = 0.0  # since the story began
    who: str = ""  # in chats: who writes; for SIGN and GROWING the bot
    chat: str = ""  # whose chat it is; "" outside of chats
    entities: tuple[JsonObject, ...] = ()  # as the Bot API gives them, in UTF-16 units of `text`
    sign: str = ""  # the reaction, "" where it was taken away
    new: str = ""  # what a GROWING answer has more than before


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


def one_line(text: str, most: int) -> str:
    """The text without its line breaks; where it is too long, its end."""
    flat = _BLANKS.sub(" ", " ".join(line.strip() for line in text.splitlines() if line.strip()))
    return flat if len(flat) <= most else "... " + flat[-(most - 4) :].partition(" ")[2]


def without_marks(text: str) -> tuple[str, tuple[JsonObject, ...]]:
    """The text without its marks, and its looks as the Bot API would give them."""
    pieces: list[str] = []
    entities: list[JsonObject] = []
    offset = end = 0
    for mark in _MARK.finditer(text):
        pieces.append(text[end : mark.start()])
        offset += utf16_length(pieces[-1])
        kind = mark.lastgroup or ""
        seen = mark[kind] if kind in ("code", "literal") else without_marks(mark[kind])[0]
        if kind != "literal":
            entities.append(
                {"type": "bold" if kind == "heading" else kind, "offset": offset, "length": utf16_length(seen)}
            )
        pieces.append(seen)
        offset += utf16_length(seen)
        end = mark.end()
    return "".join([*pieces, text[end:]]), tuple(entities)


def as_read(message: SeenMessage) -> SeenMessage:
    """A message as an app shows it, its marks turned into looks."""
    if message.entities is not None:
        return message
    text, entities = without_marks(message.text)
    return replace(message, text=text, entities=entities)
