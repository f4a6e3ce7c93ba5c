"""The tools of an agent by name, their selection for a model, and the error for an unknown tool.

A deferred tool is listed by name and description in `tool_search` until the conversation has searched for it; the
transcript records this, so that a restart changes nothing. `read_result` reads the rest of a long result.
"""

import difflib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from pydantic import BaseModel, ConfigDict, Field

from agent.ports import ToolSpec
from agent.tools.base import Effect, Tool, ToolContext, ToolError, TurnGrant
from agent.tools.results import HANDLE_MARK, fit_result
from agent.transcript import CallOutcome, Item, JournalEvent, ToolIntended, ToolItem, ToolReturned, UserItem
from agent.wellformed import read_object

READ_RESULT = "read_result"

LEAST_CHARS = 2000
"""Minimum characters shown of a result."""

PAGE_CHARS = 20_000
"""Maximum characters of one page of a long result."""

FRAME_CHARS = 200
"""Characters reserved for the JSON around a page."""

CHARS_PER_TOKEN = 3.5
"""Estimate for mixed English, Spanish and JSON."""


@dataclass(slots=True)
class ResultBudget:
    """The characters left for the results of one conversation."""

    left_chars: float = 400_000

    @classmethod
    def of(cls, items: Iterable[Item], max_chars: int, window_tokens: int) -> "ResultBudget":
        """Return the budget that these items leave of `max_chars`, or of half the window if that is less."""
        used = sum([len(result.content) for result in _results_in(items)])
        return cls(min(max_chars, window_tokens * CHARS_PER_TOKEN / 2) - used)

    def room_chars(self, tool: Tool) -> int:
        """Return the characters that the next result of this tool may have."""
        return min(tool.max_result_chars, max(LEAST_CHARS, int(self.left_chars)))

    def fit(self, tool: Tool, handle: str, content: str) -> str:
        """Cut the result to the budget, and subtract it."""
        shown = fit_result(content, self.room_chars(tool), handle)
        self.left_chars -= len(shown)
        return shown


class ResultPage(BaseModel):
    """The arguments of `read_result`."""

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
    """Return the part from this offset that fits after escaping."""
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
    should_defer=True,  # offered once a result has a handle
)


NO_GRANT = TurnGrant()

TOOL_SEARCH = "tool_search"

MOST_FOUND = 5
"""Maximum tools that one search by words loads; a search by name loads all that it names."""

_WORDS = re.compile(r"\w+")
_NAMED = re.compile(r"(?:There are|;) (\w+): ")


MAX_LISTED_CHARS = 20_000
"""Maximum characters for the list of tools that can be searched for; it is part of each request."""

MAX_LISTED_DESCRIPTION_CHARS = 200
"""Maximum characters of one description in that list."""


