"""Searching behind one small port, with two backends: a SearXNG server, and a tool of an MCP server."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp
import orjson

from agent.tools.base import Tool, ToolContext, ToolError
from agent.tools.results import success_result
from agent.tools.schema import BadArguments, Schema, fit, to_json_schema

SEARCH_S = 10.0
MAX_BYTES = 2_000_000
MOST_HITS = 10
MAX_TITLE_CHARS = 200
MAX_SNIPPET_CHARS = 500
MAX_WORDS_CHARS = 8000


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One page that was found."""

    title: str
    url: str
    snippet: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class SearchFound:
    """The result of one search."""

    hits: tuple[SearchHit, ...] = ()
    words: str = ""
    """Text of the backend beside or instead of hits."""


class SearchBackend(Protocol):
    """A place that can be searched."""

    async def search(self, query: str, context: ToolContext) -> SearchFound:
        """Return what there is for this query.

        Raises:
            ToolError: the backend cannot be used now.
        """
        ...


class SearxngError(Exception):
    """A SearXNG gives no usable answer; the message is for the operator."""


class Searxng:
    """A SearXNG server; its address is the operator's, so it may be private."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._session: aiohttp.ClientSession | None = None
        self.trouble = ""
        """The reason why the last search failed; "": it did not."""

    async def search(self, query: str, context: ToolContext) -> SearchFound:
        """Return the first hits, in the person's language if they have one."""
        try:
            found = await self.ask(query, context.principal.locale)
        except SearxngError as problem:
            self.trouble = str(problem)
            raise ToolError("The search does not work now. Say so; do not try again in this answer.") from None
        self.trouble = ""
        return found

    async def ask(self, query: str, locale: str | None = None) -> SearchFound:
        """Return the first hits.

        Raises:
            SearxngError: there is no usable answer.
        """
        language = (locale or "").partition("-")[0].lower()
        asked = {"q": query, "format": "json", **({"language": language} if len(language) == 2 else {})}
        try:
            async with asyncio.timeout(SEARCH_S):
                body = await self._get(asked)
        except TimeoutError:
            raise SearxngError(f"it does not answer within {SEARCH_S:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as problem:
            raise SearxngError(f"it cannot be reached ({type(problem).__name__})") from None
        return _searxng_found(body)

    async def aclose(self) -> None:
        """Close its connections."""
        if self._session is not None:
            await self._session.close()

    async def _get(self, asked: Mapping[str, str]) -> bytes:
        if self._session is None:
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        async with self._session.get(f"{self.url}/search", params=asked, allow_redirects=False) as answer:
            if answer.status == 403:
                raise SearxngError("it refuses JSON (403): add json to search.formats of its settings.yml")
            if answer.status == 429:
                raise SearxngError("it answers 429: its limiter holds the gateway for a robot")
            if answer.status != 200:
                raise SearxngError(f"it answers {answer.status}")
            body = bytearray()
            async for chunk in answer.content.iter_any():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise SearxngError(f"its answer is longer than {MAX_BYTES} bytes")
            return bytes(body)


def _searxng_found(body: bytes) -> SearchFound:
    try:
        answer = orjson.loads(body)
        results = answer["results"]
    except (ValueError, TypeError, KeyError):
        raise SearxngError("something else than a SearXNG answers there") from None
    hits = tuple(_hits_in(results if isinstance(results, list) else []))
    answers = answer.get("answers")
    words = "\n".join(_line(each) for each in answers[:MOST_HITS]) if isinstance(answers, list) else ""
    return SearchFound(hits[:MOST_HITS], words[:MAX_WORDS_CHARS])


def _line(answer: object) -> str:
    """Return an answer of SearXNG: an object since 2025, a text before."""
    return _text(answer.get("answer")) if isinstance(answer, Mapping) else _text(answer)


class McpSearch:
    """A tool of an MCP server that takes a query; the operator has chosen it, so no person is asked."""

    def __init__(self, name: str, find: Callable[[str], Tool | None]) -> None:
        """`name` is the tool's name for models; `find` returns the tool while its server is connected."""
        self._name = name
        self._find = find

    async def search(self, query: str, context: ToolContext) -> SearchFound:
        """Return the hits in the tool's result, or else its words."""
        tool = self._find(self._name)
        if tool is None:
            raise ToolError("The search server is not connected now. Say so; do not try again in this answer.")
        try:
            arguments = fit({_query_argument(tool.arguments): query}, tool.arguments)
        except BadArguments as problem:
            raise ToolError(f"The search tool of the server does not take this query: {problem}") from None
        result = await tool.run(context, arguments)
        data = orjson.loads(success_result(result))["data"]  # plain JSON, whatever the tool returns
        hits = tuple(_hits_in(_find_list(_parse(data))))[:MOST_HITS]
        return SearchFound(hits) if hits else SearchFound(words=_words(data))


def _query_argument(schema: Schema) -> str:
    """Return the argument of a tool that takes the query: its name says it, or it is the only required text."""
    shape: Any = to_json_schema(schema)
    properties = shape.get("properties", {})
    texts = [name for name, of in properties.items() if isinstance(of, Mapping) and of.get("type") == "string"]
    required = [name for name in shape.get("required", []) if name in texts]
    for name in ("query", "q", "search_query", "search", "keywords"):
        if name in texts:
            return name
    if len(required) == 1:
        return str(required[0])
    raise ToolError("The search tool of the server takes no query. Say that the operator has to look at it.")


def _parse(data: object) -> object:
    """Return the data of a result of an MCP tool; a text that is JSON is read."""
    if isinstance(data, Mapping) and "data" in data:
        return data["data"]
    text = data.get("text") if isinstance(data, Mapping) else data
    if isinstance(text, str) and text.lstrip()[:1] in {"{", "["}:
        try:
            return orjson.loads(text)
        except ValueError:
            return data
    return data


def _find_list(data: object, depth: int = 0) -> list[Any]:
    """Return the first list of objects with addresses in these data."""
    if isinstance(data, list) and any(isinstance(each, Mapping) and _url_of(each) for each in data):
        return data
    inner = data.values() if isinstance(data, Mapping) and depth < 4 else ()
    return next((found for each in inner if (found := _find_list(each, depth + 1))), [])


def _hits_in(results: list[Any]) -> Iterator[SearchHit]:
    for each in results:
        if isinstance(each, Mapping) and (url := _url_of(each)):
            snippet = _first(each, "content", "snippet", "description", "text", "body")[:MAX_SNIPPET_CHARS]
            date = _first(each, "publishedDate", "published_date", "date", "published")[:40]
            yield SearchHit(_first(each, "title", "name")[:MAX_TITLE_CHARS] or url, url, snippet, date)


def _url_of(entry: Mapping[str, Any]) -> str:
    url = _first(entry, "url", "link", "href")
    return url if url.startswith(("http://", "https://")) and len(url) <= 2000 else ""


def _first(entry: Mapping[str, Any], *names: str) -> str:
    return next((text for name in names if (text := _text(entry.get(name)))), "")


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _words(data: object) -> str:
    text = data.get("text") if isinstance(data, Mapping) else data
    return (text if isinstance(text, str) else orjson.dumps(data).decode())[:MAX_WORDS_CHARS]
