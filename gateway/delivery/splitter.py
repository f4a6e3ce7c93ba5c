"""Splitting of an answer into parts, each within a platform's limit after rendering, together the whole answer.

Pure and the same for all platforms: the channel's `Renderer` renders, its `Limits` measure.
"""

import re
from dataclasses import dataclass, replace

from channels.base import Limits, Renderer, TextUnit
from channels.markdown.layout import plain_text
from channels.markdown.parse import parse_placed
from channels.markdown.tree import Heading, Paragraph, Span, Style, clean, text_of
from channels.messages import Rendered
from gateway.delivery.block_splitter import SPARE, Blocks, Cut, Room, hard_cut, take, weight
from gateway.texts import HARNESS

MAX_PARTS = 50  # of one answer; text beyond is left out, and the last part says so
ORPHAN = 40  # a shorter last part takes over some of the part before it
LEAST_LIMIT = 100  # room for the notice and for the rendering around a few words

_SHARES = (0.6, 0.75, 0.9, 0.45)  # of the last two parts' text, for the first of them, in the order tried
_VISIBLE = re.compile(  # not a blank, and not an invisible character
    "[^\\s\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0]"
)


@dataclass(frozen=True, slots=True)
class SplitPart:
    """One part: the rendered text, and the plain text to send if the platform refuses it."""

    rendered: Rendered
    plain: str  # `Renderer.plain` of it is within the limit, too
    next_at: int | None = None  # where the next part begins in the clean text; None: inside a block, or last


def split(
    text: str,
    renderer: Renderer,
    limits: Limits,
    *,
    reserve: int = 0,
    most: int = MAX_PARTS,
    locale: str | None = None,
) -> tuple[SplitPart, ...]:
    """Return the parts of a Markdown answer, in order; () if nothing in it is visible.

    `reserve`: room in the platform's unit left free in every part. If there are more than `most` parts, the last one
    says in the reader's language how much is missing.

    Raises:
        ValueError: the limit leaves less than 100 units a part.
    """
    page = _Page(renderer, limits.unit, limits.max_text - reserve, locale)
    if page.limit < LEAST_LIMIT:
        raise ValueError(f"a part needs room for {LEAST_LIMIT} units, not {page.limit}")
    read, left_out = _readable(text, most * limits.max_text)
    placed = parse_placed(read)
    blocks = tuple([block for _, block in placed])
    whole = None if left_out else page.whole(blocks)
    if whole is None and not _shows(blocks):
        if not _VISIBLE.search(clean(read)):
            return ()
        blocks = (Paragraph((Span(clean(read).strip()),)),)  # syntax alone, like an empty fence: shown as written
        placed = []
        whole = None if left_out else page.whole(blocks)
    if whole is not None:
        return (whole,)
    begins = {id(block): at for at, block in placed}
    packed = _pack(blocks, left_out, page, most)
    parts = [replace(page.part(head), next_at=begins.get(id(rest[0])) if rest else None) for head, rest in packed]
    return tuple([part for part in parts if _VISIBLE.search(part.plain)])


def _shows(blocks: Blocks) -> bool:
    """Return True if any of the blocks is visible."""
    return any(
        _VISIBLE.search(text_of(block.spans) if isinstance(block, Paragraph | Heading) else plain_text((block,)))
        for block in blocks
    )


def _readable(text: str, most: int) -> tuple[str, int]:
    """Return the text that can fit at all, up to a line's end if one is near, and the number of characters left out."""
    if len(text) <= most:
        return text, 0
    end = text.rfind("\n", most - most // 50, most)
    kept = text[: end if end > 0 else most]
    return kept, len(text) - len(kept)


@dataclass(frozen=True, slots=True)
class _Page:
    """Rendering and limit of a part on this platform."""

    renderer: Renderer
    unit: TextUnit
    limit: int
    locale: str | None

    def part(self, blocks: Blocks) -> SplitPart:
        rendered = self.renderer.render(blocks)
        return SplitPart(rendered, plain_text(blocks))

    def whole(self, blocks: Blocks) -> SplitPart | None:
        """Return the text as one part; None if it is too long or nothing is visible."""
        if sum([weight(block, self.limit) for block in blocks]) > SPARE * self.limit:
            return None
        part = self.part(blocks)
        return part if _VISIBLE.search(part.plain) and self.length(part) <= self.limit else None

    def length(self, part: SplitPart) -> int:
        plain = self.renderer.plain(part.plain).text
        return max(self.unit.measure(part.rendered.text), self.unit.measure(plain))

    def size(self, blocks: Blocks) -> int:
        return self.length(self.part(blocks)) if blocks else 0

    def notice(self, left_out: int) -> Paragraph:
        """Return the notice about missing text."""
        count = f"{left_out:,}".replace(",", HARNESS.text(self.locale, "delivery.thousands"))
        return Paragraph((Span(HARNESS.text(self.locale, "delivery.left_out", count=count), Style.ITALIC),))

    def room(self, limit: int, behind: Blocks = ()) -> Room:
        """Return the room of a fresh part that ends with `behind`."""
        return Room(limit, lambda blocks: self.size((*blocks, *behind)), self.size)


def _pack(blocks: Blocks, left_out: int, page: _Page, most: int) -> list[Cut]:
    """Return the blocks of each part with the blocks after it; the last part says how much was left out."""
    rest = (*blocks, page.notice(left_out)) if left_out else blocks
    packed: list[Cut] = []
    before: Blocks = ()  # blocks left before the last part but one
    now: Blocks = ()
    while rest:
        if len(packed) == most - 1 and page.size(rest) > page.limit:
            packed.append((_cut_short(rest, left_out, page), ()))
            return packed
        before, now = now, rest
        head, rest = _take(rest, page.room(page.limit))
        packed.append((head, rest))
    if len(packed) > 1 and page.size(packed[-1][0]) < ORPHAN:
        packed[-2:] = _balance(before, packed[-2:], page)
    return packed


def _take(blocks: Blocks, room: Room) -> Cut:
    """Call `take`, but return at least a piece."""
    head, rest = take(blocks, room)
    if head:
        return head, rest
    head, left = hard_cut(blocks[0], room)
    return head, (*left, *blocks[1:])


def _balance(blocks: Blocks, last_two: list[Cut], page: _Page) -> list[Cut]:
    """Split the last two parts anew so that the last is more than a few characters, if possible."""
    total = sum(page.size(head) for head, _ in last_two)
    for share in _SHARES:
        head, rest = take(blocks, page.room(int(total * share)))
        if head and min(page.size(head), page.size(rest)) >= ORPHAN and page.size(rest) <= page.limit:
            return [(head, rest), (rest, ())]
    return last_two


def _cut_short(blocks: Blocks, left_out: int, page: _Page) -> Blocks:
    """Return the last part that is allowed: the blocks that fit, and the notice."""
    if left_out:
        blocks = blocks[:-1]  # the earlier notice
    notice = page.notice(left_out + len(plain_text(blocks)))
    head, rest = _take(blocks, page.room(page.limit, behind=(notice,)))
    return (*head, page.notice(left_out + len(plain_text(rest))))
