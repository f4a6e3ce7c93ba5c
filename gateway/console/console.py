"""The operators' console under `/console`: pages and forms, rendered on the server.

Each page and form calls the operators' service on behalf of its visitor; the service checks their rank.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import NoReturn
from urllib.parse import parse_qsl, urlencode

from aiohttp import web

from agent.calendar import is_zone, zone_of
from channels.base import HttpRoute
from channels.clocks import steady_now, steady_s
from channels.web.bounds import address_of
from channels.web.page_files import HEADERS, POLICY
from channels.web.visitor import Identities, Identity, locale_of
from gateway.access.config import Role
from gateway.console.logins import SESSION_VALID, ConsoleLogins, ConsoleVisitor
from gateway.console.settings_page import ConsoleSettings
from gateway.console.views import WEB_CHAT, ConsoleTemplates, Data, View, WantedPage, views
from gateway.errors import GatewayError
from gateway.operators.actions import OperationRefused
from gateway.operators.models import (
    MAX_SETTING_CHARS,
    AccountName,
    BlockWish,
    ConversationsQuery,
    DeniedRequest,
    ModelName,
    OutboxChange,
    PauseChange,
    Reloaded,
    RoleChange,
    ScheduleRow,
    SettingChange,
    TriedModel,
    User,
)
from gateway.operators.replay_models import Replay, ReplayWish
from gateway.operators.service import Operators
from gateway.store.engine import Store
from gateway.telemetry import RECENT
from gateway.texts import HARNESS

PATH = "/console"
COOKIE = "tenk_console"
ZONE_COOKIE = "tenk_zone"
"""Cookie with the IANA name of the browser's zone, which the page's script sets."""
CHAT = "chat"
"""Name of the page with the web chat."""
MAX_FIELD_CHARS = 128

PAGE_HEADERS = {
    **HEADERS,
    "Content-Security-Policy": POLICY.replace("form-action 'none'", "form-action 'self'; frame-src 'self'").replace(
        "frame-ancestors 'self'", "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",  # with no-referrer a form of our own would come with the Origin "null"
    "Cache-Control": "no-store",
}

_STATIC = {
    "console.css": "text/css",
    "console.js": "text/javascript",
    "vendor/htmx.min.js": "text/javascript",
    "vendor/uPlot.iife.min.js": "text/javascript",
    "vendor/uPlot.min.css": "text/css",
}

_NAV = ("overview", "people", "sessions", "chat", "schedules", "inbox", "outbox", "usage", "audit", "config", "logs")

Form = Mapping[str, str]
NOTHING: Form = {}
Changed = User | DeniedRequest | OutboxChange | ScheduleRow | Reloaded | TriedModel | PauseChange | Replay


@dataclass(frozen=True, slots=True)
class FormAction:
    """The action of a form, and the page that shows its result."""

    do: Callable[[Operators, str, Form], Awaitable[Changed]]
    page: str  # shown afterwards, unless the form's field `at` is the address of another


_ACTIONS: Mapping[str, FormAction] = {
    "approve": FormAction(lambda do, by, form: do.approve_request(by, _field(form, "request")), "people"),
    "deny": FormAction(lambda do, by, form: do.deny(by, _field(form, "request")), "people"),
    "block": FormAction(lambda do, by, form: do.block(by, BlockWish(who=_field(form, "who"))), "people"),
    "role": FormAction(lambda do, by, form: do.set_role(by, _field(form, "who"), _role_of(form)), "people"),
    "revoke": FormAction(
        lambda do, by, form: do.revoke(by, _field(form, "who"), AccountName(account=_field(form, "account") or "-")),
        "people",
    ),
    "retry": FormAction(lambda do, by, form: do.retry_part(by, _id_of(form)), "outbox"),
    "pause_schedule": FormAction(lambda do, by, form: do.pause_schedule(by, _field(form, "id")), "schedules"),
    "resume_schedule": FormAction(lambda do, by, form: do.resume_schedule(by, _field(form, "id")), "schedules"),
    "pause": FormAction(lambda do, by, _form: do.pause(by), "overview"),
    "resume": FormAction(lambda do, by, _form: do.resume(by), "overview"),
    "try_model": FormAction(lambda do, by, form: do.try_model(by, ModelName(model=_field(form, "model"))), "overview"),
    "set": FormAction(lambda do, by, form: do.change_setting(by, _setting_of(form)), "config"),
    "replay": FormAction(
        lambda do, by, form: do.replay_turn(by, _field(form, "id"), ReplayWish(model=_field(form, "model") or None)),
        "sessions",
    ),
    "discard": FormAction(lambda do, by, form: do.discard_part(by, _id_of(form)), "outbox"),
}
"""Value of a form's field `do` -> action."""


