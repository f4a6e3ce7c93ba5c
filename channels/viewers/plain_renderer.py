"""Blocks of the Markdown tree become plain text, as terminals and programs take it. Pure."""

from collections.abc import Sequence

from channels.markdown.layout import plain_text
from channels.markdown.tree import Block, clean
from channels.messages import Rendered


class PlainRenderer:
    """The Renderer of `channels.base` for plain text. Has no state; one serves everybody."""

    def render(self, blocks: Sequence[Block]) -> Rendered:
        """The blocks laid out as text; no control character is in it but tabs and newlines (A67)."""
        return Rendered(plain_text(blocks))

    def plain(self, text: str) -> Rendered:
        """The text as it is, without what no message can hold and without blanks around it."""
        return Rendered(clean(text).strip())
