"""A bare slack-bolt bot in Socket Mode, the yardstick of `make bench`: it listens, asks a model where told to, replies.

Run as `python -m tests.bench.bare_slack`, configured by SLACK_API_BASE, SLACK_BOT_TOKEN, SLACK_APP_TOKEN and, for an
answer from a model, OPENAI_BASE_URL; without that it says back what it heard. No promises.
"""

import asyncio
import os

import aiohttp
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.say.async_say import AsyncSay
from slack_sdk.web.async_client import AsyncWebClient


async def main() -> None:
    """Listen until killed, with slack-bolt's own defaults."""
    client = AsyncWebClient(os.environ["SLACK_BOT_TOKEN"], base_url=f"{os.environ['SLACK_API_BASE']}/api/")
    app = AsyncApp(client=client)
    model_url = os.environ.get("OPENAI_BASE_URL")

    async with aiohttp.ClientSession() as http:

        @app.event("message")
        async def answer(event: dict[str, str], say: AsyncSay) -> None:
            text = event.get("text", "")
            if model_url is not None:
                ask = {"model": "bench", "messages": [{"role": "user", "content": text}]}
                async with http.post(f"{model_url}/chat/completions", json=ask) as response:
                    text = (await response.json())["choices"][0]["message"]["content"]
            await say(text, unfurl_links=False, unfurl_media=False)

        await AsyncSocketModeHandler(app, os.environ["SLACK_APP_TOKEN"]).start_async()  # type: ignore[no-untyped-call]  # as slack-bolt has it


if __name__ == "__main__":
    asyncio.run(main())