def _field(form: Form, name: str) -> str:
    return form.get(name, "")[:MAX_FIELD_CHARS]


def _role_of(form: Form) -> RoleChange:
    role = _field(form, "role")
    if role not in tuple(Role):
        raise OperationRefused("access.no_role", role=role, roles=", ".join(Role))
    return RoleChange(role=Role(role))


def _setting_of(form: Form) -> SettingChange:
    value = form.get("value", "")
    if len(value) > MAX_SETTING_CHARS:
        raise OperationRefused("ops.config_long", most=MAX_SETTING_CHARS)
    return SettingChange(key=_field(form, "key"), value=value)


def _id_of(form: Form) -> int:
    text = _field(form, "id")
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise OperationRefused("ops.no_id")
    return int(text)


@dataclass(frozen=True, slots=True)
class PageAddress:
    """A page with its query."""

    name: str
    query: Mapping[str, str]

    @property
    def address(self) -> str:
        """Return its path and query."""
        return _path(self.name) + (f"?{urlencode(self.query)}" if self.query else "")


@dataclass(frozen=True, slots=True)
class ConsoleDeps:
    """The objects that the console uses."""

    logins: ConsoleLogins
    operators: Callable[[str | None], Operators]  # the service for a tenant, or for all
    browsers: Identities  # of the web chat
    config: ConsoleSettings
    log: Callable[[], Sequence[Mapping[str, object]]]  # the newest events, oldest first
    title: str  # the agent's name


