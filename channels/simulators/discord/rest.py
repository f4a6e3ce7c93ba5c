"""The HTTP side of the simulated REST API: reads a call, applies the fault script, answers as Discord would."""

import re
from collections.abc import Callable
from urllib.parse import unquote

import orjson
from aiohttp import BodyPartReader, web
from pydantic import JsonValue

from channels.simulators.discord.checks import JsonObject, Refusal, Upload
from channels.simulators.discord.faults import Fault, Faults
from channels.simulators.discord.interactions import Interactions
from channels.simulators.discord.operations import Operations, TooMany
from channels.simulators.discord.reading import Call, Reading
from channels.simulators.discord.state import Bot, World
from channels.simulators.shared.server import Answer, held_up, of_network

Operation = Callable[[Bot, Call], JsonValue]

_ID = r"(?P<{}>[^/]+)"
_READS = """
getMe getApplication getGuilds getChannels getThreads getArchived getChannel getMessages getMessage getGateway
getCommands getOriginal
"""
_UNRECORDED = frozenset(_READS.split())


def _paths(
    reading: Reading, operations: Operations, interactions: Interactions
) -> list[tuple[str, str, str, Operation, bool]]:
    """Every operation: HTTP method, path, name, who carries it out, whether it needs the bot's token."""
    r, o, i = reading, operations, interactions
    channel, message = "/channels/<channel>", "/channels/<channel>/messages/<message>"
    webhook, reaction = "/webhooks/<application>/<token>", "/channels/<channel>/messages/<message>/reactions/<emoji>"
    return [
        ("GET", "/users/@me", "getMe", r.me, True),
        ("GET", "/oauth2/applications/@me", "getApplication", r.application, True),
        ("GET", "/applications/@me", "getApplication", r.application, True),
        ("GET", "/users/@me/guilds", "getGuilds", r.my_guilds, True),
        ("POST", "/users/@me/channels", "openDm", o.open_dm, True),
        ("GET", "/guilds/<guild>/channels", "getChannels", r.guild_channels, True),
        ("GET", "/guilds/<guild>/threads/active", "getThreads", r.active_threads, True),
        ("GET", f"{channel}/threads/archived/public", "getArchived", r.archived_threads, True),
        ("GET", channel, "getChannel", r.channel, True),
        ("GET", f"{channel}/messages", "getMessages", r.messages, True),
        ("POST", f"{channel}/messages", "createMessage", o.create_message, True),
        ("POST", f"{channel}/typing", "typing", o.typing, True),
        ("GET", message, "getMessage", r.message, True),
        ("PATCH", message, "editMessage", o.edit_message, True),
        ("DELETE", message, "deleteMessage", o.delete_message, True),
        ("PUT", f"{reaction}/@me", "react", o.react, True),
        ("DELETE", f"{reaction}/@me", "unreact", o.unreact, True),
        ("POST", f"{message}/threads", "startThread", o.start_thread, True),
        ("GET", "/applications/<application>/commands", "getCommands", r.commands, True),
        ("PUT", "/applications/<application>/commands", "putCommands", r.put_commands, True),
        ("POST", "/interactions/<interaction>/<token>/callback", "callback", lambda _, call: i.callback(call), False),
        ("POST", webhook, "followUp", lambda _, call: i.follow_up(call), False),
        ("GET", f"{webhook}/messages/<message>", "getOriginal", lambda _, call: i.read(call), False),
        ("PATCH", f"{webhook}/messages/<message>", "editOriginal", lambda _, call: i.edit(call), False),
        ("DELETE", f"{webhook}/messages/<message>", "deleteOriginal", lambda _, call: i.delete(call), False),
    ]


