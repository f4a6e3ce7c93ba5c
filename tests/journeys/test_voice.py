"""Voice messages to the coach on Telegram, and its answers by voice."""

from pathlib import Path

from gateway.testing.model import Reply
from tests.fakes.audio_server import OGG, Answer, AudioServer
from tests.journeys.house import House, house, said

VOICE = OGG + b"x" * 2_000


def voices(here: House) -> list[bytes]:
    return [file.content for shown in here.sim.answers(1) for file in shown.files if file.kind == "voice"]


async def test_a_voice_message_is_shown_as_text_answered_and_by_voice_if_its_person_asks(tmp_path: Path) -> None:
    async with AudioServer() as audio, house(tmp_path, config=audio.config) as here:
        here.model.answers(Reply("Well **done**."))
        here.sim.send_voice(1, VOICE)
        await here.told(1, "Well done.")
        assert ["🎙 forty five minutes of guitar", "Well done."] == here.texts(1)
        assert "forty five minutes of guitar" in said(here.model.requests[0].body)[-1]
        assert [("voice.ogg", "audio/ogg", VOICE, "whisper-1")] == [tuple(each.values()) for each in audio.heard]
        assert [] == audio.spoken
        here.sim.say(1, "/voice on")
        await here.told(1, "From now on I also answer by voice")
        here.model.answers(Reply("Keep **going**!"))
        here.sim.say(1, "and now?")
        await here.told(1, "Keep going!")
        await here.settled()
        assert [audio.voice.body] == voices(here)
        assert ["Keep going!"] == [asked["input"] for asked in audio.spoken]
        assert "voice" == here.sim.answers(1)[-1].files[0].kind
    async with AudioServer(voice=Answer(status=500)) as audio, house(tmp_path, config=audio.config) as here:
        here.sim.world.bot().last_message_id = 100  # Telegram counts on
        here.model.answers(Reply("Still here."))
        here.sim.say(1, "after the restart?")
        await here.told(1, "Still here.")
        await here.settled()
        assert 1 == len(audio.spoken) and [] == voices(here)
        assert ["Still here."] == here.texts(1)
        calls = await here.rows("SELECT model, sum(calls) AS calls FROM usage_days GROUP BY model ORDER BY model")
        assert {"tts-1": 1, "whisper-1": 1} == {row["model"]: row["calls"] for row in calls if "-1" in row["model"]}
