"""The playground's page, which starts the playground in a process of its own and redirects to it."""

import asyncio
import re
import sys
from contextlib import suppress

import structlog
from aiohttp import web

PATH = "/playground"
START_S = 20.0
END_S = 10.0

_COMMAND = (sys.executable, "-m", "gateway", "playground", "--port", "0", "--attached")
_ADDRESS = re.compile(rb"http://\S+")

log = structlog.get_logger()


class PlaygroundProcess:
    """The playground's process. It ends with `aclose`, and by itself if this process is killed."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._address = ""
        self._starting = asyncio.Lock()

    async def open(self, request: web.Request) -> web.Response:
        """Start the playground if it is not running, and redirect to it. Refuse requests from other sites' pages."""
        if request.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
            raise web.HTTPForbidden(
                text="open this address yourself: another site's page may not open the playground\n"
            )
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                await self._start()
        raise web.HTTPTemporaryRedirect(self._address)

    async def aclose(self) -> None:
        """End the playground with its gateway."""
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        assert process.stdin is not None, "the process was started with pipes"
        process.stdin.close()
        try:
            async with asyncio.timeout(END_S):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _start(self) -> None:
        self._process = process = await asyncio.create_subprocess_exec(
            *_COMMAND, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True
        )
        assert process.stdout is not None, "the process was started with pipes"
        line = b""
        with suppress(TimeoutError):
            async with asyncio.timeout(START_S):
                line = await process.stdout.readline()
        address = _ADDRESS.search(line)
        if address is None:
            await self.aclose()
            raise web.HTTPServiceUnavailable(text="the playground did not start; `tenk playground` says why\n")
        self._address = address[0].decode()
        log.info("playground_started", url=self._address)
