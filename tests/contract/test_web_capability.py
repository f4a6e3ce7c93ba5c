"""The web as a capability: with an MCP server, in `tenk doctor`, in the status, for each tenant."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent.tools.base import ToolContext, ToolError
from agent.web.tools import WhichWords
from gateway.capabilities.base import CapabilityDeps
from gateway.capabilities.table import Capabilities
from gateway.capabilities.trust import Trust
from gateway.config.settings import Settings, load
from gateway.errors import SettingsError
from tests.fakes.mcp_search import asked
from tests.fakes.spine import quick_store
from tests.fakes.turn_port import ANA, NOW
from tests.fakes.websites import page, searxng, website

CONFIG = """
[web]
search = "mcp:finder:find_pages"
social = "mcp:finder:find_posts"
"""
SERVER = '[mcp.finder]\npython = "tests.fakes.mcp_search:server"\n'
NOTHING: Any = None


def settings_of(directory: Path, config: str) -> Settings:
    (directory / "gateway.toml").write_text(config)
    return load(directory / "gateway.toml", {})


async def test_both_searches_call_the_tools_that_the_operator_named(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, CONFIG + SERVER)
    store = await quick_store(tmp_path / "tenk.db")
    capabilities = Capabilities(settings, CapabilityDeps(store, NOTHING, NOTHING, Trust(store).of("default")))
    try:
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            changed = asyncio.Event()
            running = [tasks.create_task(run()) for run in capabilities.work(changed.set)]
            while "mcp__finder__find_posts" not in {tool.name for tool in capabilities.tools()}:
                await changed.wait()
                changed.clear()
            tools: dict[str, Any] = {tool.name: tool for tool in capabilities.tools()}
            context, words = ToolContext(ANA, NOW, "t/0/0"), WhichWords(query="scales")
            pages = await tools["web_search"].run(context, words)
            assert {"title": "Page 0", "url": "https://example.org/0", "snippet": "scales"} == pages["results"][0]
            posts = await tools["social_search"].run(context, words)
            assert ([], "@ana: I practise scales each morning.") == (posts["results"], posts["words"])
            assert [("find_pages", "scales"), ("find_posts", "scales")] == asked
            for task in running:
                task.cancel()
    finally:
        await capabilities.aclose()
        await store.aclose()


TENANT = '[tenants.acme.mcp.other]\npython = "tests.fakes.mcp_search:server"\n'


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (CONFIG, r"gateway.toml:3: web\.search: there is no table \[mcp\.finder\]"),
        (CONFIG + SERVER + TENANT, r"gateway.toml:3: web\.search: there is no table \[mcp\.finder\]"),
        (f"[tenants.acme.web]\n{CONFIG.splitlines()[3]}\n", r"gateway.toml:2: tenants\.acme\.web\.social: there is no"),
    ],
)
def test_a_search_by_a_server_that_is_not_configured_is_refused(tmp_path: Path, config: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        settings_of(tmp_path, config)


def capabilities_of(settings: Settings) -> Capabilities:
    return Capabilities(settings, CapabilityDeps(NOTHING, NOTHING, NOTHING, NOTHING))


HIT = {"title": "Scales", "url": "https://example.org/"}


@pytest.mark.parametrize(
    ("pages", "words", "is_well"),
    [
        (searxng([HIT]), "finds 1 pages", True),
        (searxng([]), "finds 0 pages", False),
        (searxng([HIT], formats=["html"]), "add json to search.formats", False),
        ({"/search": page("<html>")}, "something else than a SearXNG", False),
    ],
)
async def test_the_doctor_asks_the_search_server(tmp_path: Path, pages: Any, words: str, is_well: bool) -> None:
    async with website(pages) as site:
        capabilities = capabilities_of(settings_of(tmp_path, f'[web]\nsearch = "{site.url()}"\n'))
        (found,) = await capabilities.check()
        await capabilities.aclose()
    assert ("web search", is_well) == (found.part, not found.to_do)
    assert words in found.words


async def test_a_search_that_fails_is_in_the_status_until_one_works(tmp_path: Path) -> None:
    async with website() as site:
        capabilities = capabilities_of(settings_of(tmp_path, f'[web]\nsearch = "{site.url()}"\n'))
        searching: Any = next(tool for tool in capabilities.tools() if tool.name == "web_search")
        with pytest.raises(ToolError):
            await searching.run(ToolContext(ANA, NOW, "t/0/0"), WhichWords(query="scales"))
        assert {"web search": "it answers 404"} == capabilities.troubles()
        site.pages |= searxng([HIT])
        await searching.run(ToolContext(ANA, NOW, "t/0/0"), WhichWords(query="scales"))
        assert {"web search": ""} == capabilities.troubles()
        await capabilities.aclose()


def test_a_tenant_has_a_table_of_its_own(tmp_path: Path) -> None:
    config = (
        '[web]\nsearch = "http://127.0.0.1:1"\n[tenants.acme.web]\nallow_domains = ["example.org"]\n[tenants.bell]\n'
    )
    settings = settings_of(tmp_path, config)
    names = [
        sorted(tool.name for tool in capabilities_of(settings.of_tenant(tenant)).tools()) for tenant in ("acme", "bell")
    ]
    assert [["web_fetch"], ["web_fetch", "web_search"]] == names
    assert () == capabilities_of(settings_of(tmp_path, "")).tools()


@pytest.mark.parametrize(
    "line",
    [
        *('search = "searx.example"', 'search = "mcp:x"', 'search = "file:///x"', 'social = "http://127.0.0.1:1"'),
        *('allow_private = ["127.0.0.1"]', 'allow_private = ["127.0.0.1:0"]', 'allow_private = ["wiki:80"]'),
        *('allow_private = ["10.1.2.3/8:80"]', "timeout_s = 0", 'fetch = "no"'),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(SettingsError):
        settings_of(tmp_path, f"[web]\n{line}\n")
