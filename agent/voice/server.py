"""Client of a server with OpenAI's audio endpoints: `/audio/transcriptions` and `/audio/speech`.

Source: platform.openai.com/docs/api-reference/audio (read 2026-11). The URL is the operator's, so it may be private.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import aiohttp
import orjson

from agent.transcript import Usage
from agent.voice.sounds import SoundKind, sound_kind

MAX_TRANSCRIPT_BYTES = 4_000_000
MAX_SPEECH_BYTES = 20_000_000
MAX_SOUND_S = 86_400


class VoiceFault(StrEnum):
    """The kinds of failure of a transcriber or a speaker."""

    KEY = "key"  # it refuses the key
    TOO_LARGE = "too_large"  # it refuses a file of this size
    BUSY = "busy"  # not now: unreachable, overloaded or too slow
    BROKEN = "broken"  # its answer is none, or it refuses the request


class VoiceFailure(Exception):
    """A transcriber or a speaker gave no usable answer; the message is for the operator."""

    def __init__(self, fault: VoiceFault, detail: str) -> None:
        super().__init__(detail)
        self.fault = fault


NOT_COUNTED = Usage()


@dataclass(frozen=True, slots=True)
class Heard:
    """The transcript of a voice message."""

    text: str  # "": nothing was said
    seconds: float | None = None  # length of the sound, if the transcriber tells it
    usage: Usage = NOT_COUNTED  # tokens, if the transcriber counts them


class AudioServer:
    """A server with OpenAI's audio endpoints. Each call has one attempt; the caller bounds its time."""

    def __init__(self, url: str, key: str = "") -> None:
        """Take its base URL, such as https://api.openai.com/v1; without a `key` none is sent."""
        self._url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._session: aiohttp.ClientSession | None = None

    async def transcribe(self, content: bytes, kind: SoundKind, model: str) -> Heard:
        """Return what is said in a sound file.

        Raises:
            VoiceFailure: there is no usable answer.
        """
        form = aiohttp.FormData()
        form.add_field("model", model)
        form.add_field("response_format", "json")
        form.add_field("file", content, filename=f"voice{kind.suffix}", content_type=kind.mime)
        body = await self._post("/audio/transcriptions", MAX_TRANSCRIPT_BYTES, data=form)
        try:
            answer = orjson.loads(body)
        except ValueError:
            raise VoiceFailure(VoiceFault.BROKEN, "it answers with something else than JSON") from None
        text = answer.get("text") if isinstance(answer, dict) else None
        if not isinstance(text, str):
            raise VoiceFailure(VoiceFault.BROKEN, "its answer has no text")
        return _read_usage(text, answer)

    async def speak(self, text: str, model: str, voice: str) -> bytes:
        """Return the text as a sound file.

        Raises:
            VoiceFailure: there is no usable answer.
        """
        asked = {"model": model, "voice": voice, "input": text, "response_format": "opus"}
        body = await self._post("/audio/speech", MAX_SPEECH_BYTES, json=asked)
        if sound_kind(body) is None:
            raise VoiceFailure(VoiceFault.BROKEN, "it answers with something else than sound")
        return body

    async def aclose(self) -> None:
        """Close its connections."""
        if self._session is not None:
            await self._session.close()

    async def _post(self, path: str, max_bytes: int, **sent: Any) -> bytes:
        if self._session is None:
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        url = f"{self._url}{path}"
        try:
            async with self._session.post(url, headers=self._headers, allow_redirects=False, **sent) as answer:
                _check_status(answer.status)
                body = bytearray()
                async for chunk in answer.content.iter_any():
                    body += chunk
                    if len(body) > max_bytes:
                        raise VoiceFailure(VoiceFault.BROKEN, f"its answer is longer than {max_bytes:,} bytes")
                return bytes(body)
        except TimeoutError:
            raise VoiceFailure(VoiceFault.BUSY, "it does not answer in time") from None
        except (aiohttp.ClientError, OSError) as problem:
            raise VoiceFailure(VoiceFault.BUSY, f"it cannot be reached ({type(problem).__name__})") from None


def _check_status(status: int) -> None:
    if status == 200:
        return
    faults = {401: VoiceFault.KEY, 403: VoiceFault.KEY, 413: VoiceFault.TOO_LARGE, 429: VoiceFault.BUSY}
    fault = faults.get(status, VoiceFault.BUSY if status >= 500 else VoiceFault.BROKEN)
    raise VoiceFailure(fault, f"it answers {status}")


def _read_usage(text: str, answer: Mapping[str, Any]) -> Heard:
    """Return the text with its tokens or its length, as far as the server tells them."""
    told = answer.get("usage")
    usage = told if isinstance(told, dict) else {}
    seconds = usage.get("seconds", answer.get("duration"))
    counted = Usage(_whole(usage.get("input_tokens")), _whole(usage.get("output_tokens")))
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= MAX_SOUND_S:
        return Heard(text, usage=counted)
    return Heard(text, float(seconds), counted)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else None
