"""A second renderer for the splitter: markup inside the text, counted in characters, as on Discord and Slack."""

from collections.abc import Sequence

from channels.base import Limits, TextUnit
from channels.markdown.layout import Look, lay_out
from channels.markdown.tree import Block, clean
from channels.messages import Rendered

LIMITS = Limits(max_text=2000, unit=TextUnit.CHARS)

_SIGNS = {
    Look.BOLD: ("**", "**"),
    Look.ITALIC: ("*", "*"),
    Look.STRIKE: ("~~", "~~"),
    Look.CODE: ("`", "`"),
    Look.QUOTE: ("<q>", "</q>"),
}


class StarredRenderer:
    """A renderer that writes signs around marks, and a backslash before every sign that is text."""

    def render(self, blocks: Sequence[Block]) -> Rendered:
        laid = lay_out(blocks)
        begins: dict[int, str] = {}
        ends: dict[int, str] = {}
        for start, end, look, detail in sorted(laid.marks, key=lambda mark: (mark.start, -mark.end)):
            opening, closing = _SIGNS.get(look) or (
                ("[", f"]({detail})") if look is Look.LINK else (f"```{detail}\n", "\n```")
            )
            begins[start] = begins.get(start, "") + opening
            ends[end] = closing + ends.get(end, "")
        text = "".join(
            ends.get(at, "") + begins.get(at, "") + self._escaped(char) for at, char in enumerate(laid.text + "\0")
        )
        return Rendered(text.removesuffix("\0").strip())

    def plain(self, text: str) -> Rendered:
        """Return the text with a backslash before every sign."""
        return Rendered("".join(map(self._escaped, clean(text).strip())))

    def _escaped(self, char: str) -> str:
        return "\\" + char if char in "*~`[]<>" else char
