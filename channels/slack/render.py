"""The Renderer of Slack: `Rendered.markup` names the dialect its text is in; None is plain text, not yet escaped.

Pure. Whatever a text says, nothing in it pings (A63): brackets are escaped, and in code, where they cannot be, broken.
"""

from collections.abc import Sequence

from channels.markdown.tree import Block, clean
from channels.messages import Rendered
from channels.slack.dialects import DIALECTS

MARKDOWN = "markdown"
MRKDWN = "mrkdwn"


class SlackRenderer:
    """The Renderer of `channels.base` for Slack, in one of its two dialects. Has no state."""

    def __init__(self, dialect: str = MARKDOWN) -> None:
        """`dialect` is MARKDOWN or MRKDWN."""
        self._dialect = dialect
        self._writer = DIALECTS[dialect]()

    def render(self, blocks: Sequence[Block]) -> Rendered:
        """The blocks as one text in the dialect."""
        return Rendered(self._writer.blocks(blocks).strip("\n"), self._dialect)

    def plain(self, text: str) -> Rendered:
        """The text as it is; it is escaped when it is sent."""
        return Rendered(clean(text).strip())
