"""Searching: a SearXNG on loopback, and tools of MCP servers of several kinds."""

import json
from typing import Any

import pytest

from agent.tools.base import Effect, Tool, ToolContext, ToolError
from agent.web.config import WebConfig
from agent.web.pages import PageReader
from agent.web.search import MOST_HITS, McpSearch, SearchFound, Searxng, SearxngError
from agent.web.tools import WhichWords, search_tool
from tests.fakes.turn_port import ANA, NOW
from tests.fakes.websites import page, searxng, website

CONTEXT = ToolContext(ANA, NOW, "t/0/0")
HIT = {"title": "Scales", "url": "https://example.org/scales", "content": "Practise  them\nslowly."}


async def test_a_searxng_is_asked_in_the_persons_language_and_its_hits_are_bounded() -> None:
    many = [{**HIT, "url": f"https://example.org/{at}", "content": "x" * 5000} for at in range(50)]
    async with website(searxng([{"title": "no address", "url": ""}, HIT, *many])) as site:
        backend = Searxng(site.url("/"))
        found = await backend.search("scales practice", CONTEXT)
        await backend.ask("escalas", "es-MX")
        await backend.aclose()
    assert ("Scales", "https://example.org/scales", "Practise them slowly.") == (
        found.hits[0].title,
        found.hits[0].url,
        found.hits[0].snippet,
    )
    assert MOST_HITS == len(found.hits)
    assert len(found.hits[1].snippet) == 500
    assert [
        "/search?q=scales+practice&format=json&language=en",
        "/search?q=escalas&format=json&language=es",
    ] == site.asked


@pytest.mark.parametrize(
    ("pages", "words"),
    [
        (searxng([], formats=["html"]), "add json to search.formats"),
        ({}, "answers 404"),
        ({"/search": page("<html>", "text/html")}, "something else"),
        ({"/search": page('{"results": 3}', "application/json")}, ""),
        ({"/search": page("[]", "application/json")}, "something else"),
        ({"/search": page("x" * 3_000_000, "application/json")}, "longer than"),
    ],
)
async def test_an_unusable_answer_is_said_to_the_operator_and_the_model_goes_on(pages: Any, words: str) -> None:
    async with website(pages) as site:
        backend = Searxng(site.url())
        try:
            if not words:
                assert SearchFound() == await backend.ask("scales")
                return
            with pytest.raises(SearxngError, match=words):
                await backend.ask("scales")
            with pytest.raises(ToolError, match="does not work now"):
                await backend.search("scales", CONTEXT)
            assert words in backend.trouble
            site.pages |= searxng([HIT])
            await backend.search("scales", CONTEXT)
            assert not backend.trouble
        finally:
            await backend.aclose()


async def test_a_search_server_that_is_away_is_said() -> None:
    async with website() as site:
        url = site.url()
    backend = Searxng(url)
    with pytest.raises(SearxngError, match="cannot be reached"):
        await backend.ask("scales")
    await backend.aclose()


def server_tool(result: object, argument: str = "query", **more: Any) -> tuple[Tool, list[Any]]:
    asked: list[Any] = []

    async def run(_context: ToolContext, arguments: dict[str, Any]) -> object:
        asked.append(arguments)
        return result

    schema = {"type": "object", "properties": {argument: {"type": "string"}, "count": {"type": "integer"}}, **more}
    return Tool(name="mcp__brave__web", description="", arguments=schema, run=run, effect=Effect.UNSAFE), asked


@pytest.mark.parametrize(
    "result",
    [
        {"data": {"web": {"results": [{"title": "Scales", "link": HIT["url"], "description": HIT["content"]}]}}},
        {"text": json.dumps([{"name": "Scales", "url": HIT["url"], "snippet": HIT["content"]}])},
        {"text": "3 results", "data": [{"title": "Scales", "href": HIT["url"], "body": HIT["content"]}]},
    ],
)
async def test_hits_are_found_in_what_a_server_returns(result: object) -> None:
    tool, asked = server_tool(result)
    found = await McpSearch("mcp__brave__web", {tool.name: tool}.get).search("scales", CONTEXT)
    assert [("Scales", HIT["url"], "Practise them slowly.")] == [
        (hit.title, hit.url, hit.snippet) for hit in found.hits
    ]
    assert [{"query": "scales"}] == asked


@pytest.mark.parametrize("text", ["Title: Scales\nURL: https://example.org", "{broken", "[1, 2]"])
async def test_words_of_a_server_are_given_as_they_are(text: str) -> None:
    tool, _ = server_tool({"text": text})
    found = await McpSearch(tool.name, {tool.name: tool}.get).search("scales", CONTEXT)
    assert ((), text) == (found.hits, found.words)


async def test_the_query_is_the_only_text_that_a_tool_requires() -> None:
    tool, asked = server_tool({"text": "x"}, "text", required=["text"])
    await McpSearch(tool.name, {tool.name: tool}.get).search("scales", CONTEXT)
    assert [{"text": "scales"}] == asked
    tool, asked = server_tool({"text": "x"}, "text")
    with pytest.raises(ToolError, match="takes no query"):
        await McpSearch(tool.name, {tool.name: tool}.get).search("scales", CONTEXT)
    tool, asked = server_tool({"text": "x"}, required=["query", "count"])
    with pytest.raises(ToolError, match="count"):
        await McpSearch(tool.name, {tool.name: tool}.get).search("scales", CONTEXT)
    assert [] == asked


async def test_without_its_server_a_search_says_so() -> None:
    with pytest.raises(ToolError, match="not connected"):
        await McpSearch("mcp__brave__web", {}.get).search("scales", CONTEXT)


class Fixed:
    def __init__(self, found: SearchFound) -> None:
        self.found = found

    async def search(self, query: str, context: ToolContext) -> SearchFound:
        return self.found


async def test_hits_of_denied_domains_are_left_out() -> None:
    tool, _ = server_tool([{"title": each, "url": f"https://{each}/"} for each in ("good.example", "bad.example")])
    backend = McpSearch(tool.name, {tool.name: tool}.get)
    searching: Any = search_tool(backend, PageReader(WebConfig(deny_domains=("bad.example",))))
    found: Any = await searching.run(CONTEXT, WhichWords(query="scales"))
    assert ["good.example"] == [each["title"] for each in found["results"]]
    nothing: Any = await search_tool(Fixed(SearchFound()), PageReader(WebConfig())).run(CONTEXT, WhichWords(query="x"))
    assert ([], True) == (nothing["results"], "Nothing was found" in nothing["note"])
