"""Tools by which a model searches its memories and earlier conversations with the person."""

from collections.abc import Mapping
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from agent.ports import Principal
from agent.tools.base import Effect, Tool, ToolContext, ToolError, tool, tools_of

MAX_QUERY_CHARS = 500
MAX_HITS = 20


class SearchQuery(BaseModel):
    """Arguments of `memory_search`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    query: str = Field(
        min_length=1,
        max_length=MAX_QUERY_CHARS,
        description="Words to look for. Case, accents and endings are ignored.",
    )
    limit: int = Field(8, ge=1, le=MAX_HITS, description="The most hits to return.")


class HitHandle(BaseModel):
    """Arguments of `memory_expand`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    handle: str = Field(min_length=1, max_length=100, description="Handle of a hit of `memory_search`.")


class PastSearch(Protocol):
    """The memories and earlier direct conversations of a person."""

    async def search(self, principal: Principal, query: str, limit: int) -> Mapping[str, object]:
        """Return the hits for these words, the best first."""
        ...

    async def expand(self, principal: Principal, handle: str) -> Mapping[str, object]:
        """Return the words around a hit.

        Raises:
            ToolError: there is no such hit.
        """
        ...


class SearchTools:
    """The tools of one tenant; their results may repeat words of others that were in a conversation."""

    def __init__(self, past: PastSearch) -> None:
        self._past = past

    def _check(self, context: ToolContext, _arguments: object) -> None:
        if context.principal.in_group:
            raise ToolError("In a group nothing is searched: ask the person to write to you in a direct chat.")

    @tool(SearchQuery, effect=Effect.NONE, concurrency_safe=True, says="tool.memory_search", validate=_check)
    async def memory_search(self, context: ToolContext, arguments: SearchQuery) -> Mapping[str, object]:
        """Search your memories of this person and your earlier direct conversations with them. Use it if they refer to
        something that was said before and that you do not see. Returns short hits, each with a handle, its date and its
        conversation.
        """
        return await self._past.search(context.principal, arguments.query, arguments.limit)

    @tool(HitHandle, effect=Effect.NONE, concurrency_safe=True, says="tool.memory_expand", validate=_check)
    async def memory_expand(self, context: ToolContext, arguments: HitHandle) -> Mapping[str, object]:
        """Read the words around a hit of `memory_search`: the messages before and after it, or the whole memory."""
        return await self._past.expand(context.principal, arguments.handle)


def search_tools(past: PastSearch) -> tuple[Tool, ...]:
    """Return the tools."""
    return tools_of(SearchTools(past))
