"""The operator's console under `/console`: pages made on the server from what `tenk` prints, and the forms that act.

What is read and done is the control socket's calls, each in the name of whoever has the page open; who may is asked
again in the commit of each. Nothing here knows the store.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlencode

from aiohttp import web
from pydantic import BaseModel, JsonValue

from channels.base import HttpRoute
from channels.clocks import steady_now, steady_s
from channels.web.bounds import address_of
from channels.web.page_files import POLICY
from gateway.config.listing import lines_of
from gateway.config.sources import ConfigFile, Sources
from gateway.console.doors import ConsoleDoors, ConsoleVisitor
from gateway.errors import GatewayError
from gateway.store.engine import Store
from gateway.telemetry import RECENT

if TYPE_CHECKING:
    from jinja2 import Environment

PATH = "/console"
COOKIE = "tenk_console"
MOST_ROWS = 50

Handler = Callable[[dict[str, JsonValue]], Awaitable[JsonValue]]
Handlers = Mapping[str, Handler]

_HEADERS = {
    "Content-Security-Policy": POLICY.replace("form-action 'none'", "form-action 'self'"),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer a form of our own would come with the Origin "null"
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_STATIC = {
    "console.css": "text/css",
    "console.js": "text/javascript",
    "vendor/htmx.min.js": "text/javascript",
    "vendor/uPlot.iife.min.js": "text/javascript",
    "vendor/uPlot.min.css": "text/css",
}

NAV = (
    ("", "Overview"), ("people", "People"), ("sessions", "Conversations"), ("inbox", "Messages in"),
    ("outbox", "Deliveries"), ("usage", "Usage"), ("audit", "Audit"), ("config", "Configuration"), ("logs", "Log"),
)  # fmt: skip

_ACTIONS: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "approve": ("pairing.approve", ("request",), "people"),
    "deny": ("pairing.deny", ("request",), "people"),
    "block": ("pairing.block", ("who",), "people"),
    "role": ("users.role", ("who", "role"), "people"),
    "revoke": ("users.revoke", ("who", "account"), "people"),
    "retry": ("outbox.retry", ("id",), "outbox"),
    "discard": ("outbox.discard", ("id",), "outbox"),
}
"""What a form may ask: the call, its fields, and the page that it stands on."""

_REFUSED = (
    "This key or link does not open the console: a link holds once, for ten minutes; a key needs the scope read or "
    "operate."
)

_DONE = {
    "approve": "{name} is let in.", "deny": "The request of {name} is turned down.", "block": "{name} is blocked.",
    "role": "{name} is {role} now.", "revoke": "{name} is let in there no more.",
    "retry": "It is sent again.", "discard": "It is given up.",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ConsoleDeps:
    """What the console shows, and by what it acts."""

    doors: ConsoleDoors
    calls: Callable[[str], Handlers]  # those of the control socket, in the name of an actor
    config: Callable[[], Sequence[str]]  # every key as `tenk config show` prints it, secrets masked
    log: Callable[[], Sequence[Mapping[str, object]]]  # the newest events, oldest first
    title: str  # of the agent


@dataclass(frozen=True, slots=True)
class _Asked:
    """A page that somebody wants."""

    visitor: ConsoleVisitor
    query: Mapping[str, str]
    calls: Handlers

    async def rows(self, name: str, arguments: dict[str, JsonValue] | None = None) -> list[dict[str, JsonValue]]:
        """The objects that a call lists."""
        return _list_of(await self.calls[name](arguments or {}))

    async def item(self, name: str, arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """The one object that a call answers."""
        [item] = _list_of([await self.calls[name](arguments)])
        return item


Data = dict[str, object]


@dataclass(frozen=True, slots=True)
class _Page:
    template: str
    data: Callable[[_Asked], Awaitable[Data]]
    every_s: int | None = None  # how often it renews itself; None: when it is asked
    nav: str = ""


class Console:
    """The routes; it is whatever `deps` say."""

    def __init__(self, deps: ConsoleDeps) -> None:
        """Nothing is served before the routes are mounted."""
        self._deps = deps
        self._pages = {
            "": _Page("overview.html", _overview, 4),
            "people": _Page("people.html", _people),
            "sessions": _Page("sessions.html", _sessions, 10),
            "session": _Page("session.html", _session, 3, "sessions"),
            "inbox": _Page("inbox.html", _inbox, 5),
            "outbox": _Page("outbox.html", _outbox),
            "usage": _Page("usage.html", _usage),
            "audit": _Page("audit.html", _audit),
            "config": _Page("config.html", self._config),
            "logs": _Page("logs.html", self._logs, 3),
        }

    @cached_property
    def _templates(self) -> "Environment":
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  0.1 s, for who opens a page

        made = Environment(loader=PackageLoader("gateway.console"), autoescape=True, undefined=StrictUndefined)
        made.trim_blocks = made.lstrip_blocks = True
        made.filters |= {
            "when": _when, "short": _short, "usd": _usd, "ago": _ago, "json_text": json.dumps, "span": _span,
        }  # fmt: skip
        return made

    def routes(self) -> tuple[HttpRoute, ...]:
        """Every path."""
        pages = [HttpRoute("GET", _path(name), partial(self._show, name)) for name in self._pages]
        static = [HttpRoute("GET", f"{PATH}/static/{name}", partial(_static, name)) for name in _STATIC]
        return (
            *pages, *static, HttpRoute("POST", f"{PATH}/login", self._login),
            HttpRoute("POST", f"{PATH}/logout", self._logout), HttpRoute("POST", f"{PATH}/act", self._act),
        )  # fmt: skip

    def link(self, base: str, by: str) -> tuple[str, str]:
        """An address that opens the console once for this actor, its secret behind `#`; and the ref of that secret."""
        token, ref = self._deps.doors.make_token(by)
        return f"{base.rstrip('/')}{PATH}#{token}", ref

    # ------------------------------------------------------------ who asks

    async def _visitor(self, request: web.Request) -> ConsoleVisitor | None:
        token = request.cookies.get(COOKIE, "")
        return await self._deps.doors.visitor(token) if token else None

    async def _login(self, request: web.Request) -> web.StreamResponse:
        wait_s = self._deps.doors.wait_s(address_of(request.remote))
        if wait_s:
            again_s = str(int(wait_s) + 1)
            words = f"Too many tries; again in {again_s} s."
            return self._page("login.html", {"problem": words}, status=429, headers={"Retry-After": again_s})
        token = await self._deps.doors.open_with((await _form(request)).get("secret", "")[:256])
        if token is None:
            return self._page("login.html", {"problem": _REFUSED}, status=401)
        answer = web.HTTPSeeOther(PATH)
        answer.set_cookie(
            COOKIE, token, path=PATH, httponly=True, samesite="Strict", secure=request.scheme == "https",
        )  # fmt: skip
        raise answer

    async def _logout(self, request: web.Request) -> web.StreamResponse:
        self._deps.doors.leave(request.cookies.get(COOKIE, ""))
        answer = web.HTTPSeeOther(PATH)
        answer.del_cookie(COOKIE, path=PATH)
        raise answer

    # ------------------------------------------------------------ pages and forms

    async def _show(self, name: str, request: web.Request) -> web.StreamResponse:
        visitor = await self._visitor(request)
        if visitor is None:
            if "HX-Request" in request.headers:
                return web.Response(status=401, headers=_HEADERS | {"HX-Redirect": PATH})
            return self._page("login.html", {"problem": ""}, status=200 if not request.cookies.get(COOKIE) else 401)
        return await self._render(name, visitor, request, "")

    async def _render(
        self, name: str, visitor: ConsoleVisitor, request: web.Request, said: str, *, status: int = 200
    ) -> web.Response:
        page = self._pages[name]
        asked = _Asked(visitor, request.query, self._deps.calls(visitor.by))
        try:
            data = await page.data(asked)
        except GatewayError as error:
            data, page, status = {"problem": str(error)}, _Page("problem.html", page.data), 404
        address = _path(name) + (f"?{urlencode(request.query)}" if request.query else "")
        common = {
            "visitor": visitor, "nav": NAV, "here": page.nav or name, "title": self._deps.title, "path": PATH,
            "every_s": page.every_s, "address": address, "said": said, "inner": page.template,
        }  # fmt: skip
        outer = "part.html" if "HX-Request" in request.headers else "page.html"
        return self._page(outer, {**data, **common}, status=status)

    def _page(
        self, template: str, data: Data, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> web.Response:
        text = self._templates.get_template(template).render(data)
        return web.Response(text=text, content_type="text/html", status=status, headers={**_HEADERS, **(headers or {})})

    async def _act(self, request: web.Request) -> web.StreamResponse:
        visitor = await self._visitor(request)
        if visitor is None:
            raise web.HTTPUnauthorized(text="open the console again\n", headers={"HX-Redirect": PATH})
        form = await _form(request)
        call, names, page = _ACTIONS.get(form.get("do", "")) or _no_such_form()
        if not visitor.acts:
            return await self._render(page, visitor, request, "You may look here, and change nothing.", status=403)
        arguments: dict[str, JsonValue] = {name: form.get(name, "") for name in names}
        if names == ("id",):
            arguments["id"] = int(form["id"]) if form.get("id", "").isdecimal() and len(form["id"]) < 19 else 0
        try:
            done = await self._deps.calls(visitor.by)[call](arguments)
        except GatewayError as error:
            return await self._render(page, visitor, request, str(error), status=409)
        values = {"name": "It", "role": ""} | (done if isinstance(done, dict) else {})
        said = _DONE[form["do"]].format_map({name: str(value) for name, value in values.items()})
        if "HX-Request" in request.headers:
            return await self._render(page, visitor, request, said)
        raise web.HTTPSeeOther(_path(page))

    async def _config(self, _asked: _Asked) -> Data:
        return {"lines": self._deps.config()}

    async def _logs(self, asked: _Asked) -> Data:
        wanted = asked.query.get("level", "")
        events = [event for event in self._deps.log() if not wanted or event.get("level") == wanted]
        return {"events": [_log_line(event) for event in events[::-1][:200]], "level": wanted}


def _log_line(event: Mapping[str, object]) -> Data:
    facts = {name: str(value)[:500] for name, value in event.items()}
    shown: Data = {"at": facts.pop("timestamp", ""), "level": facts.pop("level", "")}
    return shown | {"event": facts.pop("event", ""), "facts": facts}


async def _form(request: web.Request) -> dict[str, str]:
    """What one of our forms brings; 400 for any other, and for bytes that are no text."""
    try:
        if request.content_type != "application/x-www-form-urlencoded":
            raise ValueError(request.content_type)
        return {name: str(value) for name, value in (await request.post()).items()}
    except (ValueError, LookupError):
        raise web.HTTPBadRequest(text="this form cannot be read\n") from None


# ---------------------------------------------------------------- what each page shows


async def _overview(asked: _Asked) -> Data:
    failed = await asked.rows("outbox.list", _in_states("dead", "unknown"))
    return {"status": await asked.calls["status"]({}), "failed": failed}


async def _people(asked: _Asked) -> Data:
    wanted = asked.query.get("q", "").strip()
    found = await asked.item("users.find", {"words": wanted})
    return {**found, "q": wanted, "requests": await asked.rows("pairing.list")}


async def _sessions(asked: _Asked) -> Data:
    arguments: dict[str, JsonValue] = {"most": MOST_ROWS}
    person = asked.query.get("person", "").strip()
    if person:
        arguments["person"] = person
    return {"sessions": await asked.rows("sessions.list", arguments), "person": person}


async def _session(asked: _Asked) -> Data:
    found = await asked.item("sessions.show", {"id": asked.query.get("id", ""), "turns": 30})
    hops: dict[object, list[object]] = {}
    for hop in _list_of(found["hops"]):
        hops.setdefault(hop["turn"], []).append(hop)
    return {"session": found["session"], "turns": _list_of(found["turns"])[::-1], "hops": hops}


def _list_of(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


async def _inbox(asked: _Asked) -> Data:
    arguments: dict[str, JsonValue] = {"limit": MOST_ROWS}
    outcome = asked.query.get("outcome", "")
    if outcome:
        arguments["outcome"] = outcome
    return {"rows": await asked.rows("inbox.list", arguments), "outcome": outcome}


def _in_states(*states: str) -> dict[str, JsonValue]:
    return {"limit": MOST_ROWS, **({"states": list(states)} if states else {})}


async def _outbox(asked: _Asked) -> Data:
    state = asked.query.get("state", "")
    return {"rows": await asked.rows("outbox.list", _in_states(*([state] if state else ()))), "state": state}


async def _usage(asked: _Asked) -> Data:
    days = asked.query.get("days", "14")
    found = await asked.item("usage.summary", {"days": days})
    by_day = found["days"] if isinstance(found["days"], dict) else {}
    sums = [day for day in by_day.values() if isinstance(day, dict)]
    at = [int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) for day in by_day]
    series = {name: [day[name] for day in sums] for name in ("tokens", "microusd", "calls")}
    rows = _list_of(found["rows"])
    return {"rows": rows[::-1], "days": days, "by_day": by_day, "charts": {"at": at, **series}}


async def _audit(asked: _Asked) -> Data:
    return {"rows": await asked.rows("users.audit")}


# ---------------------------------------------------------------- how it is written


def _path(name: str) -> str:
    return f"{PATH}/{name}" if name else PATH


def _when(at: object) -> str:
    """An instant to the second, UTC."""
    return str(at)[:19].replace("T", " ")


def _short(id_: object) -> str:
    return str(id_)[-8:]


def _usd(microusd: object) -> str:
    return "unknown" if not isinstance(microusd, int) else f"${microusd / 1_000_000:,.4f}"


def _ago(seconds: object) -> str:
    passed = int(seconds) if isinstance(seconds, int | float) else 0
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if passed >= size:
            return f"{passed // size} {unit}"
    return f"{passed} s"


def _span(later: object, earlier: object) -> str:
    """How long from one instant to the other."""
    took_s = (datetime.fromisoformat(str(later)) - datetime.fromisoformat(str(earlier))).total_seconds()
    return f"+{took_s:.2f} s" if took_s < 100 else f"+{_ago(took_s)}"


async def _static(name: str, _request: web.Request) -> web.Response:
    content = (files("gateway.console") / "static" / name).read_bytes()
    headers = _HEADERS | {"Cache-Control": "no-cache"}
    return web.Response(body=content, content_type=_STATIC[name], charset="utf-8", headers=headers)


def make_console(
    store: Store, key: bytes, calls: Callable[[str], Handlers], settings: Callable[[], BaseModel], title: str
) -> Console:
    """The console of a running gateway; `settings` are those in force."""
    return Console(
        ConsoleDeps(
            ConsoleDoors(store, key, steady_now, steady_s),
            calls,
            config=lambda: tuple(lines_of(settings(), _UNTRACED)),
            log=lambda: tuple(RECENT),
            title=title,
        )
    )


_UNTRACED = Sources(ConfigFile(Path()), ConfigFile(Path()), {})


def _no_such_form() -> NoReturn:
    raise web.HTTPBadRequest(text="there is no such form\n")
