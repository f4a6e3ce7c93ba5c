"""The bare bots' model client: one message, or the whole talk of a chat as a stream.

OPENAI_BASE_URL is its address; without it the bot repeats what it heard. BENCH_STREAMED asks for the stream.
"""

import json
import os

import aiohttp


class BareModel:
    """One model for all chats of a bare bot."""

    def __init__(self, http: aiohttp.ClientSession) -> None:
        self._http = http
        self._url = os.environ.get("OPENAI_BASE_URL")
        self._streamed = "BENCH_STREAMED" in os.environ
        self._said: dict[str, list[dict[str, str]]] = {}  # by chat

    async def answer(self, chat: str, text: str) -> str:
        if self._url is None:
            return text
        if not self._streamed:
            ask = {"model": "bench", "messages": [{"role": "user", "content": text}]}
            async with self._http.post(f"{self._url}/chat/completions", json=ask) as response:
                return str((await response.json())["choices"][0]["message"]["content"])
        said = self._said.setdefault(chat, [])
        said.append({"role": "user", "content": text})
        answer = await self._read_stream(said)
        said.append({"role": "assistant", "content": answer})
        return answer

    async def _read_stream(self, said: list[dict[str, str]]) -> str:
        pieces: list[str] = []
        ask = {"model": "bench", "messages": said, "stream": True}
        async with self._http.post(f"{self._url}/chat/completions", json=ask) as response:
            async for line in response.content:
                if line.startswith(b"data: {"):
                    pieces += [choice["delta"].get("content", "") for choice in json.loads(line[6:])["choices"]]
        return "".join(pieces)
