"""Private answers through the whole gateway: on Discord, in a channel of a server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from channels.simulators.discord.server import DiscordSimulator
from tests.journeys.house import House, house, slow

TOKEN = "JOURNEY.made-up.token"
ROOM, ASKER = 5_001, 7
PLAN = "Your plan. Monday: scales, slowly. " * 8
CONFIG = """
[channels.discord.main]
api_base = "{base}"
[access.accounts."discord:main"]
allow_groups = ["discord:5001"]
groups = "open"
"""


@asynccontextmanager
async def server(directory: Path) -> AsyncIterator[tuple[House, DiscordSimulator]]:
    secrets = directory / "secrets.toml"
    secrets.touch(mode=0o600)
    secrets.write_text(f'[channels.discord.main]\ntoken = "{TOKEN}"\n')
    async with DiscordSimulator() as discord:
        bot = discord.add_bot(TOKEN)
        discord.add_channel(ROOM, 5_000)
        async with house(directory, config=CONFIG.format(base=discord.base_url)) as here:
            await here.until(lambda: bot.sessions.connected and bool(bot.commands), "Discord")
            yield here, discord


def alone(discord: DiscordSimulator) -> list[str]:
    return [message.text for message in discord.answers(ROOM, ASKER)]


async def test_a_plan_grows_before_its_asker_alone(tmp_path: Path):
    async with server(tmp_path) as (here, discord):
        here.model.answers(slow(PLAN, 20.0))
        discord.command(ROOM, "plan", {"skill": "violin"}, person=ASKER)
        await here.until(lambda: any(len(shown.edits) >= 2 for shown in discord.answers(ROOM, ASKER)), "two edits")
        assert "Your plan." in alone(discord)[0]
        assert [] == discord.answers(ROOM)


async def test_an_undeliverable_answer_is_reported_without_its_content(tmp_path: Path):
    async with server(tmp_path) as (here, discord):
        discord.interactions.life_s = -1.0
        discord.world.person(ASKER).takes_dms = False
        discord.command(ROOM, "log", {"text": "violin 30 min"}, person=ASKER)
        await here.until(lambda: bool(discord.answers(ROOM)), "the hint")
        assert ["could not be delivered" in message.text for message in discord.answers(ROOM)] == [True]
        assert "violin" not in discord.answers(ROOM)[0].text.lower()
        discord.world.person(ASKER).takes_dms = True
        discord.command(ROOM, "log", {"text": "cello 20 min"}, person=ASKER)
        (direct,) = [one.id for one in discord.world.channels.values() if one.person_id == ASKER]
        await here.until(lambda: any("cello" in one.text for one in discord.answers(direct)), "the direct message")
        assert (1, []) == (len(discord.answers(ROOM)), alone(discord)[1:])
