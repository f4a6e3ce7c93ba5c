"""The OAuth callback page. It shows the command to send to the bot, and does nothing by itself.

The visitor may not be the person who started the flow. A code works only in that person's chat, so a forwarded link
cannot connect another person's account.
"""

import html

from aiohttp import web

from agent.catalogue import NAMES
from gateway.texts import HARNESS

MAX_CHARS = 4096

HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
}

_PAGE = """<!doctype html>
<html lang="{language}"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<body style="font: 1.1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 3rem auto; padding: 0 1rem">
<h1>{title}</h1><p>{words}</p><pre style="white-space: pre-wrap; word-break: break-all; padding: 1rem; \
background: #8882">{command}</pre></body></html>
"""


async def show_code(request: web.Request) -> web.Response:
    """Show the provider's code as a command for the bot."""
    accepted = request.headers.get("Accept-Language", "")[:2].lower()
    language = accepted if accepted in NAMES else "en"
    code, state = request.query.get("code", ""), request.query.get("state", "")
    page = page_of(language, code, state)
    return web.Response(text=page, content_type="text/html", headers=HEADERS, status=200 if code and state else 400)


def page_of(language: str, code: str, state: str) -> str:
    """Return the page with all values escaped; without a code it says that there was none."""
    whole = bool(code and state) and len(code) + len(state) <= MAX_CHARS
    key = "connect.page" if whole else "connect.page_nothing"
    command = f"/connect {code}#{state}" if whole else ""
    said = HARNESS.text(language, key)
    title = HARNESS.text(language, "connect.page_title")
    values = {"language": language, "title": title, "words": said, "command": command}
    return _PAGE.format(**{name: html.escape(value) for name, value in values.items()})
