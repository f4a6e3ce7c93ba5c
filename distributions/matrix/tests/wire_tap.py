"""A proxy between the channel and the homeserver: it fails calls, and delivers an answer of /sync again."""

import asyncio
from collections import deque
from typing import Self

from aiohttp import ClientSession, web
from yarl import URL

from distributions.matrix.tests.homeserver import free_port


class WireTap:
    """Listens while its context is open."""

    def __init__(self, target: str) -> None:
        self._target = target
        self.url = f"http://127.0.0.1:{free_port()}"
        self._replies: deque[tuple[str, web.Response]] = deque()
        self._cuts: deque[str] = deque()
        self._told = ""  # the token from which people's messages were told the last time
        self._rewind = asyncio.Event()
        self._rewound = asyncio.Event()
        self.calls: list[str] = []

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._pass_on)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        self._session = ClientSession(auto_decompress=False)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", URL(self.url).port).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()
        await self._session.close()

    def answer_next(self, part: str, status: int, body: object) -> None:
        """Answer the next call whose path has this part; the homeserver does not hear of it."""
        self._replies.append((part, web.json_response(body, status=status)))

    def cut_next(self, part: str) -> None:
        """Break the connection of the next call whose path has this part, after the homeserver has acted.

        The client repeats a PUT by itself if a kept connection breaks, so that breaks, too.
        """
        self._cuts += [part, part]

    async def redeliver(self) -> None:
        """Tell the newest messages again, as if the channel had lost its newest token."""
        self._rewound.clear()
        self._rewind.set()
        await asyncio.wait_for(self._rewound.wait(), 30)

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        self.calls.append(f"{request.method} {request.path}")
        if self._replies and self._replies[0][0] in request.path:
            return self._replies.popleft()[1]
        if request.path.endswith("/sync") and "since" in request.query:
            return await self._sync(request)
        answer = await self._ask(request, request.rel_url.raw_query_string)
        if self._cuts and self._cuts[0] in request.path:
            self._cuts.popleft()
            request.transport.abort()
        return answer

    async def _sync(self, request: web.Request) -> web.Response:
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(self._ask(request, request.rel_url.raw_query_string))
            waiting = tasks.create_task(self._rewind.wait())
            await asyncio.wait({asking, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if asking.done():
                answer = asking.result()
                if b'"m.text"' in (answer.body or b""):
                    self._told = request.query["since"]
                return answer
            asking.cancel()
            self._rewind.clear()
            rewound = request.rel_url.update_query(since=self._told)
            again = await self._ask(request, rewound.raw_query_string)
            self._rewound.set()
            return again

    async def _ask(self, request: web.Request, query: str) -> web.Response:
        url = URL(self._target + request.raw_path.partition("?")[0] + (f"?{query}" if query else ""), encoded=True)
        kept = {name: request.headers[name] for name in ("Authorization", "Content-Type") if name in request.headers}
        headers = kept | {"Accept-Encoding": "identity"}
        async with self._session.request(request.method, url, data=await request.read(), headers=headers) as answer:
            kept = {name: answer.headers[name] for name in ("Content-Type",) if name in answer.headers}
            return web.Response(body=await answer.read(), status=answer.status, headers=kept)
