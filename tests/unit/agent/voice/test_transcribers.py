"""Transcribers: faster-whisper in a process of its own, over a stand-in for that package; and its settings."""

import asyncio
from pathlib import Path

import pytest
from pydantic import ValidationError

from agent.transcript import Usage
from agent.voice.config import VoiceConfig
from agent.voice.server import Heard, VoiceFailure, VoiceFault
from agent.voice.sounds import OGG
from agent.voice.transcribers import is_whisper_installed, make_transcriber

PACKAGE = """
from types import SimpleNamespace

class WhisperModel:
    def __init__(self, name):
        if name == "absent":
            raise RuntimeError("there is no model absent")
        self.name = name

    def transcribe(self, sound, vad_filter):
        words = sound.read().decode()
        if self.name == "chatty":
            print("loading", flush=True)
        if self.name == "slow":
            while True:
                pass
        return [SimpleNamespace(text=f" {words}"), SimpleNamespace(text=" again")], SimpleNamespace(duration=2.5)
"""


@pytest.fixture
def whisper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package of the name and interface of faster-whisper for new processes."""
    (tmp_path / "faster_whisper.py").write_text(PACKAGE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def local(model: str) -> VoiceConfig:
    return VoiceConfig(local_model=model)


@pytest.mark.usefixtures("whisper")
async def test_faster_whisper_is_asked_in_a_process() -> None:
    transcriber = make_transcriber(local("base"))
    assert transcriber is not None
    heard = await transcriber.transcribe(b"hello", OGG)
    assert Heard("hello again", 2.5, Usage(0, 0, cost_microusd=0)) == heard
    assert "faster-whisper:base" == transcriber.name
    await transcriber.aclose()


@pytest.mark.usefixtures("whisper")
@pytest.mark.parametrize(("model", "words"), [("absent", "there is no model absent"), ("chatty", "something else")])
async def test_a_model_without_a_transcript_is_told(model: str, words: str) -> None:
    transcriber = make_transcriber(local(model))
    assert transcriber is not None
    with pytest.raises(VoiceFailure, match=words) as failed:
        await transcriber.transcribe(b"hello", OGG)
    assert VoiceFault.BROKEN is failed.value.fault


@pytest.mark.usefixtures("whisper")
async def test_one_that_takes_too_long_is_ended() -> None:
    transcriber = make_transcriber(local("slow"))
    assert transcriber is not None
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await transcriber.transcribe(b"hello", OGG)


def test_nothing_transcribes_without_settings() -> None:
    assert make_transcriber(None) is make_transcriber(VoiceConfig()) is None
    assert not is_whisper_installed()


def test_one_of_the_two_transcribes() -> None:
    with pytest.raises(ValidationError, match="one of them transcribes"):
        VoiceConfig(transcription_url="http://127.0.0.1:1/v1", local_model="base")
