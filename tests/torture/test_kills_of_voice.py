"""Kills behind the commits that keep what was heard and what was spoken."""

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.audio_server import OGG, Answer, AudioServer
from tests.torture.invariants import MARK
from tests.torture.world import World

CHAT = 1


def texts(world: World) -> list[str]:
    return [shown.text.replace("\n", " ") for shown in world.answers(CHAT) if shown.text]


@pytest.mark.gate
@pytest.mark.timeout(120)
@pytest.mark.parametrize("job", ["keep_transcript", "keep_speech"])
async def test_a_voice_is_transcribed_and_spoken_once(tmp_path: Path, job: str) -> None:
    async with AudioServer(usual=Answer("m901 please")) as audio, World(tmp_path, config=audio.config) as world:
        await world.start()
        world.write(CHAT, "/voice on")
        await world.settle()
        await world.gateway.arm(f"commit_done/{job}:1:exit")
        side: Any = world.platform
        side.side.send_voice(CHAT, OGG)
        assert await world.gateway.ended(30) is not None
        world.note_death()
        audio.usual = Answer("m902 please")
        await world.start()
        await world.until(lambda: any("re:m901 " in text for text in texts(world)), 30, "the answer")
        await world.settle()
        await world.gateway.kill()
        assert (1, 1) == (len(audio.heard), len(audio.spoken))
        assert 1 == sum("🎙 m901 please" in text for text in texts(world))
        assert 1 == sum("re:m901 " in text and MARK not in text for text in texts(world))
        voices = [file.content for shown in world.answers(CHAT) for file in shown.files]
        assert [audio.voice.body] == voices
