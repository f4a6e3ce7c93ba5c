"""Naming of commands that Slack reserves: `/help` is shown as `/coach help`. Pure.

Slack treats a leading slash as an app's own command, and a manifest declares some; people type the others behind the
talk command. Other text with slashes (paths, URLs, dates, `and/or`) stays unchanged.
"""

import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from channels.base import CommandSpec
from channels.markdown.tree import (
    Block,
    Heading,
    ListBlock,
    ListItem,
    Paragraph,
    Quote,
    Span,
    Spans,
    Style,
    Table,
    text_of,
)

LOOK_BACK = 80
"""Characters searched before a command for the talk command, with blanks between them."""

_OPENS = r"\s(\[{“”\"'‘«¿¡—–>*_"  # allowed right before a command
_CLOSES = r"[.,;:!?…)\]}”\"'’»*_]*(?:\s|$)"  # allowed right behind one


class CommandNames:
    """Names of commands in texts for people."""

    def __init__(self, talk: str = "", own: Collection[str] = (), commands: Sequence[CommandSpec] = ()) -> None:
        """Take the talk command and the commands with a name of their own; by default all have one."""
        behind = {spec.name: spec for spec in commands if spec.name not in own}
        names = "|".join(sorted(map(re.escape, behind), key=len, reverse=True))
        self._talk = talk
        self._without_text = frozenset(
            name for name, spec in behind.items() if all(each.choices for each in spec.options)
        )
        self._is_empty = not behind
        self._whole = re.compile(rf"/({names})(?=\s|\Z)")
        self._in_text = re.compile(rf"(?<![^{_OPENS}])/({names})(?={_CLOSES})")
        self._said = re.compile(rf"/{re.escape(talk)}\s+\Z")

    def in_text(self, text: str) -> str:
        """Return plain text with each command as people type it."""
        if self._is_empty or "/" not in text:
            return text
        return self._replace(text, self._find(text))

    def in_blocks(self, blocks: Sequence[Block]) -> Sequence[Block]:
        """Return a tree with each command as people type it, except in code blocks and links."""
        return blocks if self._is_empty else [self._in_block(block) for block in blocks]

    def in_spans(self, spans: Spans) -> Spans:
        """Return a run of spans with each command as people type it; inline code only if it begins with one."""
        if not any("/" in span.text for span in spans):
            return spans
        written, begin, left = [], 0, deque(self._find(text_of(spans)))
        for span in spans:
            end, inside = begin + len(span.text), []
            while left and left[0].start() < end:
                inside.append(left.popleft())
            written.append(self._in_span(span, begin, [match for match in inside if match.end() <= end]))
            begin = end
        return tuple(written)

    def _in_span(self, span: Span, begin: int, found: Sequence[re.Match[str]]) -> Span:
        if span.link is not None:
            return span
        if span.style & Style.CODE:
            alone = self._whole.match(span.text)
            return span if alone is None else replace(span, text=self._replace(span.text, [alone]))
        return replace(span, text=self._replace(span.text, found, begin)) if found else span

    def _find(self, text: str) -> Iterator[re.Match[str]]:
        found = self._in_text.finditer(text)
        return (
            each for each in found if self._said.search(text[max(0, each.start() - LOOK_BACK) : each.start()]) is None
        )

    def _replace(self, text: str, found: Collection[re.Match[str]] | Iterator[re.Match[str]], begin: int = 0) -> str:
        """Replace the matches in a part of a text that starts at `begin`."""
        pieces, at = [], 0
        for match in found:
            pieces += [text[at : match.start() - begin], self._as_typed(match[1])]
            at = match.end() - begin
        return "".join([*pieces, text[at:]])

    def _as_typed(self, name: str) -> str:
        """Return a command as typed; with its slash, if it takes free text that could be mistaken for talk."""
        return f"/{self._talk} {name}" if name in self._without_text else f"/{self._talk} /{name}"

    def _in_block(self, block: Block) -> Block:
        match block:
            case Paragraph(spans) | Heading(_, spans):
                return replace(block, spans=self.in_spans(spans))
            case ListBlock(items):
                return ListBlock(tuple(map(self._in_item, items)))
            case Quote(inner):
                return Quote(tuple(map(self._in_block, inner)))
            case Table(header, rows):
                return Table(self._in_row(header), tuple(map(self._in_row, rows)))
        return block

    def _in_row(self, cells: tuple[Spans, ...]) -> tuple[Spans, ...]:
        return tuple(map(self.in_spans, cells))

    def _in_item(self, item: ListItem) -> ListItem:
        return replace(item, blocks=tuple(map(self._in_block, item.blocks)))
