"""The check of `tenk doctor` for voice: a second of silence is transcribed, and one word is spoken."""

import asyncio
import io
import wave
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

from agent.voice.config import VoiceConfig
from agent.voice.server import AudioServer, VoiceFailure, VoiceFault
from agent.voice.sounds import WAV
from agent.voice.transcribers import make_transcriber
from channels.chat.probing import Finding

T = TypeVar("T")

RATE_HZ = 16_000

_TO_DO = {
    VoiceFault.KEY: "set a key that it accepts as voice.{side}_key",
    VoiceFault.BUSY: "start the server, or set voice.{side}_url to where it is",
}


async def check_voice(config: VoiceConfig) -> AsyncIterator[Finding]:
    """Yield what transcription and speech answer."""
    if config.local_model is not None:
        words = f"faster-whisper is installed; {config.local_model} loads with the first voice message"
        yield Finding("voice transcription", words)
    elif (transcriber := make_transcriber(config)) is not None:
        words = f"{config.transcription_model} at {config.transcription_url}"
        asked = transcriber.transcribe(_silence(), WAV)
        yield await _check("transcription", words, asked, config.transcription_timeout_s)
        await transcriber.aclose()
    if config.speech_url is not None:
        key = config.speech_key
        server = AudioServer(config.speech_url, "" if key is None else key.get_secret_value())
        words = f"{config.speech_model} at {config.speech_url}"
        asked_speech = server.speak("Hello.", config.speech_model, config.speech_voice)
        yield await _check("speech", words, asked_speech, config.speech_timeout_s)
        await server.aclose()


async def _check(side: str, words: str, asked: Awaitable[T], timeout_s: float) -> Finding:
    part, key = f"voice {side}", ("voice", f"{side}_url")
    try:
        async with asyncio.timeout(timeout_s):
            await asked
    except VoiceFailure as failure:
        to_do = _TO_DO.get(failure.fault, "see the server's log; correct voice.{side}_url and voice.{side}_model")
        return Finding(part, f"{words}: {failure}", to_do.format(side=side), key)
    except TimeoutError:
        return Finding(
            part, f"{words}: no answer within {timeout_s:g} s", _TO_DO[VoiceFault.BUSY].format(side=side), key
        )
    return Finding(part, f"{words} answers")


def _silence() -> bytes:
    """Return a second of silence as a WAV file."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(RATE_HZ)
        sound.writeframes(bytes(2 * RATE_HZ))
    return file.getvalue()
