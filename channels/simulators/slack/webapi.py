"""The HTTP side of the simulated Slack: Web API, response URLs and files, with the fault script applied."""

import time
from collections.abc import Callable
from urllib.parse import parse_qsl

import orjson
from aiohttp import web
from pydantic import JsonValue

from channels.simulators.shared.server import Answer, held_up, of_network
from channels.simulators.slack.checks import JsonObject, Refusal, check_content
from channels.simulators.slack.faults import Fault, Faults
from channels.simulators.slack.methods import ChatMethods, Method
from channels.simulators.slack.reading import ReadingMethods
from channels.simulators.slack.state import SIGNING_SECRET, AppAccount, ShownMessage, World
from channels.simulators.slack.streaming import StreamMethods

_UNRECORDED = frozenset({"auth.test", "apps.connections.open", "conversations.history", "conversations.replies",
                         "users.conversations", "users.info", "conversations.info", "files.info"})  # fmt: skip


class WebApi:
    """Answers /api/<method>, /hooks/…, /upload/… and /files-pri/…"""

    def __init__(
        self,
        world: World,
        faults: Faults,
        changed: Callable[[], None],
        *,
        chats: ChatMethods,
        streams: StreamMethods,
        reading: ReadingMethods,
        open_socket: Callable[[], str],
        any_token: bool,
    ) -> None:
        """`changed` is called after every call that may have changed what people see."""
        self._world = world
        self._faults = faults
        self._changed = changed
        self._reading = reading
        self._open_socket = open_socket
        self._any_token = any_token
        self._table: dict[str, tuple[Method, str]] = {**chats.table, **streams.table, **reading.table}

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One call, whatever it is; never raises for what a client sends."""
        method = request.path.removeprefix("/api/")
        arguments = _arguments(await request.read(), request.content_type, request.query_string)
        token = request.headers.get("Authorization", "").removeprefix("Bearer").strip() or str(
            arguments.pop("token", "")
        )
        chat = arguments.get("channel") or arguments.get("channel_id")
        answer = await self._faulty(method, arguments, token, str(chat) if isinstance(chat, str) else None)
        response = answer.to(request)
        if self._world.app is not None and answer.content_type == "application/json":
            response.headers["x-oauth-scopes"] = self._world.app.scopes
        return response

    async def _faulty(self, method: str, arguments: JsonObject, token: str, chat: str | None) -> Answer:
        fault = self._faults.due(method, chat)
        if fault is None:
            return self._carried_out(method, arguments, token, chat, None)
        if not fault.applied and fault.kind in ("error", "status", "html", "cut", "raw"):
            answer = _of_fault(fault)
            self._record(method, arguments, chat, answer, applied=False, ts=None)
            return answer
        async with held_up(fault):
            return self._carried_out(method, arguments, token, chat, fault)

    def _carried_out(
        self, method: str, arguments: JsonObject, token: str, chat: str | None, fault: Fault | None
    ) -> Answer:
        """Do what is asked; a fault that comes after it hides the answer."""
        try:
            result = self._result(method, arguments, token)
        except Refusal as refusal:
            answer = _refusal_answer(refusal)
            self._record(method, arguments, chat, answer, applied=False, ts=None)
            return answer
        answer = Answer(200, orjson.dumps({"ok": True} | result))
        if fault is not None and fault.kind in ("error", "status", "html", "cut", "raw"):
            answer = _of_fault(fault)
        ts = result.get("ts") or arguments.get("ts") or arguments.get("timestamp")
        self._record(method, arguments, chat, answer, applied=True, ts=ts)
        return answer

    def _result(self, method: str, arguments: JsonObject, token: str) -> JsonObject:
        if method == "apps.connections.open":
            app = self._authorize(token, app_level=True)
            url: JsonObject = {"url": self._open_socket()}
            if not app.socket_mode:
                url["response_metadata"] = {"messages": ["[WARN] Socket Mode is not turned on."]}
            return url
        if method not in self._table:
            raise Refusal("unknown_method")
        app = self._authorize(token, app_level=False)
        call, scope = self._table[method]
        if scope:
            app.must_have(scope)
        return call(arguments)

    def _authorize(self, token: str, *, app_level: bool) -> AppAccount:
        """The app whose token this is."""
        if not token:
            raise Refusal("not_authed")
        if self._world.app is None and self._any_token and token.startswith("xoxb-"):
            self._world.app = AppAccount(token, "", SIGNING_SECRET)
        app = self._world.app
        if app is None:
            raise Refusal("invalid_auth")
        if app_level and self._any_token and token.startswith("xapp-"):
            return app
        right, wrong = (app.app_token, app.bot_token) if app_level else (app.bot_token, app.app_token)
        if token == wrong:
            raise Refusal("not_allowed_token_type")
        if token != right:
            raise Refusal("invalid_auth")
        if app.revoked:
            raise Refusal("token_revoked")
        return app

    def _record(
        self, method: str, arguments: JsonObject, chat: str | None, answer: Answer, *, applied: bool, ts: JsonValue
    ) -> None:
        """Keep the call for the history and wake who waits for a change."""
        if method in _UNRECORDED:
            return
        text = arguments.get("text") or arguments.get("markdown_text") or arguments.get("initial_comment")
        self._world.record(
            "" if self._world.app is None else self._world.app.user,
            method,
            chat_id=chat,
            message_id=ts if isinstance(ts, str) else None,
            text=text if isinstance(text, str) else None,
            status=answer.status,
            applied=applied,
            description=answer.why,
        )
        self._changed()

    # ------------------------------------------------------------ response URLs

    async def respond(self, request: web.BaseRequest) -> web.StreamResponse:
        """A post to a response URL: good for 30 minutes and five uses."""
        body = _arguments(await request.read(), "application/json", "")
        url = self._world.response_urls.get(request.path.rpartition("/")[2])
        if url is None or url.left < 1 or url.ends_s < time.monotonic():
            word = b"used_url" if url is not None and url.left < 1 else b"expired_url"
            return web.Response(status=404, body=word)
        fault = self._faults.due("response_url", url.chat)
        answer = Answer(200, b"ok", "text/plain")
        if fault is not None:
            answer = _of_fault(fault)
        if fault is None or fault.applied:
            try:
                content = check_content(body.get("text"), body.get("blocks"))
            except Refusal as refusal:
                return web.Response(status=400, body=refusal.error.encode())
            url.left -= 1
            world, chat = self._world, self._world.chat(url.chat)
            shown = ShownMessage(world.new_ts(), chat.id, world.the_app().user, True, "", time.monotonic())
            shown.take(content)
            shown.ephemeral_for = url.user if body.get("response_type", "ephemeral") == "ephemeral" else None
            chat.messages[shown.ts] = shown
            self._record("response_url", body, chat.id, answer, applied=True, ts=shown.ts)
        return answer.to(request)

    # ------------------------------------------------------------ files

    async def upload(self, request: web.BaseRequest) -> web.StreamResponse:
        """The bytes of a file whose URL was asked for."""
        if self._faults.due("upload", None) is not None:
            return web.Response(status=500)
        took = self._reading.take_upload(request.path.rpartition("/")[2], await request.read())
        return web.Response(status=200 if took else 400, body=b"OK" if took else b"bad upload")

    async def download(self, request: web.BaseRequest) -> web.StreamResponse:
        """A file, for who shows the bot token; others are led to a page."""
        file = self._world.files.get(request.path.split("/")[2])
        fault = self._faults.due("download", None)
        if fault is not None:
            return web.Response(status=fault.status)
        app = self._world.the_app()
        if request.headers.get("Authorization") != f"Bearer {app.bot_token}" or "files:read" not in app.scopes:
            return web.Response(status=302, headers={"Location": "/login"})
        if file is None:
            return web.Response(status=404)
        return web.Response(body=file.content, content_type=file.mimetype)


def _of_fault(fault: Fault) -> Answer:
    between = of_network(fault)
    if between is not None:
        return between
    limited = fault.error == "ratelimited" or fault.status == 429
    status = 429 if limited else fault.status if fault.kind == "status" else 200
    body = fault.answer() | ({"error": "ratelimited"} if limited else {})
    headers = {"Retry-After": str(fault.retry_after_s)} if limited else {}
    return Answer(status, orjson.dumps(body), headers=headers, why=str(body["error"]))


def _refusal_answer(refusal: Refusal) -> Answer:
    wait_s = refusal.more.get("retry_after")
    body = orjson.dumps({"ok": False, "error": refusal.error} | refusal.more)
    headers = {"Retry-After": str(wait_s)} if isinstance(wait_s, int) else {}
    return Answer(refusal.status, body, headers=headers, why=refusal.error)


def _arguments(body: bytes, content_type: str, query: str) -> JsonObject:
    """The arguments in the query, in a form (nested ones as JSON) or in a JSON body."""
    found: JsonObject = dict(parse_qsl(query, keep_blank_values=True))
    if content_type == "application/json" and body:
        try:
            decoded = orjson.loads(body)
        except orjson.JSONDecodeError:
            return found
        return found | (decoded if isinstance(decoded, dict) else {})
    for name, value in parse_qsl(body.decode(errors="replace"), keep_blank_values=True):
        found[name] = _decode_nested(value) if value[:1] in "[{" else value
    return found


def _decode_nested(value: str) -> JsonValue:
    try:
        decoded: JsonValue = orjson.loads(value)
    except orjson.JSONDecodeError:
        return value
    return decoded