class Console:
    """The console's pages, forms and login."""

    def __init__(self, deps: ConsoleDeps) -> None:
        self._deps = deps
        self._views = views(deps.config, deps.log)
        self._drawing = ConsoleTemplates()

    def routes(self) -> tuple[HttpRoute, ...]:
        """Return all routes of the console."""
        pages = [HttpRoute("GET", _path(name), partial(self._show, name)) for name in self._views]
        static = [HttpRoute("GET", f"{PATH}/static/{name}", partial(_static, name)) for name in _STATIC]
        return (
            *pages,
            *static,
            HttpRoute("POST", f"{PATH}/login", self._login),
            HttpRoute("POST", f"{PATH}/logout", self._logout),
            HttpRoute("POST", f"{PATH}/act", self._act),
        )

    async def link(self, base: str, by: str) -> tuple[str, str]:
        """Return a URL that opens the console once for this actor, with a secret after `#`, and the secret's ref."""
        token, ref = await self._deps.logins.make_token(by)
        return f"{base.rstrip('/')}{PATH}#{token}", ref

    # ------------------------------------------------------------ who asks

    async def _visitor(self, request: web.Request) -> ConsoleVisitor | None:
        token = request.cookies.get(COOKIE, "")
        return await self._deps.logins.visitor(token) if token else None

    async def _login(self, request: web.Request) -> web.StreamResponse:
        wait_s = self._deps.logins.wait_s(address_of(request.remote))
        locale = locale_of(request)
        if wait_s:
            again_s = str(int(wait_s) + 1)
            problem = HARNESS.text(locale, "ops.login_wait", seconds=again_s)
            return self._ask_in(locale, problem, status=429, headers={"Retry-After": again_s})
        token = await self._deps.logins.open_with((await _form(request)).get("secret", "")[:256])
        if token is None:
            return self._ask_in(locale, HARNESS.text(locale, "ops.login_refused"), status=401)
        answer = web.HTTPSeeOther(PATH)
        answer.set_cookie(
            COOKIE,
            token,
            max_age=int(SESSION_VALID.total_seconds()),
            path=PATH,
            httponly=True,
            samesite="Strict",
            secure=request.scheme == "https",
        )
        raise answer

    async def _logout(self, request: web.Request) -> web.StreamResponse:
        await self._deps.logins.leave(request.cookies.get(COOKIE, ""))
        answer = web.HTTPSeeOther(PATH)
        answer.del_cookie(COOKIE, path=PATH)
        raise answer

    # ------------------------------------------------------------ pages and forms

    async def _show(self, name: str, request: web.Request) -> web.StreamResponse:
        visitor = await self._visitor(request)
        if visitor is None:
            if "HX-Request" in request.headers:
                return web.Response(status=401, headers=PAGE_HEADERS | {"HX-Redirect": PATH})
            return self._ask_in(locale_of(request), "", status=200 if not request.cookies.get(COOKIE) else 401)
        return await self._render(PageAddress(name, request.query), visitor, request)

    async def _render(
        self,
        place: PageAddress,
        visitor: ConsoleVisitor,
        request: web.Request,
        said: str = "",
        *,
        status: int = 200,
        given: Form = NOTHING,
        problem: str = "",
        replay: Replay | None = None,
    ) -> web.Response:
        name = place.name
        view, template = self._views[name], f"{name}.html"
        locale = visitor.locale or locale_of(request)
        named = request.cookies.get(ZONE_COOKIE, "")
        timezone = named if is_zone(named) else "UTC"
        operators, browser = self._deps.operators(visitor.tenant), self._deps.browsers.of(request)
        if name == CHAT and visitor.acts and visitor.kind != "key" and "HX-Request" not in request.headers:
            browser = await self._let_in(operators, visitor, browser)
        chat = "" if browser is None else browser.chat
        wanted = WantedPage(visitor, place.query, operators, timezone, chat, given, problem, replay)
        try:
            data = await view.data(wanted)
        except GatewayError as error:
            data, view, template, status = {"problem": _words(error, locale)}, View(view.data), "problem.html", 404
        common = {
            "visitor": visitor,
            "nav": _NAV,
            "here": view.nav or name,
            "title": self._deps.title,
            "path": PATH,
            "every_s": view.every_s,
            "address": place.address,
            "said": said,
            "zone": zone_of(timezone),
            "timezone": timezone,
            "inner": template,
        }
        outer = "part.html" if "HX-Request" in request.headers else "page.html"
        answer = self._page(outer, locale, {**data, **common}, status=status)
        if browser is not None and browser.fresh:
            self._deps.browsers.give(answer, browser, request)
        return answer

    async def _let_in(self, operators: Operators, visitor: ConsoleVisitor, browser: Identity | None) -> Identity | None:
        """Return this browser's identity in the web chat, which talks as the visitor.

        A browser that no person is known by gets a new one: another server on this host may have set the one it has.
        """
        if browser is not None:
            with suppress(OperationRefused):
                mine = ConversationsQuery(limit=1, person=f"web:{browser.chat}")
                await operators.list_conversations(visitor.by, mine)
                return browser
        if WEB_CHAT not in ((await operators.status(visitor.by)).parts or {}):
            return browser
        browser = self._deps.browsers.make()
        await operators.let_in_browser(visitor.by, browser.chat)
        return browser

    def _ask_in(
        self, locale: str | None, problem: str, *, status: int, headers: Mapping[str, str] | None = None
    ) -> web.Response:
        return self._page("login.html", locale, {"problem": problem, "path": PATH}, status=status, headers=headers)

    def _page(
        self, template: str, locale: str | None, data: Data, *, status: int, headers: Mapping[str, str] | None = None
    ) -> web.Response:
        text = self._drawing.draw(template, locale, data)
        return web.Response(
            text=text, content_type="text/html", status=status, headers={**PAGE_HEADERS, **(headers or {})}
        )

    async def _act(self, request: web.Request) -> web.StreamResponse:
        visitor = await self._visitor(request)
        if visitor is None:
            raise web.HTTPUnauthorized(text="open the console again\n", headers={"HX-Redirect": PATH})
        form, locale = await _form(request), visitor.locale or locale_of(request)
        acting = _ACTIONS.get(form.get("do", "")) or _no_such_form()
        page = self._address_in(form) or PageAddress(acting.page, {})
        if not visitor.acts:
            return await self._render(page, visitor, request, HARNESS.text(locale, "ops.only_looks"), status=403)
        try:
            done = await acting.do(self._deps.operators(visitor.tenant), visitor.by, form)
        except GatewayError as error:
            words = _words(error, locale)
            given = {name: form.get(name, "") for name in ("key", "value")}
            if acting.page == "config":  # its page shows the problem beside the field
                return await self._render(page, visitor, request, status=409, given=given, problem=words)
            return await self._render(page, visitor, request, words, status=409)
        if "HX-Request" in request.headers or isinstance(done, Replay):  # no page shows a replay again
            replay = done if isinstance(done, Replay) else None
            return await self._render(page, visitor, request, _done_words(form["do"], done, locale), replay=replay)
        raise web.HTTPSeeOther(page.address)

    def _address_in(self, form: Form) -> PageAddress | None:
        """Return the page that a form stands on; None if it does not say it."""
        path, _, query = form.get("at", "").partition("?")
        found = next((name for name in self._views if _path(name) == path), None)
        return None if found is None else PageAddress(found, dict(parse_qsl(query)))


