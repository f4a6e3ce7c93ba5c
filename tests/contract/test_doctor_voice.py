"""`tenk doctor` and `tenk config check` about voice."""

from pathlib import Path
from typing import Any

import pytest

from agent.voice.config import VoiceConfig
from gateway.config.settings import load, read_sources
from gateway.errors import SettingsError
from gateway.ops.voice_check import check_voice
from gateway.product import check_names
from tests.fakes.audio_server import Answer, AudioServer


async def check(**config: Any) -> list[tuple[str, str]]:
    return [(found.words, found.to_do) async for found in check_voice(VoiceConfig.model_validate(config))]


async def test_the_doctor_has_silence_transcribed_and_a_word_spoken() -> None:
    async with AudioServer(usual=Answer("")) as audio:
        found = await check(transcription_url=audio.url, speech_url=audio.url)
        assert [(f"whisper-1 at {audio.url} answers", ""), (f"tts-1 at {audio.url} answers", "")] == found
        assert "Hello." == audio.spoken[0]["input"] and "audio/wav" == audio.heard[0]["type"]
        audio.usual, audio.voice = Answer(status=401), Answer(hangs=True)
        heard, spoken = await check(transcription_url=audio.url, speech_url=audio.url, speech_timeout_s=1)
        assert "it answers 401" in heard[0] and "voice.transcription_key" in heard[1]
        assert "no answer within 1 s" in spoken[0] and "voice.speech_url" in spoken[1]
    assert [("faster-whisper is installed; base loads with the first voice message", "")] == await check(
        local_model="base"
    )


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('local_model = "base"', "voice.local_model: it needs faster-whisper: pip install 'tenk-gateway[voice]'"),
        (
            'speech_url = "http://127.0.0.1:1/v1"\n[budgets]\nday_usd = 1.0',
            "voice.speech_url: a cap in USD needs its price: set voice.speech_usd_per_million_chars, 0 if it is free",
        ),
        ('speech_url = "localhost"', "voice.speech_url: write the whole URL"),
    ],
)
def test_a_setting_that_cannot_hold_is_told_with_its_place(tmp_path: Path, table: str, words: str) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(f"[voice]\n{table}\n")
    with pytest.raises(SettingsError) as wrong:
        check_names(load(file, {}), read_sources(file, {}))
    assert words in str(wrong.value)
