"""The HTTP side of the simulated Bot API: reads a call, applies the fault script, answers as Telegram would."""

import asyncio
from collections.abc import Callable
from urllib.parse import unquote

import orjson
from aiohttp import web

from channels.simulators.shared.server import Answer, held_up, of_network
from channels.simulators.telegram.checks import JsonObject, Refusal
from channels.simulators.telegram.faults import Fault, Faults
from channels.simulators.telegram.methods import Methods
from channels.simulators.telegram.params import Params, UploadedFile, read_params
from channels.simulators.telegram.state import Bot, World

CHUNK_BYTES = 65_536  # of a download, sent without a length as large ones come
MAX_POLL_S = 50  # LONG_POLL_MAX_TIMEOUT of tdlib/telegram-bot-api
_UNRECORDED = frozenset({"getme", "getupdates"})


class BotApi:
    """Answers /bot<token>/<method> and /file/bot<token>/<path>."""

    def __init__(self, world: World, methods: Methods, faults: Faults, changed: Callable[[], None]) -> None:
        """`changed` is called after every call that may have changed what people see."""
        self._world = world
        self._methods = methods
        self._faults = faults
        self._changed = changed

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One call, whatever it is; never raises for what a client sends."""
        path, _, query = request.raw_path.partition("?")
        if path.startswith("/file/bot"):
            return await self._download(request, path)
        token, _, method = path.removeprefix("/bot").partition("/")
        try:
            bot = self._world.bot_of(token)
            params = await _params_of(request, query)
            answer = await self._answer(bot, method.lower(), params)
        except Refusal as refusal:
            answer = _refusal_answer(refusal)
        return answer.to(request)

    async def _download(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        """A file that `getFile` gave the path of; faults hit it under the name "download"."""
        token, _, file_path = path.removeprefix("/file/bot").partition("/")
        try:
            bot = self._world.bot_of(token)
            content = next((file.content for file in bot.files.values() if file.path == unquote(file_path)), None)
            if content is None:
                raise Refusal(404, "Not Found")
        except Refusal as refusal:
            return _refusal_answer(refusal).to(request)
        fault = self._faults.due("download", None)
        if fault is not None and fault.kind in {"status", "html"}:
            return _refusal_answer(Refusal(fault.status, str(fault.answer()["description"]))).to(request)
        return await _stream(request, content, fault)

    async def _answer(self, bot: Bot, method: str, params: Params) -> Answer:
        """The answer to one call of a known bot, with the fault that is due."""
        fault = self._faults.due(method, params.integer("chat_id"))
        async with held_up(fault):
            return await self._under(bot, method, params, fault)

    async def _under(self, bot: Bot, method: str, params: Params, fault: Fault | None) -> Answer:
        """The answer to one call, when its time has come."""
        if fault is not None and not fault.applied and fault.kind in ("status", "html", "cut", "raw"):
            answer = _faulty(fault)
            self._record(bot, method, params, answer, applied=False, message_id=None)
            return answer
        if method == "getupdates":
            return await self._poll(bot, params, fault)
        return self._carry_out(bot, method, params, fault)

    def _carry_out(self, bot: Bot, method: str, params: Params, fault: Fault | None) -> Answer:
        """Do what is asked; a fault that comes after it hides the answer."""
        self._methods.name_of(method)
        try:
            result = self._methods.call(bot, method, params)
        except Refusal as refusal:
            answer = _refusal_answer(refusal)
            self._record(bot, method, params, answer, applied=False, message_id=None, why=refusal.description)
            return answer
        answer = Answer(200, orjson.dumps({"ok": True, "result": result}))
        if fault is not None and fault.kind in ("status", "html", "cut", "raw"):
            answer = _faulty(fault)
        first = result[0] if isinstance(result, list) and result else result
        message_id = first.get("message_id") if isinstance(first, dict) else params.integer("message_id")
        self._record(
            bot, method, params, answer, applied=True, message_id=message_id if isinstance(message_id, int) else None
        )
        return answer

    def _record(
        self,
        bot: Bot,
        method: str,
        params: Params,
        answer: Answer,
        *,
        applied: bool,
        message_id: int | None,
        why: str = "",
    ) -> None:
        """Keep the call for the history and wake who waits for a change."""
        if method in _UNRECORDED:
            return
        self._world.record(
            bot.id,
            self._methods.name_of(method),
            chat_id=params.integer("chat_id"),
            message_id=message_id if message_id is not None else params.integer("message_id"),
            text=params.text("text") or params.text("caption") or None,
            status=answer.status,
            applied=applied,
            description=why,
        )
        self._changed()

    async def _poll(self, bot: Bot, params: Params, fault: Fault | None) -> Answer:
        """Answer getUpdates."""
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
        self._changed()
        batch = await bot.updates.poll(
            offset=offset,
            limit=100 if limit is None else min(max(limit, 1), 100),
            timeout_s=min(max(params.integer("timeout") or 0, 0), MAX_POLL_S),
        )
        if fault is not None and fault.kind == "duplicate":
            batch = [update for update in batch for _ in range(2)]
        if fault is not None and fault.kind in ("status", "html", "cut", "raw"):
            return _faulty(fault)
        return Answer(200, b'{"ok":true,"result":[' + b",".join(batch) + b"]}")


async def _params_of(request: web.BaseRequest, query: str) -> Params:
    """The parameters of a request with any body the Bot API takes, and its files."""
    if request.content_type == "multipart/form-data":
        fields = await request.post()
        files = {name: _read_upload(value) for name, value in fields.items() if isinstance(value, web.FileField)}
        return Params({name: value for name, value in fields.items() if isinstance(value, str)}, files)
    return read_params(await request.read(), request.content_type, query)


def _read_upload(field: web.FileField) -> UploadedFile:
    with field.file:
        return UploadedFile(field.filename, field.content_type, field.file.read())


def _refusal_answer(refusal: Refusal) -> Answer:
    """A refusal as the Bot API writes it."""
    body: JsonObject = {"ok": False, "error_code": refusal.status, "description": refusal.description}
    if refusal.parameters:
        body["parameters"] = refusal.parameters
    return Answer(refusal.status, orjson.dumps(body))


def _faulty(fault: Fault) -> Answer:
    """What a scripted fault makes the client see."""
    return of_network(fault) or Answer(fault.status, orjson.dumps(fault.answer()))


async def _stream(request: web.BaseRequest, content: bytes, fault: Fault | None) -> web.StreamResponse:
    """The content; a fault holds it up, or cuts it off: before the first byte, or with `applied` half-way."""
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
