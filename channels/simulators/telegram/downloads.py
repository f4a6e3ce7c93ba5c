"""Answers GET /file/bot<token>/<path> with the content of a file, in chunks without a length, as large ones come."""

import asyncio
from urllib.parse import unquote

import orjson
from aiohttp import web

from channels.simulators.telegram.checks import Refusal
from channels.simulators.telegram.faults import Fault, Faults
from channels.simulators.telegram.state import World

CHUNK_BYTES = 65_536


class Downloads:
    """Hands out what `getFile` gave the path of. Faults hit it under the name "download"."""

    def __init__(self, world: World, faults: Faults) -> None:
        self._world = world
        self._faults = faults

    async def handle(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        """One download."""
        token, _, file_path = path.removeprefix("/file/bot").partition("/")
        try:
            bot = self._world.bot_of(token)
            content = next((file.content for file in bot.files.values() if file.path == unquote(file_path)), None)
            if content is None:
                raise Refusal(404, "Not Found")
        except Refusal as refusal:
            return _refusal_response(refusal.status, refusal.description)
        fault = self._faults.due("download", None)
        if fault is not None and fault.kind in {"status", "html"}:
            return _refusal_response(fault.status, str(fault.answer()["description"]))
        return await _stream(request, content, fault)


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


def _refusal_response(status: int, description: str) -> web.Response:
    body = {"ok": False, "error_code": status, "description": description}
    return web.Response(status=status, body=orjson.dumps(body), content_type="application/json")