class Rest:
    """Answers /api/v10/..."""

    def __init__(
        self,
        world: World,
        operations: Operations,
        interactions: Interactions,
        faults: Faults,
        change: Callable[[], None],
    ) -> None:
        """`changed` is called after every call that may have changed what people see."""
        self._world = world
        self._operations = operations
        self._faults = faults
        self._changed = change
        self._routes = [
            (
                verb,
                re.compile(re.sub(r"<(\w+)>", lambda found: _ID.format(found[1]), path)),
                name,
                operation,
                authorized,
            )
            for verb, path, name, operation, authorized in _paths(Reading(world), operations, interactions)
        ]
        self.gateway_url = ""

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One call, whatever it is; never raises for what a client sends."""
        try:
            answer = await self._answer(request)
        except Refusal as refusal:
            answer = self._to_answer(refusal)
        return answer.to(request)

    async def _answer(self, request: web.BaseRequest) -> Answer:
        path = re.sub(r"^/api/v\d+", "", request.raw_path.partition("?")[0])
        if request.method == "GET" and path in ("/gateway", "/gateway/bot"):
            return self._gateway(request)
        verb = request.method
        for wanted, pattern, name, operation, authorized in self._routes:
            found = pattern.fullmatch(path) if wanted == verb else None
            if found is not None:
                ids = {key: unquote(value) for key, value in found.groupdict().items()}
                bot = self._bot(request, authorized=authorized, application=ids.get("application", ""))
                call = await _read(request, ids)
                return await self._answer_faulty(name, operation, bot, call)
        raise Refusal(404, 0, "404: Not Found")

    def _bot(self, request: web.BaseRequest, *, authorized: bool, application: str) -> Bot:
        """Who calls; a webhook's path needs no token, its bot is the one it names."""
        if authorized:
            return self._world.bot_of(request.headers.get("Authorization", ""))
        named = self._world.bot_by_id(int(application)) if application.isdigit() else None
        return named or self._world.bot()

    def _gateway(self, request: web.BaseRequest) -> Answer:
        bot = self._world.bot_of(request.headers.get("Authorization", ""))
        fault = self._faults.due("getGateway", None)
        if fault is not None and fault.kind != "delay":
            return _faulty(fault)
        allowed = bot.sessions.limit
        limit: JsonObject = {
            "total": allowed.total,
            "remaining": max(0, allowed.total - bot.sessions.identifies),
            "reset_after": 86_400_000,
            "max_concurrency": allowed.max_concurrency,
        }
        body: JsonObject = {"url": self.gateway_url, "shards": allowed.shards, "session_start_limit": limit}
        return Answer(200, orjson.dumps(body))

    async def _answer_faulty(self, name: str, operation: Operation, bot: Bot, call: Call) -> Answer:
        """The answer to one call, with the fault that is due."""
        fault = self._faults.due(name, call.number("channel") or None)
        async with held_up(fault):
            if fault is None or fault.kind == "delay":
                return self._carry_out(name, operation, bot, call, None)
            if fault.applied:
                return self._carry_out(name, operation, bot, call, fault)
        answer = _faulty(fault)
        self._record(name, bot, call, answer, applied=False, result=None)
        return answer

    def _carry_out(self, name: str, operation: Operation, bot: Bot, call: Call, fault: Fault | None) -> Answer:
        """Do what is asked; a fault that comes after it hides the answer."""
        try:
            result = operation(bot, call)
        except Refusal as refusal:
            answer = self._to_answer(refusal)
            self._record(name, bot, call, answer, applied=False, result=None, why=refusal.message)
            return answer
        if fault is not None:
            answer = _faulty(fault)
        elif result is None:
            answer = Answer(204, b"")
        else:
            headers = self._operations.rate_headers(call.number("channel")) if name == "createMessage" else {}
            answer = Answer(200, orjson.dumps(result), headers=headers)
        self._record(name, bot, call, answer, applied=True, result=result)
        return answer

    def _to_answer(self, refusal: Refusal) -> Answer:
        """A refusal as Discord writes it."""
        headers: dict[str, str] = {}
        if isinstance(refusal, TooMany):
            wait = f"{refusal.retry_after_s:.3f}"
            headers = {"Via": "1.1 google", "Retry-After": wait, "X-RateLimit-Scope": "user"}
        return Answer(refusal.status, orjson.dumps(refusal.body()), headers=headers)

    def _record(
        self, name: str, bot: Bot, call: Call, answer: Answer, *, applied: bool, result: JsonValue, why: str = ""
    ) -> None:
        """Keep the call for the history and wake who waits for a change."""
        if name in _UNRECORDED:
            return
        made = result if isinstance(result, dict) else {}
        message_id = str(made.get("id") or "") if name in ("createMessage", "followUp", "editOriginal") else ""
        chat_id = call.number("channel") or int(str(made.get("channel_id") or 0)) or None
        content = call.body.get("content")
        self._world.record(
            bot.id,
            name,
            chat_id=chat_id,
            message_id=int(message_id) if message_id else call.number("message") or None,
            text=content if isinstance(content, str) else None,
            status=answer.status,
            applied=applied,
            description=why,
        )
        self._changed()


async def _read(request: web.BaseRequest, ids: dict[str, str]) -> Call:
    """The query, body and files of a request."""
    query = dict(request.query)
    uploads: list[Upload] = []
    raw = b""
    if request.content_type == "multipart/form-data":
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader), "Discord nests no multipart"
            content = bytes(await part.read())
            if part.name == "payload_json":
                raw = content
            else:
                mime = part.headers.get("Content-Type", "application/octet-stream")
                uploads.append(Upload(part.filename or "unknown", content, mime))
    else:
        raw = await request.read()
    try:
        decoded: JsonValue = orjson.loads(raw) if raw else {}
    except orjson.JSONDecodeError:
        raise Refusal(400, 50109, "The request body contains invalid JSON.") from None
    body = decoded if isinstance(decoded, dict) else {}
    return Call(ids, query, body, None if isinstance(decoded, dict) else decoded, tuple(uploads))


def _faulty(fault: Fault) -> Answer:
    """What a scripted fault makes the client see."""
    between = of_network(fault)
    if between is not None:
        return between
    headers = {"Via": "1.1 google"}
    if fault.status == 429:
        headers["Retry-After"] = f"{fault.retry_after_s:g}"
        headers["X-RateLimit-Scope"] = "global" if fault.everywhere else "user"
        if fault.everywhere:
            headers["X-RateLimit-Global"] = "true"
    return Answer(fault.status, orjson.dumps(fault.answer()), headers=headers)
