"""Web sites on loopback: pages by path, and a SearXNG with the answers of its JSON format (2026-11)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Handle = Callable[[web.Request], Awaitable[web.StreamResponse]]

ARTICLE = """<!doctype html><html><head><title>How to practise scales</title>
<meta property="article:published_time" content="2026-03-01"></head><body><nav><a href="/">Home</a></nav><article>
<h1>How to practise scales</h1><p>Play each scale slowly, hands apart, before you play it together. {words}</p>
<p>Raise the <a href="/metronome">metronome</a> by four beats only when three runs in a row were clean.</p></article>
</body></html>"""


@dataclass(slots=True)
class Website:
    """A site that listens; `asked` are the paths that were asked for."""

    port: int = 0
    pages: dict[str, Handle] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Return the entry of `allow_private` for it."""
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path_qs)
        self.headers.append(dict(request.headers))
        page = self.pages.get(request.path)
        return web.Response(status=404) if page is None else await page(request)


@asynccontextmanager
async def website(
    pages: Mapping[str, Handle] | None = None, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Website]:
    """Serve pages; the site's `pages` may change while it listens."""
    site = Website(pages=dict(pages or {}))
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", site.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        site.port = runner.addresses[0][1]
        yield site
    finally:
        await runner.cleanup()


def page(body: str | bytes, content_type: str = "text/html; charset=utf-8", **headers: str) -> Handle:
    """Return a page with this body."""

    async def handle(_request: web.Request) -> web.StreamResponse:
        content = body.encode() if isinstance(body, str) else body
        sent = {"Content-Type": content_type} | {key.replace("_", "-"): of for key, of in headers.items()}
        return web.Response(body=content, headers=sent)

    return handle


def redirect(location: str, status: int = 302) -> Handle:
    async def handle(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, headers={"Location": location})

    return handle


def slow(pieces: Sequence[bytes], every_s: float) -> Handle:
    """Return a page whose body comes in pieces, the last again and again."""

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/html"})
        await response.prepare(request)
        for at in range(1000):
            await response.write(pieces[min(at, len(pieces) - 1)])
            await asyncio.sleep(every_s)
        return response

    return handle


def searxng(results: Sequence[Mapping[str, Any]], *, formats: Sequence[str] = ("html", "json")) -> dict[str, Handle]:
    """Return the path of a SearXNG that finds these; an instance with its first configuration knows html alone."""

    async def search(request: web.Request) -> web.StreamResponse:
        form = request.query.get("format", "html")
        if form not in formats:
            return web.Response(status=403, text="Forbidden")
        if not request.query.get("q"):
            return web.json_response({"error": "No query"}, status=400)
        if form == "html":
            return web.Response(text="<html><body>results</body></html>", content_type="text/html")
        found = [
            {
                "template": "default.html",
                "engine": "duckduckgo",
                "parsed_url": ["https", "example.org", "/", "", "", ""],
                "img_src": "",
                "thumbnail": None,
                "priority": "",
                "engines": ["duckduckgo", "brave"],
                "positions": [1, 2],
                "score": 4.0,
                "category": "general",
                "publishedDate": None,
                "content": "",
                **result,
            }
            for result in results
        ]
        return web.json_response(
            {
                "query": request.query["q"],
                "number_of_results": 0,
                "results": found,
                "answers": [],
                "corrections": [],
                "infoboxes": [],
                "suggestions": ["scales practice piano"],
                "unresponsive_engines": [["google", "Suspended: CAPTCHA"]],
            }
        )

    return {"/search": search}
