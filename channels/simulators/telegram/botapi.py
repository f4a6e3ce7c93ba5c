"""The HTTP side of the simulated Bot API: /bot<token>/<method> and /file/bot<token>/<path>."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import unquote

import orjson
from aiohttp import web
from pydantic import JsonValue

from channels.simulators.shared.faults import Fault, FaultScript, held_up
from channels.simulators.shared.wire import Answer, Wire
from channels.simulators.shared.world import Call, File, JsonObject, Refused
from channels.simulators.telegram.checks import Refusal
from channels.simulators.telegram.methods import Methods
from channels.simulators.telegram.params import Params, read_params
from channels.simulators.telegram.state import Bot, TelegramWorld

CHUNK_BYTES = 65_536  # of a download, sent without a length as large ones come
MAX_POLL_S = 50  # LONG_POLL_MAX_TIMEOUT of tdlib/telegram-bot-api

_USUAL = {
    401: "Unauthorized",
    403: "Forbidden: bot was blocked by the user",
    409: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
    502: "Bad Gateway",
}


class BotApi(Wire[int]):
    """Answers as the Bot API does, whatever a client sends."""

    def __init__(self, world: TelegramWorld, methods: Methods, faults: FaultScript) -> None:
        """Take the world, what carries out calls, and the script in force."""
        super().__init__(world, faults)
        self._world = world
        self._methods = methods

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one call."""
        path, _, query = request.raw_path.partition("?")
        try:
            if path.startswith("/file/bot"):
                return await self._download(request, path)
            token, _, method = path.removeprefix("/bot").partition("/")
            bot = self._world.bot_of(token)
            params = await _params_of(request, query)
            answer = await self._answer(bot, method.lower(), params)
        except Refusal as refusal:
            answer = self.refusal(refusal)
        return answer.to(request)

    async def _answer(self, bot: Bot, method: str, params: Params) -> Answer:
        if method == "getupdates":
            return await self._poll(bot, params)
        name, carry_out = self._methods.find(method)
        call = Call(
            bot.id,
            name,
            params.integer("chat_id"),
            params.integer("message_id"),
            params.text("text") or params.text("caption") or None,
            kept=name != "getMe",
        )
        return await self.answer(call, lambda: carry_out(bot, params))

    async def _poll(self, bot: Bot, params: Params) -> Answer:
        """Answer getUpdates."""
        fault = self.faults.due("getUpdates", None)
        async with held_up(fault):
            if fault is not None and fault.hides and not fault.applied:
                return self.faulty(fault)
            if bot.webhook is not None:
                raise Refusal(
                    409,
                    "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the"
                    " webhook first",
                )
            bot.updates.allow(params.json("allowed_updates"))
            if fault is not None and fault.kind == "malformed":
                bot.updates.push_raw({"message": {"message_id": "not a number", "chat": []}})
            limit, offset = params.integer("limit"), params.integer("offset") or 0
            bot.updates.confirm(offset)
            self._world.notify()
            batch = await bot.updates.poll(
                offset=offset,
                limit=100 if limit is None else min(max(limit, 1), 100),
                timeout_s=min(max(params.integer("timeout") or 0, 0), MAX_POLL_S),
            )
            if fault is not None and fault.kind == "duplicate":
                batch = [update for update in batch for _ in range(2)]
            if fault is not None and fault.hides:
                return self.faulty(fault)
            return Answer(200, b'{"ok":true,"result":[' + b",".join(batch) + b"]}")

    async def _download(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        """Send a file that `getFile` gave the path of."""
        token, _, file_path = path.removeprefix("/file/bot").partition("/")
        bot = self._world.bot_of(token)
        file = next((file for file in bot.files.values() if file.path == unquote(file_path)), None)
        if file is None:
            raise Refusal(404, "Not Found")
        fault = self.faults.due("download", None)
        if fault is not None and fault.kind in ("status", "html"):
            return self.error(fault).to(request)
        return await _stream(request, file.content, fault)

    # ------------------------------------------------------------ words

    def success(self, call: Call[int], result: JsonValue) -> Answer:
        return Answer(200, orjson.dumps({"ok": True, "result": result}))

    def add_ids(self, call: Call[int], result: JsonValue) -> Call[int]:
        first = result[0] if isinstance(result, list) and result else result
        made = first.get("message_id") if isinstance(first, dict) else None
        return replace(call, message_id=made) if isinstance(made, int) else call

    def error(self, fault: Fault) -> Answer:
        limited: JsonObject = {"retry_after": fault.retry_after_s}
        wait = f"Too Many Requests: retry after {fault.retry_after_s}" if fault.status == 429 else None
        words = fault.description or wait or _USUAL.get(fault.status, "Internal Server Error")
        return self.refusal(Refusal(fault.status, words, limited if fault.status == 429 else None))

    def refusal(self, refused: Refused) -> Answer:
        assert isinstance(refused, Refusal), "the only one here"
        body: JsonObject = {"ok": False, "error_code": refused.status, "description": refused.description}
        if refused.parameters:
            body["parameters"] = refused.parameters
        return Answer(refused.status, orjson.dumps(body), why=refused.description)


async def _params_of(request: web.BaseRequest, query: str) -> Params:
    """Return the parameters of a request with any body the Bot API takes, and its files."""
    if request.content_type != "multipart/form-data":
        return read_params(await request.read(), request.content_type, query)
    fields = await request.post()
    files: Mapping[str, File] = {
        name: _read_upload(value) for name, value in fields.items() if isinstance(value, web.FileField)
    }
    return Params({name: value for name, value in fields.items() if isinstance(value, str)}, files)


def _read_upload(field: web.FileField) -> File:
    with field.file:
        return File("document", field.file.read(), field.filename, field.content_type)


async def _stream(request: web.BaseRequest, content: bytes, fault: Fault | None) -> web.StreamResponse:
    """Send content; a fault holds it up, or cuts it off: before the first byte, or with `applied` half-way."""
    response = web.StreamResponse(headers={"Content-Type": "application/octet-stream"})
    cut_at = None
    if fault is not None and fault.kind == "cut":
        cut_at = len(content) // 2 if fault.applied else 0
    await response.prepare(request)
    for start in range(0, len(content) if cut_at is None else cut_at, CHUNK_BYTES):
        await response.write(content[start : start + CHUNK_BYTES])
        if fault is not None and fault.kind == "delay":
            await asyncio.sleep(fault.delay_s)
    if cut_at is not None and request.transport is not None:
        request.transport.abort()
        return response
    await response.write_eof()
    return response
