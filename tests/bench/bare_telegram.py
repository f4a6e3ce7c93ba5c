"""A bare aiogram bot, the yardstick of `make bench`: it polls, asks a model where told to, and replies. No promises.

Run as `python -m tests.bench.bare_telegram`, configured by TELEGRAM_API_BASE, TELEGRAM_BOT_TOKEN and, for an answer
from a model, OPENAI_BASE_URL; without that it says back what it heard.
"""

import asyncio
import os

import aiohttp
from aiogram import Bot, Dispatcher
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.types import LinkPreviewOptions, Message


async def main() -> None:
    """Poll until killed, with aiogram's own defaults."""
    session = AiohttpSession(api=TelegramAPIServer.from_base(os.environ["TELEGRAM_API_BASE"]))
    bot = Bot(os.environ["TELEGRAM_BOT_TOKEN"], session=session)
    dispatcher = Dispatcher()
    model_url = os.environ.get("OPENAI_BASE_URL")

    async with aiohttp.ClientSession() as http:

        @dispatcher.message()
        async def answer(message: Message) -> None:
            text = message.text or ""
            if model_url is not None:
                ask = {"model": "bench", "messages": [{"role": "user", "content": text}]}
                async with http.post(f"{model_url}/chat/completions", json=ask) as response:
                    text = (await response.json())["choices"][0]["message"]["content"]
            await message.answer(text, link_preview_options=LinkPreviewOptions(is_disabled=True))

        await dispatcher.start_polling(bot, handle_signals=False)


if __name__ == "__main__":
    asyncio.run(main())
