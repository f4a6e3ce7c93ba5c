"""The HTTP side of the simulated REST API: /api/v10/..."""

import re
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import unquote

import orjson
from aiohttp import BodyPartReader, web
from pydantic import JsonValue

from channels.simulators.discord.checks import Refusal
from channels.simulators.discord.interactions import Interactions
from channels.simulators.discord.operations import Operations, RestCall, TooMany
from channels.simulators.discord.state import Bot, DiscordWorld
from channels.simulators.shared.faults import Fault, FaultScript
from channels.simulators.shared.wire import Answer, Wire
from channels.simulators.shared.world import Call, File, JsonObject, Refused

Operation = Callable[[Bot, RestCall], JsonValue]

_MADE = frozenset({"createMessage", "followUp", "editOriginal"})  # operations whose result is a message
_USUAL = {
    401: "401: Unauthorized",
    403: "Missing Access",
    404: "Unknown Channel",
    429: "You are being rate limited.",
    500: "500: Internal Server Error",
}


class Rest(Wire[int]):
    """Answers as Discord does, whatever a client sends."""

    def __init__(
        self, world: DiscordWorld, operations: Operations, interactions: Interactions, faults: FaultScript
    ) -> None:
        """Take the world, what carries out calls, and the script in force."""
        super().__init__(world, faults)
        self._world = world
        self._operations = operations
        self.gateway_url = ""
        channel, message = "/channels/<channel>", "/channels/<channel>/messages/<message>"
        webhook, reaction = "/webhooks/<application>/<token>", f"{message}/reactions/<emoji>/@me"
        commands, guild = "/applications/<application>/commands", "/guilds/<guild>"
        o, i = operations, interactions
        routes: list[tuple[str, str, str, Operation]] = [
            ("GET", "/users/@me", "getMe", o.me),
            ("GET", "/oauth2/applications/@me", "getApplication", o.application),
            ("GET", "/gateway", "getGateway", self._gateway),
            ("GET", "/gateway/bot", "getGateway", self._gateway),
            ("GET", "/users/@me/guilds", "getGuilds", o.my_guilds),
            ("POST", "/users/@me/channels", "openDm", o.open_dm),
            ("GET", f"{guild}/channels", "getChannels", o.guild_channels),
            ("GET", f"{guild}/threads/active", "getThreads", o.active_threads),
            ("GET", f"{channel}/threads/archived/public", "getArchived", o.archived_threads),
            ("GET", channel, "getChannel", o.channel),
            ("GET", f"{channel}/messages", "getMessages", o.messages),
            ("POST", f"{channel}/messages", "createMessage", o.create_message),
            ("POST", f"{channel}/typing", "typing", o.typing),
            ("GET", message, "getMessage", o.message),
            ("PATCH", message, "editMessage", o.edit_message),
            ("DELETE", message, "deleteMessage", o.delete_message),
            ("PUT", reaction, "react", o.react),
            ("DELETE", reaction, "unreact", o.unreact),
            ("GET", commands, "getCommands", o.commands),
            ("PUT", commands, "putCommands", o.put_commands),
            ("POST", "/interactions/<interaction>/<token>/callback", "callback", i.callback),
            ("POST", webhook, "followUp", i.follow_up),
            ("GET", f"{webhook}/messages/<message>", "getOriginal", i.read),
            ("PATCH", f"{webhook}/messages/<message>", "editOriginal", i.edit),
            ("DELETE", f"{webhook}/messages/<message>", "deleteOriginal", i.delete),
        ]
        self._routes = [
            (verb, re.compile(re.sub(r"<(\w+)>", r"(?P<\1>[^/]+)", path)), name, operation)
            for verb, path, name, operation in routes
        ]

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one call."""
        try:
            answer = await self._answer(request)
        except Refusal as refusal:
            answer = self.refusal(refusal)
        return answer.to(request)

    async def _answer(self, request: web.BaseRequest) -> Answer:
        path = re.sub(r"^/api/v\d+", "", request.raw_path.partition("?")[0])
        for verb, pattern, name, operation in self._routes:
            found = pattern.fullmatch(path) if verb == request.method else None
            if found is not None:
                ids = {key: unquote(value) for key, value in found.groupdict().items()}
                bot = self._bot(request, ids)
                return await self._call(name, operation, bot, await _read(request, ids))
        raise Refusal(404, 0, "404: Not Found")

    async def _call(self, name: str, operation: Operation, bot: Bot, read: RestCall) -> Answer:
        content = read.body.get("content")
        call = Call(
            bot.id,
            name,
            read.number("channel") or None,
            read.number("message") or None,
            content if isinstance(content, str) else None,
            kept=not name.startswith("get"),
        )
        return await self.answer(call, lambda: operation(bot, read))

    def _bot(self, request: web.BaseRequest, ids: dict[str, str]) -> Bot:
        """Return the bot that calls; the path of an interaction or a webhook, with its own token, needs none."""
        if "token" not in ids:
            return self._world.bot_of(request.headers.get("Authorization", ""))
        application = ids.get("application", "")
        named = self._world.bot_by_id(int(application)) if application.isdigit() else None
        return named or self._world.bot()

    def _gateway(self, bot: Bot, call: RestCall) -> JsonValue:
        allowed = bot.sessions.limit
        limit: JsonObject = {
            "total": allowed.total,
            "remaining": max(0, allowed.total - bot.sessions.identifies),
            "reset_after": 86_400_000,
            "max_concurrency": allowed.max_concurrency,
        }
        return {"url": self.gateway_url, "shards": allowed.shards, "session_start_limit": limit}

    # ------------------------------------------------------------ words

    def success(self, call: Call[int], result: JsonValue) -> Answer:
        if result is None:
            return Answer(204, b"")
        headers = self._operations.rate_headers(call.chat_id) if call.method == "createMessage" else {}
        return Answer(200, orjson.dumps(result), headers=headers)

    def add_ids(self, call: Call[int], result: JsonValue) -> Call[int]:
        made = result if isinstance(result, dict) else {}
        message_id = int(str(made.get("id") or 0)) if call.method in _MADE else 0
        chat_id = call.chat_id or int(str(made.get("channel_id") or 0)) or None
        return replace(call, chat_id=chat_id, message_id=message_id or call.message_id)

    def error(self, fault: Fault) -> Answer:
        words = fault.description or _USUAL.get(fault.status, f"{fault.status}: Error")
        headers = {"Via": "1.1 google"}
        body: JsonObject = {"message": words, "code": fault.code}
        if fault.status == 429:
            body = {"message": words, "retry_after": fault.retry_after_s, "global": fault.everywhere}
            headers["Retry-After"] = str(fault.retry_after_s)
            headers["X-RateLimit-Scope"] = "global" if fault.everywhere else "user"
            if fault.everywhere:
                headers["X-RateLimit-Global"] = "true"
        return Answer(fault.status, orjson.dumps(body), headers=headers)

    def refusal(self, refused: Refused) -> Answer:
        assert isinstance(refused, Refusal), "the only one here"
        headers: dict[str, str] = {}
        if isinstance(refused, TooMany):
            wait = f"{refused.retry_after_s:.3f}"
            headers = {"Via": "1.1 google", "Retry-After": wait, "X-RateLimit-Scope": "user"}
        return Answer(refused.status, orjson.dumps(refused.body()), headers=headers, why=refused.message)


async def _read(request: web.BaseRequest, ids: dict[str, str]) -> RestCall:
    """Return the query, body and files of a request."""
    uploads: list[File] = []
    raw = b""
    if request.content_type == "multipart/form-data":
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader), "Discord nests no multipart"
            content = bytes(await part.read())
            if part.name == "payload_json":
                raw = content
            else:
                mime = part.headers.get("Content-Type", "application/octet-stream")
                uploads.append(File("document", content, part.filename or "unknown", mime))
    else:
        raw = await request.read()
    try:
        decoded: JsonValue = orjson.loads(raw) if raw else {}
    except orjson.JSONDecodeError:
        raise Refusal(400, 50109, "The request body contains invalid JSON.") from None
    body = decoded if isinstance(decoded, dict) else {}
    return RestCall(ids, dict(request.query), body, None if isinstance(decoded, dict) else decoded, tuple(uploads))
