"""What a conversation takes of its tools' results has a budget; what is beyond is kept whole and read on by a handle.

The whole stands in the journal, durable with its call; what is shown of it is `results`' matter.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from agent.tools.base import Effect, Tool, ToolContext, ToolError
from agent.tools.results import fit_result
from agent.transcript import Item, ToolItem

READ_RESULT = "read_result"

LEAST_CHARS = 2000
"""So much of a result is shown however little is left."""

PAGE_CHARS = 20_000
"""What is read on at once, at most."""

FRAME_CHARS = 200
"""Room for what stands around a page."""

CHARS_PER_TOKEN = 3.5
"""An estimate for mixed English, Spanish and JSON."""


@dataclass(slots=True)
class ResultBudget:
    """What is left for the results of one conversation."""

    left_chars: float = 400_000

    @classmethod
    def of(cls, items: Iterable[Item], max_chars: int, window_tokens: int) -> "ResultBudget":
        """What these items leave of `max_chars`, or of half the window where that is less."""
        used = sum(len(item.content) for item in items if isinstance(item, ToolItem))
        return cls(min(max_chars, window_tokens * CHARS_PER_TOKEN / 2) - used)

    def room_chars(self, tool: Tool) -> int:
        """What the next result of this tool may take."""
        return min(tool.max_result_chars, max(LEAST_CHARS, int(self.left_chars)))

    def fit(self, tool: Tool, handle: str, content: str) -> str:
        """The result as it is, or as much of it as there is room for; it is taken off what is left."""
        shown = fit_result(content, self.room_chars(tool), handle)
        self.left_chars -= len(shown)
        return shown


class ResultPage(BaseModel):
    """Arguments of `read_result`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    handle: str = Field(max_length=200)
    offset: int = Field(0, ge=0, description="Where to go on: next_offset of what was read.")


async def _read_on(context: ToolContext, page: ResultPage) -> object:
    whole = await context.whole_result(page.handle)
    if whole is None:
        raise ToolError("There is no such result in this conversation any more: call its tool again.")
    if page.offset >= len(whole):
        raise ToolError(f"The result ends at {len(whole)}.")
    text = page_of(whole, page.offset, context.max_result_chars - FRAME_CHARS)
    end = page.offset + len(text)
    return {"text": text, "next_offset": end if end < len(whole) else None, "of": len(whole)}


def page_of(whole: str, offset: int, room_chars: int) -> str:
    """As much from there on as fits, with what must be escaped in it."""
    text = whole[offset : offset + min(PAGE_CHARS, room_chars)]
    while len(text) > 1 and (written := len(json.dumps(text, ensure_ascii=False))) > room_chars:
        text = text[: max(1, len(text) * room_chars // (written + 1))]
    return text


READ_RESULT_TOOL = Tool(
    name=READ_RESULT,
    description="Read on in a result that was too long.",
    arguments=ResultPage,
    run=_read_on,
    effect=Effect.NONE,
    concurrency_safe=True,
    should_defer=True,  # told of once a result has a handle
)