class ToolQuery(BaseModel):
    """The arguments of `tool_search`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    query: str = Field(description="Names, or words of what it should do.", max_length=500)


def tool_pool(own: Iterable[Tool], installed: Iterable[Tool]) -> tuple[tuple[Tool, ...], tuple[str, ...]]:
    """Return an agent's tools, its own first and each part by name, and the names of installed tools left out.

    An installed tool never replaces another of the same name.
    """
    pool: list[Tool] = []
    left_out: list[Tool] = []
    taken = {READ_RESULT, TOOL_SEARCH}
    for part in (own, installed):
        for tool in sorted(part, key=lambda tool: tool.name):
            (left_out if tool.name in taken else pool).append(tool)
            taken.add(tool.name)
        taken.update(alias for tool in pool for alias in tool.aliases)
    return tuple(pool), tuple(tool.name for tool in left_out)


class ToolBox:
    """The enabled tools by name; an alias stands for its tool unless another tool has that name.

    They are always listed in the same order, so that a provider can cache them.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        enabled = [tool for tool in tools if tool.is_enabled()]
        self._sought = tuple(tool for tool in enabled if tool.should_defer)
        own = [READ_RESULT_TOOL, *([self._search_tool()] if self._sought else [])]
        by_alias = {alias: tool for tool in reversed(enabled) for alias in tool.aliases}
        self._by_name = {tool.name: tool for tool in own} | by_alias | {tool.name: tool for tool in enabled}
        self._grants = any(tool.grants is not None for tool in enabled)
        self._deferred = {name for name, tool in self._by_name.items() if tool.should_defer}
        self.specs = tuple(tool.spec for tool in (*enabled, *own) if not tool.should_defer)
        self.specs_with = cache(self._specs_with)

    def find(self, name: str) -> Tool | None:
        """Return the tool with exactly this name or alias, deferred or not."""
        return self._by_name.get(name)

    def holds_others(self, items: Iterable[Item]) -> bool:
        """Return True if some words in these items are neither the person's nor the operator's nor ours: quotes, files,
        messages of others, and results of tools that do not declare otherwise.
        """
        return any(self._is_of_others(item) for item in items)

    def _is_of_others(self, item: Item) -> bool:
        match item:
            case UserItem():
                return bool(item.data or item.pictures) or not item.own
            case ToolItem():
                tool = self.find(item.name)
                return tool is None or not tool.own_words
            case _:
                return False

    def may_have_changed(self, journal: Iterable[JournalEvent]) -> bool:
        """Return True if a call that ran, or was about to, may have changed anything; an unknown tool may have."""
        calls = (event for event in journal if isinstance(event, ToolIntended | ToolReturned))
        never_ran = CallOutcome.FAILED, CallOutcome.SKIPPED, CallOutcome.DENIED, CallOutcome.EXPIRED
        ran = {call.name for call in calls if isinstance(call, ToolIntended) or call.outcome not in never_ran}
        return any((tool := self.find(name)) is None or tool.effect is not Effect.NONE for name in ran)

    def grant_of(self, journal: Iterable[JournalEvent]) -> TurnGrant:
        """Return what the results of these events change for the rest of their turn: all rules, the last model."""
        if not self._grants:
            return NO_GRANT
        done = (event for event in journal if isinstance(event, ToolReturned) and event.outcome is CallOutcome.DONE)
        grants = [grant for event in done if (grant := self._grant_by(event)) is not None]
        models = [grant.model for grant in grants if grant.model is not None]
        return TurnGrant(tuple(rule for grant in grants for rule in grant.rules), models[-1] if models else None)

    def _grant_by(self, returned: ToolReturned) -> TurnGrant | None:
        tool = self.find(returned.name)
        if tool is None or tool.grants is None:
            return None
        data = (read_object(returned.content) or {}).get("data")
        return tool.grants(data) if isinstance(data, dict) else None

    def missing(self, name: str) -> str:
        """Return the error for a model that called an unknown tool."""
        known = sorted({tool.name for tool in self._by_name.values()} - {READ_RESULT})
        near = difflib.get_close_matches(name.lower()[:100], known, n=1, cutoff=0.6)
        listed = f"Known tools: {', '.join(known)[:500]}." if known else "You have no tools."
        hint = f" Did you mean {near[0]}?" if near else f" {listed}"
        return f"There is no tool named {name[:100]!r}.{hint}"

    def names_loaded(self, items: Iterable[Item]) -> frozenset[str]:
        """Return the deferred tools that this transcript has searched for, called or needs; they are offered from then
        on.
        """
        names: set[str] = set()
        for result in _results_in(items):
            names.add(result.name)
            if result.name == TOOL_SEARCH:
                names.update(_names_in(result.content))
            elif HANDLE_MARK in result.content[:40]:
                names.add(READ_RESULT)
        return frozenset(names & self._deferred)

    def _specs_with(self, loaded: frozenset[str]) -> tuple[ToolSpec, ...]:
        """Return the specs followed by those of these deferred tools."""
        wanted = {self._by_name[name].name: self._by_name[name] for name in loaded}
        return (*self.specs, *(wanted[name].spec for name in sorted(wanted)))

    def _search_tool(self) -> Tool:
        return Tool(
            name=TOOL_SEARCH,
            description=f"Load more tools before you call them. There are {_list_deferred(self._sought)}",
            arguments=ToolQuery,
            run=self._search,
            effect=Effect.NONE,
            concurrency_safe=True,
        )

    async def _search(self, _context: ToolContext, asked: ToolQuery) -> object:
        names = self.find_deferred(asked.query)
        if not names:
            raise ToolError("No such tool. Search by other words, or by name.")
        return {"loaded": names}

    def find_deferred(self, query: str) -> list[str]:
        """Return the deferred tools that a query names, or else those that share most words with it."""
        words = set(_WORDS.findall(query.lower()))
        named = [tool.name for tool in self._sought if tool.name.lower() in words]
        if named:
            return named
        scored = sorted((-_likeness(tool, words), tool.name) for tool in self._sought)
        return [name for score, name in scored if score][:MOST_FOUND]


def names_offered(specs: Iterable[ToolSpec]) -> frozenset[str]:
    """Return the tools that a request offers directly or by search."""
    names: set[str] = set()
    for spec in specs:
        names.add(spec.name)
        if spec.name == TOOL_SEARCH:
            names.update(_NAMED.findall(spec.description))
    return frozenset(names)


def _results_in(items: Iterable[Item]) -> list[ToolItem]:
    return [item for item in items if type(item) is ToolItem]  # runs over the whole conversation with each message


def _list_deferred(tools: Sequence[Tool]) -> str:
    """Return the tools with the beginnings of their descriptions, as far as there is room."""
    left_chars, told = MAX_LISTED_CHARS, list[str]()
    for tool in tools:
        words = tool.description
        if len(words) > MAX_LISTED_DESCRIPTION_CHARS:
            words = words[:MAX_LISTED_DESCRIPTION_CHARS].rpartition(" ")[0] + " …"
        told.append(f"{tool.name}: {words}")
        left_chars -= len(told[-1]) + len("; ")
        if left_chars < 0:
            told[-1] = f"and {len(tools) - len(told) + 1} more, which words of what they should do will find"
            break
    return "; ".join(told)


def _likeness(tool: Tool, words: set[str]) -> int:
    return len(words & set(_WORDS.findall(f"{tool.name.replace('_', ' ')} {tool.description}".lower())))


def _names_in(content: str) -> list[str]:
    """Return the names that a search has loaded; [] if it failed or its result was left out."""
    data = (read_object(content) or {}).get("data")
    found = data.get("loaded") if isinstance(data, dict) else None
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
