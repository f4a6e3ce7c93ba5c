"""A plain discord.py bot that answers commands to one person; a process, to check the simulator."""

import asyncio
import os

import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route


class Whisperer(discord.Client):
    """A bot that answers every command by its interaction alone."""

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """Defer, complete, follow up, edit; then say what the channel knows of it."""
        await interaction.response.defer(ephemeral=True)
        original = await interaction.edit_original_response(content="completed")
        more = await interaction.followup.send("followed", ephemeral=True, wait=True)
        await more.edit(content="followed, edited")
        assert isinstance(interaction.channel, discord.TextChannel), "it is used in one"
        try:
            await interaction.channel.fetch_message(original.id)
        except discord.NotFound as missing:
            await interaction.edit_original_response(content=f"completed, by the channel {missing.code}")


async def main() -> None:
    """Listen until killed."""
    base = os.environ["DISCORD_API_BASE"]
    Route.BASE = f"{base}/api/v10"  # discord.py has no setting for either
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(base.replace("http", "ws", 1) + "/gateway")
    async with Whisperer(intents=discord.Intents.default()) as client:
        await client.start(os.environ["DISCORD_BOT_TOKEN"])


if __name__ == "__main__":
    asyncio.run(main())
