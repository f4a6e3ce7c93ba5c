"""The HTTP side of the simulated Slack: Web API, response URLs and files, under the fault script."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from urllib.parse import parse_qsl

import orjson
from aiohttp import web
from pydantic import JsonValue

from channels.simulators.shared.faults import Fault, FaultScript
from channels.simulators.shared.wire import Answer, Wire
from channels.simulators.shared.world import Call, JsonObject, Refused
from channels.simulators.slack.checks import Refusal, check_content
from channels.simulators.slack.methods import Method, ReadingMethods
from channels.simulators.slack.state import SIGNING_SECRET, AppAccount, SlackWorld

_READS = frozenset(
    {
        "auth.test",
        "apps.connections.open",
        "conversations.history",
        "conversations.replies",
        "users.conversations",
        "users.info",
        "files.info",
    }
)


class WebApi(Wire[str]):
    """Answers /api/<method>, /hooks/…, /upload/… and /files-pri/… as Slack does, whatever a client sends."""

    def __init__(
        self,
        world: SlackWorld,
        faults: FaultScript,
        table: Mapping[str, tuple[Method, str]],
        reading: ReadingMethods,
        open_socket: Callable[[], str],
        *,
        any_token: bool,
    ) -> None:
        """Take the world, the script in force, the methods with their scopes, and what makes a socket's URL."""
        super().__init__(world, faults)
        self._world = world
        self._table = table
        self._reading = reading
        self._open_socket = open_socket
        self._any_token = any_token

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one call of the Web API."""
        method = request.path.removeprefix("/api/")
        arguments = _arguments(await request.read(), request.content_type, request.query_string)
        token = request.headers.get("Authorization", "").removeprefix("Bearer").strip() or str(
            arguments.pop("token", "")
        )
        chat = arguments.get("channel") or arguments.get("channel_id")
        call = self._incoming(method, arguments, chat if isinstance(chat, str) else None)
        answer = await self.answer(call, lambda: self._result(method, arguments, token))
        response = answer.to(request)
        if self._world.app is not None and answer.content_type == "application/json":
            response.headers["x-oauth-scopes"] = self._world.app.scopes
        return response

    def _incoming(self, method: str, arguments: JsonObject, chat: str | None) -> Call[str]:
        text = arguments.get("text") or arguments.get("markdown_text") or arguments.get("initial_comment")
        ts = arguments.get("ts") or arguments.get("timestamp")
        return Call(
            "" if self._world.app is None else self._world.app.user,
            method,
            chat,
            ts if isinstance(ts, str) else None,
            text if isinstance(text, str) else None,
            kept=method not in _READS,
        )

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
        """Return the app whose token this is."""
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

    # ------------------------------------------------------------ response URLs and files

    async def respond(self, request: web.BaseRequest) -> web.StreamResponse:
        """Take a post to a response URL, which is good for 30 minutes and five uses."""
        body = _arguments(await request.read(), "application/json", "")
        url = self._world.response_urls.get(request.path.rpartition("/")[2])
        if url is None or url.left < 1 or url.ends_s < time.monotonic():
            word = b"used_url" if url is not None and url.left < 1 else b"expired_url"
            return web.Response(status=404, body=word)
        try:
            content = check_content(body.get("text"), body.get("blocks"))
        except Refusal as refusal:
            return web.Response(status=400, body=refusal.error.encode())

        def show() -> JsonObject:
            url.left -= 1
            shown = self._world.post(self._world.chat(url.chat), content)
            shown.only_for = url.user if body.get("response_type", "ephemeral") == "ephemeral" else None
            return {"ts": shown.message_id}

        answer = await self.answer(self._incoming("response_url", body, url.chat), show)
        return answer.to(request)

    async def upload(self, request: web.BaseRequest) -> web.StreamResponse:
        """Take the bytes of a file whose URL was asked for."""
        if self.faults.due("upload", None) is not None:
            return web.Response(status=500)
        took = self._reading.take_upload(request.path.rpartition("/")[2], await request.read())
        return web.Response(status=200 if took else 400, body=b"OK" if took else b"bad upload")

    async def download(self, request: web.BaseRequest) -> web.StreamResponse:
        """Send a file to a client that shows the bot token; lead others to a page."""
        file = self._world.files.get(request.path.split("/")[2])
        fault = self.faults.due("download", None)
        if fault is not None:
            return web.Response(status=fault.status)
        app = self._world.the_app()
        if request.headers.get("Authorization") != f"Bearer {app.bot_token}" or "files:read" not in app.scopes:
            return web.Response(status=302, headers={"Location": "/login"})
        if file is None:
            return web.Response(status=404)
        return web.Response(body=file.content, content_type=file.mime)

    # ------------------------------------------------------------ words

    def success(self, call: Call[str], result: JsonValue) -> Answer:
        if call.method == "response_url":
            return Answer(200, b"ok", "text/plain")
        return Answer(200, orjson.dumps({"ok": True} | (result if isinstance(result, dict) else {})))

    def add_ids(self, call: Call[str], result: JsonValue) -> Call[str]:
        ts = result.get("ts") if isinstance(result, dict) else None
        return replace(call, message_id=ts) if isinstance(ts, str) else call

    def error(self, fault: Fault) -> Answer:
        limited = fault.error == "ratelimited" or fault.status == 429
        status = 429 if limited else fault.status if fault.kind == "status" else 200
        body: JsonObject = {"ok": False, "error": "ratelimited" if limited else fault.error}
        if fault.needed:
            body |= {"needed": fault.needed, "provided": "chat:write"}
        headers = {"Retry-After": str(fault.retry_after_s)} if limited else {}
        return Answer(status, orjson.dumps(body), headers=headers, why=str(body["error"]))

    def refusal(self, refused: Refused) -> Answer:
        assert isinstance(refused, Refusal), "the only one here"
        wait_s = refused.more.get("retry_after")
        body = orjson.dumps({"ok": False, "error": refused.error} | refused.more)
        headers = {"Retry-After": str(wait_s)} if isinstance(wait_s, int) else {}
        return Answer(refused.status, body, headers=headers, why=refused.error)


def _arguments(body: bytes, content_type: str, query: str) -> JsonObject:
    """Return the arguments in the query, in a form (nested ones as JSON) or in a JSON body."""
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
