"""A chart as a picture on every platform, with its numbers in words; by command and by plain words."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.shared.simulator import AnySimulator
from channels.simulators.slack.server import SlackSimulator
from tests.journeys.house import House, house
from tests.journeys.streets import WebStreet

PNG = b"\x89PNG\r\n"
NUMBERS = "1 h 30 min this week"


async def pictured(here: House, side: AnySimulator, asked: str, words: str) -> None:
    """Ask, and wait for a picture with these words beside it."""
    chat = side.direct(7)
    before = len(side.answers(chat))
    side.say(chat, asked)
    await here.until(lambda: any(answer.files for answer in side.answers(chat)[before:]), f"{asked} on {side.name}")
    await here.settled()
    answers = side.answers(chat)[before:]
    (file,) = [file for answer in answers for file in answer.files]
    assert file.content[:6] == PNG
    assert any(words in answer.text for answer in answers)


async def test_a_chart_is_a_picture_everywhere(tmp_path: Path):
    web = WebStreet()
    async with AsyncExitStack() as stack:
        sides: list[AnySimulator] = [DiscordSimulator.with_bot(), SlackSimulator.with_bot()]
        environ = web.environ()
        for side in sides:
            await stack.enter_async_context(side)
            environ |= side.environment()
        here = await stack.enter_async_context(house(tmp_path, model=None, environ=environ))
        for side in sides:
            await here.until(side.is_connected, side.title)
        for side in (here.telegram, *sides):
            side.say(side.direct(7), "/log 1h30 guitar")
            await pictured(here, side, "/chart guitar 8", NUMBERS)
        await pictured(here, here.telegram, "show me a chart", NUMBERS)
        await web.ready(stack, 1)
        page = web.pages[1]
        async with asyncio.TaskGroup() as tasks:
            visit = tasks.create_task(page.run())
            await web.say(1, "/log 1h30 guitar")
            await web.say(1, "/chart")
            await page.until(lambda: any(one["files"] for one in page.shown.values()))
            (file,) = [file for one in page.shown.values() for file in one["files"]]
            assert file["picture"] and NUMBERS in file["description"]
            async with page.http.get(page.url.rstrip("/") + file["url"]) as answer:
                assert ("image/png", PNG) == (answer.content_type, (await answer.read())[:6])
            visit.cancel()
