"""Transcribers: a server, or faster-whisper in a process of its own."""

import sys
from importlib.util import find_spec
from typing import Protocol

import orjson

from agent.child_process import run_program
from agent.transcript import Usage
from agent.voice.config import VoiceConfig
from agent.voice.server import AudioServer, Heard, VoiceFailure, VoiceFault
from agent.voice.sounds import SoundKind

FREE = Usage(0, 0, cost_microusd=0)
"""The use of a transcriber on this machine."""

DETAIL_CHARS = 300


class Transcriber(Protocol):
    """A transcriber of voice messages."""

    name: str
    """Its model, as usage names it."""

    async def transcribe(self, content: bytes, kind: SoundKind) -> Heard:
        """Return what is said in a sound file; the caller bounds the time.

        Raises:
            VoiceFailure: there is no usable answer.
        """
        ...

    async def aclose(self) -> None:
        """Release its resources."""
        ...


class ServerTranscriber:
    """A server that transcribes."""

    def __init__(self, server: AudioServer, model: str) -> None:
        self.name = model
        self._server = server

    async def transcribe(self, content: bytes, kind: SoundKind) -> Heard:
        return await self._server.transcribe(content, kind, self.name)

    async def aclose(self) -> None:
        await self._server.aclose()


class LocalTranscriber:
    """faster-whisper. Each voice message gets a process, so that a slow or broken one can be ended."""

    def __init__(self, model: str) -> None:
        self.name = f"faster-whisper:{model}"
        self._model = model

    async def transcribe(self, content: bytes, kind: SoundKind) -> Heard:
        ended = await run_program([sys.executable, "-m", "agent.voice.whisper", self._model], content)
        if ended.code != 0:
            lines = ended.errors.decode(errors="replace").strip().splitlines() or [f"exit code {ended.code}"]
            raise VoiceFailure(VoiceFault.BROKEN, f"faster-whisper failed: {lines[-1][:DETAIL_CHARS]}")
        try:
            answer = orjson.loads(ended.output)
        except ValueError:
            raise VoiceFailure(VoiceFault.BROKEN, "faster-whisper printed something else than a transcript") from None
        return Heard(answer["text"], answer["seconds"], FREE)

    async def aclose(self) -> None:
        pass


def is_whisper_installed() -> bool:
    """Return True if faster-whisper can be imported; it is not."""
    return find_spec("faster_whisper") is not None


def make_transcriber(config: VoiceConfig | None) -> Transcriber | None:
    """Return the transcriber of these settings; None if there is none."""
    if config is None:
        return None
    if config.local_model is not None:
        return LocalTranscriber(config.local_model)
    if config.transcription_url is None:
        return None
    key = config.transcription_key
    server = AudioServer(config.transcription_url, "" if key is None else key.get_secret_value())
    return ServerTranscriber(server, config.transcription_model)
