"""Voice messages to the coach on Telegram, and its answers by voice."""

from pathlib import Path

from channels.simulators.shared.world import File
from gateway.testing.model import Reply
from tests.fakes.audio_server import OGG, Answer, AudioServer
from tests.journeys.house import House, house, said, slow

VOICE = OGG + b"x" * 2_000
GROUPS = """
[access.accounts."telegram:main"]
groups = "open"
allow_groups = ["telegram:-5"]
"""


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
        assert [{"title": "forty five minutes of guitar"}] == await here.rows("SELECT title FROM sessions")
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


async def test_a_voice_in_a_group_is_heard_only_if_it_is_meant_for_the_bot(tmp_path: Path) -> None:
    async with AudioServer() as audio, house(tmp_path, config=audio.config + GROUPS) as here:
        here.sim.add_chat(-5, "group")
        here.model.answers(Reply("Hello."), Reply("So much."))
        here.sim.say(-5, "hello @tenk_bot", person=1)
        hello = await here.told(-5, "Hello.")
        here.sim.send_voice(-5, VOICE, person=1)
        await here.settled()
        assert [] == audio.heard and "getFile" not in {call.method for call in here.sim.history()}
        meant = here.sim.send_file(-5, File("voice", VOICE, mime="audio/ogg"), person=1, under=hello.message_id)
        await here.told(-5, "So much.")
        shown = await here.told(-5, "🎙 forty five minutes")
        assert meant == shown.reply_to and 1 == len(audio.heard)


async def test_a_strangers_voice_is_answered_by_a_code_and_costs_nothing(tmp_path: Path) -> None:
    async with AudioServer() as audio, house(tmp_path, config=audio.config, access="pairing") as here:
        here.sim.send_voice(1, VOICE)
        await here.told(1, "code")
        await here.settled()
        assert [] == audio.heard and "getFile" not in {call.method for call in here.sim.history()}


async def test_a_voice_steers_and_is_no_command(tmp_path: Path) -> None:
    async with AudioServer() as audio, house(tmp_path, config=audio.config) as here:
        audio.script += [Answer("/stop"), Answer(status=500)]
        here.model.answers(
            slow("I begin to count.", 1.5), Reply("Now slower."), slow("On and on.", 1.5), Reply("Sorry?")
        )
        here.sim.say(1, "count please")
        await here.asked()
        here.sim.send_voice(1, VOICE)
        await here.told(1, "Now slower.")
        await here.told(1, "🎙 /stop")
        assert "/stop" in said(here.model.requests[1].body)[-1]
        here.sim.say(1, "go on")
        await here.asked(3)
        here.sim.send_voice(1, VOICE)
        await here.told(1, "Sorry?")
        assert "was not transcribed: it answers 500." in said(here.model.requests[3].body)[-1]


async def test_without_settings_the_person_is_asked_to_write_and_the_owner_told_what_is_missing(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.sim.send_voice(1, VOICE)
        await here.told(1, "Voice messages are not set up here. Please write to me.")
        here.sim.say(1, "/voice on")
        await here.told(1, "Answers by voice are not set up here.")
        await here.operator("POST /v1/users/telegram:1/role", {"role": "owner"})
        here.sim.send_voice(1, VOICE)
        await here.told(1, "set transcription_url or local_model in [voice]")
        here.sim.say(1, "/voice")
        await here.told(1, "set speech_url in [voice]")
        assert [] == here.model.requests
