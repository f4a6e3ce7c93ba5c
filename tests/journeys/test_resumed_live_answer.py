"""An answer in two messages when the process is killed during the second."""

import asyncio

import pytest

from gateway.demo.chat import Chat, Entry, Kind
from gateway.demo.story import CODE
from tests.fakes.forked_stage import ForkedStage


@pytest.mark.gate
@pytest.mark.timeout(90)
async def test_a_resumed_live_answer_keeps_what_was_answered_before_the_kill() -> None:
    entries: list[Entry] = []
    async with ForkedStage() as stage:
        ana = Chat(stage.telegram, 1001, "Ana", entries.append)
        async with asyncio.TaskGroup() as tasks:
            watching = [tasks.create_task(each) for each in (stage.watch(), ana.watch())]
            await stage.start(words_per_s=40)
            hello = ana.say("hello")
            seen = await ana.until_answered(hello, by="private")
            await stage.tenk("pairing", "approve", CODE.findall(seen[0].text)[0])
            await ana.until_told("You are in")
            await ana.until_answered(ana.say("/log 45m guitar"), by="Logged")
            asked = ana.say("What can you do?")
            await ana.until(lambda: ana.open is not None and bool(ana.open.edits), "a growing answer")
            more = ana.say("guide")
            await ana.until(lambda: ana.open is not None and "Hours alone" in ana.open.text, "a second piece")
            await stage.kill()
            at_kill = len(entries)
            await stage.start(words_per_s=150)
            await ana.until_answered(asked, more, by="What I can do")
            for task in watching:
                task.cancel()
    after = [entry for entry in entries[at_kill:] if entry.kind in (Kind.GROWING, Kind.ANSWER)]
    assert len(after) > 1, "it was not seen growing after the kill"
    assert [] == [entry.text for entry in after if "What I can do" not in entry.text]