def _done_words(action: str, done: Changed, locale: str | None) -> str:
    if isinstance(done, Replay):
        count = sum(not pair.is_same for pair in done.steps)
        return HARNESS.plural(locale, "ops.done_replay", count)
    found = {name: str(value) for name, value in done}
    if isinstance(done, TriedModel):
        action = "try_model" if done.works else "try_model_fails"
    if isinstance(done, Reloaded):
        found = {"keys": ", ".join(done.in_force)}
        action = "set" if done.in_force else "set_nothing"
    if isinstance(done, User):
        found["role"] = HARNESS.text(locale, f"ops.role_{done.role}")
    return HARNESS.text(locale, f"ops.done_{action}", **found)


def _words(error: GatewayError, locale: str | None) -> str:
    return error.text(HARNESS, locale) if isinstance(error, OperationRefused) else str(error)


async def _form(request: web.Request) -> dict[str, str]:
    """Return the fields of a form; answer 400 if the body is not one of our forms."""
    try:
        if request.content_type != "application/x-www-form-urlencoded":
            raise ValueError(request.content_type)
        return {name: str(value) for name, value in (await request.post()).items()}
    except (ValueError, LookupError):
        raise web.HTTPBadRequest(text="this form cannot be read\n") from None


def _path(name: str) -> str:
    return PATH if name == _NAV[0] else f"{PATH}/{name}"


async def _static(name: str, _request: web.Request) -> web.Response:
    content = (files("gateway.console") / "static" / name).read_bytes()
    headers = PAGE_HEADERS | {"Cache-Control": "no-cache"}
    return web.Response(body=content, content_type=_STATIC[name], charset="utf-8", headers=headers)


def make_console(
    store: Store,
    key: bytes,
    operators: Callable[[str | None], Operators],
    browsers: Identities,
    config: ConsoleSettings,
    title: str,
) -> Console:
    """Make the console of a running gateway."""
    return Console(
        ConsoleDeps(
            ConsoleLogins(store, key, steady_now, steady_s),
            operators,
            browsers,
            config,
            log=lambda: tuple(RECENT),
            title=title,
        )
    )


def _no_such_form() -> NoReturn:
    raise web.HTTPBadRequest(text="there is no such form\n")
