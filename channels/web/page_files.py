"""Serves the page's own files, shipped with the package, with headers that forbid all else."""

import hashlib
from dataclasses import dataclass
from importlib.resources import files

from aiohttp import web

_FILES = {
    "/": ("index.html", "text/html"),
    "/web/chat.css": ("chat.css", "text/css"),
    "/web/chat.js": ("chat.js", "text/javascript"),
    "/web/link.js": ("link.js", "text/javascript"),
    "/web/store.js": ("store.js", "text/javascript"),
    "/web/view.js": ("view.js", "text/javascript"),
    "/favicon.ico": ("icon.svg", "image/svg+xml"),
    "/web/icon.svg": ("icon.svg", "image/svg+xml"),
}

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing inline, nothing from another host, in nobody's frame."""

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    tag: str  # ETag


class PageFiles:
    """The files by path."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self.paths = tuple(_FILES)
        self._read: dict[str, _File] = {}

    async def answer(self, request: web.Request) -> web.Response:
        """The file of a path in the table, or 304 where the browser has it."""
        name, kind = _FILES[request.path]
        held = self._read.get(name)
        if held is None:
            content = (files("channels.web") / "page" / name).read_bytes()
            held = self._read[name] = _File(content, f'"{hashlib.sha256(content).hexdigest()[:20]}"')
        headers = _HEADERS | {"ETag": held.tag}
        if request.headers.get("If-None-Match") == held.tag:
            return web.Response(status=304, headers=headers)
        return web.Response(body=held.content, content_type=kind, charset="utf-8", headers=headers)
