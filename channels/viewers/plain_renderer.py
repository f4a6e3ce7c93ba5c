"""The renderer of plain text for terminals and programs; pure."""

from collections.abc import Sequence

from channels.markdown.layout import plain_text
from channels.markdown.tree import Block, clean
from channels.messages import Rendered


class PlainRenderer:
    """A stateless `Renderer` of `channels.base` for plain text."""

    def render(self, blocks: Sequence[Block]) -> Rendered:
        """Return the blocks as plain text; its only control characters are tabs and newlines (A67)."""
        return Rendered(plain_text(blocks))

    def plain(self, text: str) -> Rendered:
        """Return the cleaned text without surrounding white space."""
        return Rendered(clean(text).strip())
