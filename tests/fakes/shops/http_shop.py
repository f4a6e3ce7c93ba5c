"""The shop as a server that streams its answers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from tests.fakes.shops import tools
from tests.fakes.shops.words import Use, decide


async def answer(request: web.Request) -> web.StreamResponse:
    asked = await request.json()
    heard = [each["text"] for each in (*asked["history"], *asked["messages"]) if each["role"] == "user"]
    said = decide(heard, pictures=len(asked["messages"][-1].get("pictures", [])))
    if isinstance(said, Use):
        return web.json_response({"text": f"The shop says: {await getattr(tools, said.tool)(said.item)}"})
    stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await stream.prepare(request)
    for piece in said.pieces:
        await stream.write(event({"delta": piece}))
    if said.trouble == "hang":
        await asyncio.Event().wait()
    if said.trouble != "break":
        await stream.write(event({"text": "".join(said.pieces)}))
    return stream


def event(said: dict[str, str]) -> bytes:
    return f"data: {json.dumps(said)}\n\n".encode()


@asynccontextmanager
async def serving(app: web.Application) -> AsyncIterator[str]:
    """Serve the application; yield its URL. A handler ends when its client goes."""
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def shop() -> AsyncIterator[str]:
    """Serve the shop; yield its URL."""
    app = web.Application()
    app.router.add_post("/", answer)
    async with serving(app) as url:
        yield url
