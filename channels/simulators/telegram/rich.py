"""The rich messages that Telegram takes, their text, and how the Bot API writes them back. Pure.

Source: core.telegram.org/bots/api#inputrichmessage (10.3). Simulated: blocks of text, lists, quotes, tables, dividers.
Not simulated: HTML and Markdown sources, media blocks, formulas.
"""

from collections.abc import Sequence

from pydantic import JsonValue

from channels.simulators.shared.world import JsonObject
from channels.simulators.telegram.checks import Refusal, utf16_length

MAX_TEXT_UTF16 = 32_768
MAX_BLOCKS = 500  # with list items and table rows
MAX_DEPTH = 16
MAX_COLUMNS = 20
_STYLES = frozenset(
    {"bold", "italic", "underline", "strikethrough", "spoiler", "code", "subscript", "superscript", "marked", "url"}
)


class _Reader:
    """Walks blocks, counting."""

    def __init__(self) -> None:
        self.count = 0
        self.lines: list[str] = []

    def blocks(self, raw: JsonValue, depth: int) -> None:
        for block in _as_objects(raw):
            self._block(block, depth)

    def _block(self, block: JsonObject, depth: int) -> None:
        self._count(1, depth)
        match block.get("type"):
            case "paragraph" | "heading" | "pre" | "footer":
                self.lines.append(self._text(block.get("text"), depth + 1))
                if block["type"] == "heading" and block.get("size") not in range(1, 7):
                    raise _refusal("heading size must be from 1 to 6")
            case "divider":
                self.lines.append("──────────")
            case "list":
                self._items(_as_objects(block.get("items")), depth)
            case "blockquote":
                self.blocks(block.get("blocks"), depth + 1)
            case "table":
                self._table(block.get("cells"), depth)
            case other:
                raise _refusal(f"unsupported block type {other!r}")

    def _items(self, items: Sequence[JsonObject], depth: int) -> None:
        for item in items:
            self._count(1, depth + 1)
            before = len(self.lines)
            self.blocks(item.get("blocks"), depth + 2)
            if len(self.lines) > before:
                self.lines[before] = f"{_label(item)} {self.lines[before]}"

    def _table(self, rows: JsonValue, depth: int) -> None:
        if not isinstance(rows, list) or not rows:
            raise _refusal("a table needs cells")
        for row in rows:
            self._count(1, depth + 1)
            cells = _as_objects(row)
            if len(cells) > MAX_COLUMNS:
                raise _refusal("too many columns")
            for cell in cells:
                if cell.get("align") not in {"left", "center", "right"}:
                    raise _refusal("a cell needs align")
                if cell.get("valign") not in {"top", "middle", "bottom"}:
                    raise _refusal("a cell needs valign")
            self.lines.append(" | ".join(self._text(cell.get("text"), depth + 2) for cell in cells))

    def _text(self, raw: JsonValue, depth: int) -> str:
        self._count(0, depth)
        if isinstance(raw, str):
            return raw
        if isinstance(raw, list):
            return "".join(self._text(piece, depth) for piece in raw)
        if not isinstance(raw, dict) or raw.get("type") not in _STYLES:
            raise _refusal("unsupported rich text")
        if raw["type"] == "url" and not isinstance(raw.get("url"), str):
            raise _refusal("a link needs a URL")
        return self._text(raw.get("text"), depth + 1)

    def _count(self, blocks: int, depth: int) -> None:
        self.count += blocks
        if self.count > MAX_BLOCKS:
            raise _refusal("too many blocks")
        if depth > MAX_DEPTH:
            raise _refusal("blocks are nested too deep")


def check_rich_message(message: JsonObject, *, empty: bool = False) -> tuple[str, tuple[JsonObject, ...]]:
    """Return the text of an InputRichMessage, and its blocks.

    Raises:
        Refusal: Telegram would answer 400.
    """
    sources = [name for name in ("blocks", "html", "markdown") if message.get(name) is not None]
    if sources != ["blocks"]:
        raise _refusal("exactly one source is needed (the simulator takes blocks only)")
    reader = _Reader()
    reader.blocks(message["blocks"], 1)
    text = "\n".join(reader.lines).strip()
    if not text and not empty:
        raise Refusal(400, "Bad Request: rich message is empty")
    if utf16_length(text) > MAX_TEXT_UTF16:
        raise Refusal(400, "Bad Request: rich message is too long")
    return text, tuple(_as_objects(message["blocks"]))


def as_rich_message(blocks: Sequence[JsonObject]) -> JsonObject:
    """Return the Bot API's RichMessage: blocks as they came, list items with their labels."""
    return {"blocks": [_as_answered_block(block) for block in blocks]}


def _as_answered_block(block: JsonObject) -> JsonValue:
    if block["type"] == "list":
        items: list[JsonValue] = [
            item
            | {
                "label": _label(item),
                "blocks": [_as_answered_block(inner) for inner in _as_objects(item.get("blocks"))],
            }
            for item in _as_objects(block["items"])
        ]
        return block | {"items": items}
    if block["type"] == "blockquote":
        return block | {"blocks": [_as_answered_block(inner) for inner in _as_objects(block["blocks"])]}
    return block


def _label(item: JsonObject) -> str:
    return "•" if item.get("value") is None else f"{item['value']}."


def _as_objects(raw: JsonValue) -> list[JsonObject]:
    if not isinstance(raw, list) or not all(isinstance(inner, dict) for inner in raw):
        raise _refusal("an Array of Object is expected")
    return [inner for inner in raw if isinstance(inner, dict)]


def _refusal(why: str) -> Refusal:
    return Refusal(400, f"Bad Request: can't parse rich message: {why}")
