"""A bare aiogram bot, the yardstick of `make bench`: it polls, asks a model if told to, and replies.

Run as `python -m tests.bench.bare_telegram`, configured by TELEGRAM_API_BASE, TELEGRAM_BOT_TOKEN and the variables of
`bare_model`. It promises nothing.
"""

import asyncio
import os

import aiohttp
from aiogram import Bot, Dispatcher
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.types import LinkPreviewOptions, Message

from tests.bench.bare_model import BareModel


async def main() -> None:
    """Poll until killed, with aiogram's own defaults."""
    session = AiohttpSession(api=TelegramAPIServer.from_base(os.environ["TELEGRAM_API_BASE"]))
    bot = Bot(os.environ["TELEGRAM_BOT_TOKEN"], session=session)
    dispatcher = Dispatcher()

    async with aiohttp.ClientSession() as http:
        model = BareModel(http)

        @dispatcher.message()
        async def answer(message: Message) -> None:
            text = await model.answer(str(message.chat.id), message.text or "")
            await message.answer(text, link_preview_options=LinkPreviewOptions(is_disabled=True))

        await dispatcher.start_polling(bot, handle_signals=False)


if __name__ == "__main__":
    asyncio.run(main())
