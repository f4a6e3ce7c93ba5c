"""A bare discord.py bot, the yardstick of `make bench`: it listens, asks a model if told to, and replies.

Run as `python -m tests.bench.bare_discord`, configured by DISCORD_API_BASE, DISCORD_BOT_TOKEN and the variables of
`bare_model`. It promises nothing.
"""

import asyncio
import os

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from tests.bench.bare_model import BareModel


class Bare(discord.Client):
    """A client with discord.py's own defaults and the message content intent."""

    def __init__(self, http: aiohttp.ClientSession) -> None:
        intents = discord.Intents.default()
        intents.message_content = True
        super().__init__(intents=intents)
        self._model = BareModel(http)

    async def on_message(self, message: discord.Message) -> None:
        """Answer a person."""
        if message.author == self.user:
            return
        text = await self._model.answer(str(message.channel.id), message.content)
        await message.channel.send(text, suppress_embeds=True)


async def main() -> None:
    """Listen until killed."""
    base = f"{os.environ['DISCORD_API_BASE']}/api/v10"
    Route.BASE = base  # discord.py has no setting for either
    token = os.environ["DISCORD_BOT_TOKEN"]
    async with aiohttp.ClientSession() as http:
        async with http.get(f"{base}/gateway/bot", headers={"Authorization": f"Bot {token}"}) as response:
            DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL((await response.json())["url"])
        async with Bare(http) as client:
            await client.start(token)


if __name__ == "__main__":
    asyncio.run(main())
