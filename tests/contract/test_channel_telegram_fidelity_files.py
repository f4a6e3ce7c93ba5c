"""Plain aiogram, unmodified, against the simulator: files, buttons, rich messages, drafts and its webhook server."""

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from channels.telegram.library import load_aiogram

load_aiogram()

from aiogram import Bot, Dispatcher  # noqa: E402  after load_aiogram
from aiogram.client.session.aiohttp import AiohttpSession  # noqa: E402  after load_aiogram
from aiogram.client.telegram import TelegramAPIServer  # noqa: E402  after load_aiogram
from aiogram.exceptions import TelegramBadRequest  # noqa: E402  after load_aiogram
from aiogram.types import (  # noqa: E402  after load_aiogram
    BufferedInputFile,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputMediaDocument,
    InputMediaPhoto,
    InputRichBlockList,
    InputRichBlockListItem,
    InputRichBlockParagraph,
    InputRichMessage,
    Message,
)
from aiogram.webhook.aiohttp_server import SimpleRequestHandler, setup_application  # noqa: E402  after load_aiogram

from channels.simulators.shared.world import File  # noqa: E402  after load_aiogram
from channels.simulators.telegram.server import TelegramSimulator  # noqa: E402  after load_aiogram
from tests.fakes.telegram import PNG, SECRET, TOKEN  # noqa: E402  after load_aiogram


@asynccontextmanager
async def _plain_bot() -> AsyncIterator[tuple[TelegramSimulator, Bot]]:
    async with TelegramSimulator(throttled=False, webhook_time_scale=0.001) as simulator:
        simulator.add_bot(TOKEN)
        simulator.add_chat(1, "private")
        bot = Bot(TOKEN, session=AiohttpSession(api=TelegramAPIServer.from_base(simulator.base_url)))
        try:
            yield simulator, bot
        finally:
            await bot.session.close()


def _keys(*labels: str) -> InlineKeyboardMarkup:
    return InlineKeyboardMarkup(inline_keyboard=[[InlineKeyboardButton(text=one, callback_data=one) for one in labels]])


async def test_files_go_out_as_aiogram_sends_them():
    picture, table = BufferedInputFile(PNG, "a.png"), BufferedInputFile(b"a,b", "log.csv")
    async with _plain_bot() as (simulator, bot):
        photo = await bot.send_photo(1, picture, caption="week", reply_markup=_keys("ok"))
        assert ("week", 900) == (photo.caption, photo.photo[-1].width if photo.photo else 0)
        document = await bot.send_document(1, table)
        assert document.document
        assert ("log.csv", 3) == (document.document.file_name, document.document.file_size)
        album = await bot.send_media_group(
            1, [InputMediaPhoto(media=picture, caption="x"), InputMediaPhoto(media=picture)]
        )
        assert 1 == len({one.media_group_id for one in album})
        text = await bot.send_message(1, "…")
        changed = await bot.edit_message_media(InputMediaPhoto(media=picture), chat_id=1, message_id=text.message_id)
        assert isinstance(changed, Message)
        assert changed.photo
        with pytest.raises(TelegramBadRequest, match="can't be mixed"):
            await bot.send_media_group(1, [InputMediaPhoto(media=picture), InputMediaDocument(media=table)])
        with pytest.raises(TelegramBadRequest, match="no text in the message"):
            await bot.edit_message_text("x", chat_id=1, message_id=text.message_id)
        assert ["photo", "document", "photo", "photo", "photo"] == [
            one.file.kind for one in simulator.answers(1) if one.file
        ]


async def test_files_come_in_as_aiogram_reads_them():
    async with _plain_bot() as (simulator, bot):
        for kind in ("photo", "document", "voice"):
            simulator.send_file(1, File(kind, f"a {kind}".encode(), "x.bin", "a/b"), caption="look")
        for update in await bot.get_updates():
            message = update.message
            assert message is not None
            file = message.document or message.voice or (message.photo or [])[-1]
            content = io.BytesIO()
            await bot.download(file, content)
            assert ("look", f"a {message.content_type.value}".encode()) == (message.caption, content.getvalue())


async def test_buttons_can_be_taken_away():
    async with _plain_bot() as (_, bot):
        sent = await bot.send_message(1, "sure?", reply_markup=_keys("yes", "no"))
        assert sent.reply_markup
        assert ["yes", "no"] == [key.callback_data for key in sent.reply_markup.inline_keyboard[0]]
        changed = await bot.edit_message_reply_markup(chat_id=1, message_id=sent.message_id)
        assert isinstance(changed, Message)
        assert changed.reply_markup is None
        with pytest.raises(TelegramBadRequest, match="not modified"):
            await bot.edit_message_reply_markup(chat_id=1, message_id=sent.message_id)


async def test_rich_messages_and_drafts():
    paragraph = InputRichBlockParagraph(text="scales")
    rich = InputRichMessage(blocks=[InputRichBlockList(items=[InputRichBlockListItem(blocks=[paragraph], value=2)])])
    async with _plain_bot() as (simulator, bot):
        assert await bot.send_message_draft(1, 5, text="so far")
        assert await bot.send_rich_message_draft(chat_id=1, draft_id=5, rich_message=rich)
        sent = await bot.send_rich_message(1, rich)
        assert sent.rich_message
        assert "list" == sent.rich_message.blocks[0].type
        assert "2. scales" == simulator.answers(1)[0].text
        with pytest.raises(TelegramBadRequest, match="can't parse rich message"):
            await bot.send_rich_message(1, InputRichMessage(html="<p>x</p>"))


async def test_webhook_server_of_aiogram_is_served():
    dispatcher, heard = Dispatcher(), []

    @dispatcher.message()
    async def hear(message: Message) -> None:
        heard.append(message.text)
        if heard.count("one") < 3:
            raise ValueError("not yet")

    async with _plain_bot() as (simulator, bot):
        application = web.Application()
        handler = SimpleRequestHandler(dispatcher, bot, handle_in_background=False, secret_token=SECRET)
        handler.register(application, "/hook")
        setup_application(application, dispatcher, bot=bot)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            port = runner.addresses[0][1]
            simulator.say(1, "one")
            simulator.say(1, "two")
            assert await bot.set_webhook(f"http://127.0.0.1:{port}/hook", secret_token="other")
            await simulator.until(lambda: "401" in (simulator.world.bot().webhook.last_error))
            assert await bot.set_webhook(f"http://127.0.0.1:{port}/hook", secret_token=SECRET, max_connections=3)
            await simulator.until(lambda: len(simulator.world.bot().updates) == 0)
            info = await bot.get_webhook_info()
        finally:
            await runner.cleanup()
        assert ["one", "one", "one", "two"] == heard
        assert (0, 3, True) == (
            info.pending_update_count,
            info.max_connections,
            "500" in (info.last_error_message or ""),
        )


@pytest.mark.parametrize(
    ("url", "more", "words"),
    [
        ("http://example.com/hook", {}, "HTTPS URL must be provided"),
        ("https://example.com/hook", {"secret_token": "a b"}, "unallowed characters"),
    ],
)
async def test_webhook_that_telegram_refuses(url: str, more: dict[str, str], words: str):
    async with _plain_bot() as (_, bot):
        with pytest.raises(TelegramBadRequest, match=words):
            await bot.set_webhook(url, **more)
        assert "" == (await bot.get_webhook_info()).url
