"""Schedules on Telegram: asked for, allowed, due over a change of the clocks, silent, failing, paused and deleted."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.schedules.rules import Daily
from channels.clocks import steady_now
from gateway.ops.scheduler import PEOPLES, take_due
from gateway.store.schedules import SCHEDULES, StoredSchedule
from gateway.testing.gateway import Person, TestGateway
from gateway.testing.model import Answer, Call, FakeModel, Fault, Reply
from tests.fakes.schedules import add_schedule
from tests.journeys.test_skills import run_tenk, tenk

CONFIG = "[schedules]\n"
NIGHT_BEFORE = datetime(2026, 10, 24, 20, 0, tzinfo=UTC)  # in Madrid 02:00 to 03:00 come twice on the next day


@dataclass
class Wall:
    """A wall clock that a test moves."""

    now: datetime = NIGHT_BEFORE

    def __call__(self) -> datetime:
        return self.now


def plan(**given: object) -> Call:
    return Call("schedule", json.dumps({"action": "create", "name": "news", "prompt": "Say the news."} | given))


def is_due(body: dict[str, Any]) -> bool:
    return "is due" in json.dumps(body["messages"][-1]["content"])


async def look(gateway: TestGateway, wall: Wall, until: datetime) -> None:
    """Move the clock, and let the scheduler look."""
    wall.now = until
    await take_due(gateway.store, PEOPLES, steady_now, wall)
    await gateway.settle()


async def kept(gateway: TestGateway) -> list[StoredSchedule]:
    return await gateway.store.read(SCHEDULES.find)


async def shown(gateway: TestGateway, person: Person, words: str) -> None:
    await gateway.until(lambda: any(words in message.text for message in person.messages()), words)


class Talk:
    """A model that plans what its test asks for, and answers schedules as its test says."""

    def __init__(self, *, due: Answer) -> None:
        self.due = due
        self.planned: list[Call] = []

    def __call__(self, body: dict[str, Any]) -> Answer:
        last = body["messages"][-1]
        if last["role"] == "tool":
            return Reply(f"Told: {last['content']}")
        if is_due(body):
            return self.due
        return Reply(calls=(self.planned.pop(0),)) if self.planned else Reply("Hello.")


async def let_her_plan(gateway: TestGateway, person: Person, talk: Talk, call: Call, answer: str = "Allow once") -> str:
    """Ask for a schedule, answer the question, and return what the model read."""
    talk.planned.append(call)
    await person.say("please")
    await person.press(answer)
    return (await person.answer("Told: ")).text


async def test_a_schedule_is_asked_for_allowed_and_answered_once_a_slot_over_a_change_of_the_clocks() -> None:
    wall, talk = Wall(), Talk(due=Reply("Nothing new under the sun."))
    async with FakeModel(talk) as model, TestGateway(CONFIG, model=model, dates=wall) as gateway:
        ada = gateway.person("telegram")
        await ada.say("/timezone Europe/Madrid")
        await ada.answer("Europe/Madrid")
        told = await let_her_plan(gateway, ada, talk, plan(cron="30 2 * * *"))
        assert "2026-10-25T02:30" in told

        async def passes(until: datetime) -> int:
            """Return how many news there are then."""
            await look(gateway, wall, until)
            return sum("under the sun" in message.text for message in ada.messages())

        assert 1 == await passes(datetime(2026, 10, 25, 0, 31, tzinfo=UTC))  # 02:31, summer
        assert 1 == await passes(datetime(2026, 10, 25, 1, 31, tzinfo=UTC))  # 02:31, winter
        assert 1 == await passes(datetime(2026, 10, 24, 1, 31, tzinfo=UTC))  # the clock is set back by a day
        assert 2 == await passes(datetime(2026, 10, 26, 1, 31, tzinfo=UTC))
        asked = [request.body["messages"][-1]["content"] for request in model.requests if is_due(request.body)]
        assert 2 == len(asked)
        assert "2026-10-25 at 02:30" in json.dumps(asked[0])
        assert "Say the news." in json.dumps(asked[0])


async def test_a_heartbeat_is_silent_until_there_is_something_to_say() -> None:
    wall, talk = Wall(), Talk(due=Reply("NOTHING_TO_SAY."))
    async with FakeModel(talk) as model, TestGateway(CONFIG, model=model, dates=wall) as gateway:
        ada = gateway.person("telegram")
        await let_her_plan(gateway, ada, talk, plan(every_minutes=30, between="09:00-24:00"))
        before = len(ada.messages())
        await look(gateway, wall, NIGHT_BEFORE + timedelta(minutes=31))
        await look(gateway, wall, NIGHT_BEFORE + timedelta(minutes=61))
        assert before == len(ada.messages())
        assert 2 == sum(is_due(request.body) for request in model.requests)
        talk.due = Reply("The tram does not run tomorrow.")
        await look(gateway, wall, NIGHT_BEFORE + timedelta(minutes=91))
        await ada.answer("The tram does not run")
        talk.due = Fault(status=400, body={"error": {"message": "broken"}})
        for minutes in (121, 151, 181):
            await look(gateway, wall, NIGHT_BEFORE + timedelta(minutes=minutes))
        await ada.answer("failed three times in a row")
        assert before + 2 == len(ada.messages())
        assert ["failures"] == [row.paused.value for row in await kept(gateway)]
        await look(gateway, wall, NIGHT_BEFORE + timedelta(minutes=211))
        assert before + 2 == len(ada.messages())


@pytest.mark.gate
async def test_a_message_during_a_heartbeat_is_answered() -> None:
    wall, talk = Wall(), Talk(due=Reply("NOTHING_TO_SAY", delay_s=0.5))
    async with FakeModel(talk) as model, TestGateway(CONFIG, model=model, dates=wall) as gateway:
        ada = gateway.person("telegram")
        await let_her_plan(gateway, ada, talk, plan(every_minutes=30))
        wall.now += timedelta(minutes=31)
        await take_due(gateway.store, PEOPLES, steady_now, wall)
        await gateway.until(lambda: any(is_due(request.body) for request in model.requests), "the heartbeat")
        await ada.say("Are you there?")
        await ada.answer("Hello.")
        await gateway.settle()
        assert not any("NOTHING_TO_SAY" in message.text for message in ada.messages())


@pytest.mark.gate
async def test_without_the_table_slots_pass_and_reminders_go_on() -> None:
    wall = Wall()
    async with TestGateway(dates=wall) as gateway:
        ada = gateway.person("telegram")
        await ada.say("/remind tomorrow 9:00 tea")
        await ada.answer("I will remind you")
        user_id = (await gateway.operator("GET /v1/users"))["users"][0]["user"]
        await gateway.store.commit(add_schedule, user_id, Daily(at=time(9)))
        wall.now = datetime(2026, 10, 25, 9, 0, tzinfo=UTC)
        await ada.answer("⏰ 09:00")
        rows = (await gateway.operator("GET /v1/schedules"))["schedules"]
        assert [("schedule", "2026-10-26T09:00:00+00:00")] == [(row["kind"], row["next_at"]) for row in rows]
        assert 0 == len(gateway.model.requests)


async def test_people_look_after_their_schedules_with_buttons_and_words() -> None:
    wall, talk = Wall(), Talk(due=Reply("News."))
    async with FakeModel(talk) as model, TestGateway(CONFIG, model=model, dates=wall) as gateway:
        ada = gateway.person("telegram")
        await ada.say("/schedules")
        await ada.answer("You have no schedules")
        await let_her_plan(gateway, ada, talk, plan(cron="0 8 * * 1-5"))
        await let_her_plan(gateway, ada, talk, plan(name="tea", at="2026-10-25 16:00"))
        await ada.say("/schedules")
        listed = (await ada.answer("Your schedules, in the time zone UTC")).text
        assert "news (08:00, Mon–Fri). Next: 2026-10-26 08:00. Say the news." in listed
        await ada.press("Pause 1")
        await ada.answer("“news” is paused")
        await ada.press("Resume")
        await ada.answer("goes on; next: 2026-10-26 08:00")
        await ada.say("/schedules delete tea")
        await ada.answer("“tea” is deleted")
        await ada.say("/schedules pause 7")
        await ada.answer("no such schedule")
        assert ["news"] == [row.name for row in await kept(gateway)]
        assert "said no" in await let_her_plan(gateway, ada, talk, plan(name="more", cron="0 9 * * *"), "Deny")
        assert ["news"] == [row.name for row in await kept(gateway)]


@pytest.mark.gate
async def test_an_operator_pauses_a_schedule_and_names_one_that_there_is_not(tmp_path: Path) -> None:
    talk = Talk(due=Reply("News."))
    async with FakeModel(talk) as model, TestGateway(CONFIG, model=model, directory=tmp_path) as gateway:
        ada = gateway.person("telegram")
        await let_her_plan(gateway, ada, talk, plan(cron="0 8 * * 1-5"))
        (row,) = await kept(gateway)
        assert "is paused" in await tenk(tmp_path, "schedules", "pause", row.id)
        await ada.say("/schedules")
        await ada.answer("Paused by the person who runs this bot.")
        assert (
            "there is no schedule nonsense; see" in (await run_tenk(tmp_path, "schedules", "delete", "nonsense")).stderr
        )
