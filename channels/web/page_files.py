"""The page's own files, shipped with the package, in the visitor's language and with a strict policy."""

import hashlib
import html
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Protocol

import orjson
from aiohttp import web

from channels.web.visitor import locales_of

PAGE = "index.html"

_FILES = {
    "/": (PAGE, "text/html"),
    "/web/chat.css": ("chat.css", "text/css"),
    "/web/chat.js": ("chat.js", "text/javascript"),
    "/web/device.js": ("device.js", "text/javascript"),
    "/web/files.js": ("files.js", "text/javascript"),
    "/web/link.js": ("link.js", "text/javascript"),
    "/web/panel.js": ("panel.js", "text/javascript"),
    "/web/store.js": ("store.js", "text/javascript"),
    "/web/view.js": ("view.js", "text/javascript"),
    "/favicon.ico": ("icon.svg", "image/svg+xml"),
    "/web/icon.svg": ("icon.svg", "image/svg+xml"),
}

SCRIPT_TEXTS = (
    "page.away", "page.busy", "page.code", "page.connecting", "page.conversations", "page.copied", "page.copy",
    "page.copy_code", "page.deleted", "page.device_asks", "page.device_compare", "page.device_denied",
    "page.device_done", "page.device_here", "page.device_list", "page.device_made", "page.device_out",
    "page.device_seen", "page.device_signed_out", "page.device_unknown", "page.device_waits", "page.edit",
    "page.edited", "page.file_empty", "page.file_failed", "page.file_going", "page.file_gone", "page.file_large",
    "page.file_remove", "page.files_many", "page.held_back", "page.living", "page.loading", "page.message_to",
    "page.no_conversations", "page.no_network", "page.not_reachable", "page.nothing_kept", "page.online", "page.reload",
    "page.retry", "page.sign_queued", "page.sign_refused", "page.sign_steered", "page.sign_working", "page.table",
    "page.today", "page.try_later", "page.untitled", "page.way_sent", "page.way_unsent", "page.you",
)  # fmt: skip
"""Keys of the texts that the page passes to its scripts."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""Content security policy: nothing inline, nothing from other hosts; frames only in our own pages."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-cache",
    "Vary": "Accept-Language",
}
"""Headers of all our pages; the operators' pages change a few."""

_MARKED = re.compile(r"\{\{([a-z_.]+)\}\}")


class PageTexts(Protocol):
    """The page's own texts."""

    def text(self, locale: str | None, key: str, /, **values: object) -> str:
        """Return the text of a key in a BCP 47 locale, with its fields filled in."""
        ...


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    tag: str  # ETag


class PageFiles:
    """The page's files by path, in each language."""

    def __init__(self, texts: PageTexts, title: str) -> None:
        """`title` is the bot's name on the page. Files are read on first use."""
        self.paths = tuple(_FILES)
        self._texts = texts
        self._title = title
        self._read: dict[tuple[str, str], _File] = {}

    async def answer(self, request: web.Request) -> web.Response:
        """Return the file of a path, or 304 if the browser has it."""
        name, kind = _FILES[request.path]
        language = self._language_of(request)
        held = self._read.get((name, language)) or self._keep(name, language)
        headers = HEADERS | {"ETag": held.tag}
        if request.headers.get("If-None-Match") == held.tag:
            return web.Response(status=304, headers=headers)
        return web.Response(body=held.content, content_type=kind, charset="utf-8", headers=headers)

    def _language_of(self, request: web.Request) -> str:
        """Return the first of the browser's languages that the page has, or the default language."""
        asked = locales_of(request)
        spoken = [self._texts.text(locale, "page.language") for locale in asked]
        met = (language for locale, language in zip(asked, spoken, strict=True) if locale[:2].lower() == language)
        return next(met, self._texts.text(None, "page.language"))

    def _keep(self, name: str, language: str) -> _File:
        content = (files("channels.web") / "page" / name).read_bytes()
        if name == PAGE:
            content = self._in_words(content.decode(), language).encode()
        held = self._read[name, language] = _File(content, f'"{hashlib.sha256(content).hexdigest()[:20]}"')
        return held

    def _in_words(self, page: str, language: str) -> str:
        """Return the page with its texts, and those of its scripts as JSON."""
        starts = [html.escape(start) for start in self._texts.text(language, "page.starts").splitlines()]
        scripts = orjson.dumps({key: self._texts.text(language, key) for key in SCRIPT_TEXTS}).decode()
        own = {
            "starts": "".join(f'<li><button type="button" data-say="{say}">{say}</button></li>' for say in starts),
            "texts": html.escape(scripts),
            "title": html.escape(self._title),
        }

        def words(mark: re.Match[str]) -> str:
            return own.get(mark[1]) or html.escape(self._texts.text(language, mark[1], title=self._title))

        return _MARKED.sub(words, page)
