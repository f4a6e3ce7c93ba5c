"""A bare slack-bolt bot in Socket Mode, the yardstick of `make bench`: listens, asks a model if told to, replies.

Run as `python -m tests.bench.bare_slack`, configured by SLACK_API_BASE, SLACK_BOT_TOKEN, SLACK_APP_TOKEN and the
variables of `bare_model`. It promises nothing.
"""

import asyncio
import os

import aiohttp
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.say.async_say import AsyncSay
from slack_sdk.web.async_client import AsyncWebClient

from tests.bench.bare_model import BareModel


async def main() -> None:
    """Listen until killed, with slack-bolt's own defaults."""
    client = AsyncWebClient(os.environ["SLACK_BOT_TOKEN"], base_url=f"{os.environ['SLACK_API_BASE']}/api/")
    app = AsyncApp(client=client)

    async with aiohttp.ClientSession() as http:
        model = BareModel(http)

        @app.event("message")
        async def answer(event: dict[str, str], say: AsyncSay) -> None:
            text = await model.answer(event["channel"], event.get("text", ""))
            await say(text, unfurl_links=False, unfurl_media=False)

        await AsyncSocketModeHandler(app, os.environ["SLACK_APP_TOKEN"]).start_async()  # type: ignore[no-untyped-call]  # as slack-bolt has it


if __name__ == "__main__":
    asyncio.run(main())
