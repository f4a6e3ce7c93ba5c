"""A Slack thread when the process is killed while an answer streams there."""

import asyncio

import pytest

from gateway.demo.chat import Chat
from gateway.demo.stage import SLACK_ROOM
from gateway.demo.story import CODE
from tests.fakes.forked_stage import ForkedStage


@pytest.mark.timeout(90)
async def test_an_answer_that_streams_in_its_thread_outlives_the_process() -> None:
    async with ForkedStage() as stage:
        slack = stage.slack
        direct = Chat(stage.slack, 3, "Cleo", lambda _: None)
        practice = (SLACK_ROOM, "#practice")
        room = Chat(stage.slack, 3, "Cleo", lambda _: None, room=practice)
        async with asyncio.TaskGroup() as tasks:
            watching = [tasks.create_task(each) for each in (stage.watch(), direct.watch(), room.watch())]
            await stage.start(words_per_s=20)
            seen = await direct.until_answered(direct.say("hello"), by="private")
            await stage.tenk("pairing", "approve", CODE.findall(seen[0].text)[0])
            await direct.until_told("You are in")
            await direct.until_answered(direct.command("log", "45m guitar"), by="Logged")
            asked = room.say("What can you do?")
            await room.until(lambda: room.open is not None and "Correct it" in room.open.text, "a growing answer")
            (begun,) = slack.answers("C7")
            assert begun.streaming
            await stage.kill()
            await stage.start(words_per_s=200)
            await room.until_answered(asked, by="/coach /help lists")
            for task in watching:
                task.cancel()
        (answer,) = slack.answers("C7")
        used = [call.method for call in slack.history("C7") if call.message_id == answer.message_id and call.applied]
    assert (begun.message_id, False, False) == (answer.message_id, answer.streaming, answer.broken)
    assert 1 == answer.text.count("Correct it") == answer.text.count("/coach /help lists")
    assert 1 == used.count("chat.startStream") == used.count("chat.stopStream")
    assert "chat.update" in used
    assert answer.metadata is not None
