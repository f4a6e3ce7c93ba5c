"""A server with OpenAI's audio endpoints on the loopback interface; its script says what comes."""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web
from aiohttp.web_request import FileField

OGG = b"OggS\x00\x02" + bytes(40)
"""The beginning of an Ogg file."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to `/audio/transcriptions` or `/audio/speech`."""

    text: str = ""  # transcript
    usage: dict[str, Any] | None = None
    status: int = 200
    body: bytes | None = None  # in place of all above
    content_type: str = "application/json"
    hangs: bool = False


@dataclass
class AudioServer:
    """Listens on 127.0.0.1 while its context is open."""

    heard: list[dict[str, Any]] = field(default_factory=list)  # requests for transcripts
    spoken: list[dict[str, Any]] = field(default_factory=list)  # requests for speech
    keys: list[str] = field(default_factory=list)
    usual: Answer = Answer("forty five minutes of guitar")
    voice: Answer = Answer(body=OGG + b"spoken", content_type="audio/ogg")

    def __post_init__(self) -> None:
        self.script: deque[Answer] = deque()  # of the next transcripts
        self._ended = asyncio.Event()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=30_000_000)
        app.router.add_post("/v1/audio/transcriptions", self._transcribe)
        app.router.add_post("/v1/audio/speech", self._speak)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._ended.set()
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    @property
    def config(self) -> str:
        """Return the table of the configuration that uses it for both."""
        return f'[voice]\ntranscription_url = "{self.url}"\nspeech_url = "{self.url}"\n'

    async def _transcribe(self, request: web.Request) -> web.Response:
        form = await request.post()
        file = form["file"]
        assert isinstance(file, FileField)
        given = {"name": file.filename, "type": file.content_type, "content": file.file.read(), "model": form["model"]}
        self.heard.append(given)
        return await self._answer(request, self.script.popleft() if self.script else self.usual)

    async def _speak(self, request: web.Request) -> web.Response:
        self.spoken.append(await request.json())
        return await self._answer(request, self.voice)

    async def _answer(self, request: web.Request, answer: Answer) -> web.Response:
        self.keys.append(request.headers.get("Authorization", ""))
        if answer.hangs:
            await self._ended.wait()
        if answer.body is not None:
            return web.Response(status=answer.status, body=answer.body, content_type=answer.content_type)
        told = {"text": answer.text} | ({} if answer.usage is None else {"usage": answer.usage})
        return web.json_response(told, status=answer.status)
