"""Plain aiogram, unmodified, against the simulator: it finds everything it needs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from channels.telegram.library import load_aiogram

load_aiogram()

from aiogram import Bot, Dispatcher  # noqa: E402  after load_aiogram
from aiogram.client.session.aiohttp import AiohttpSession  # noqa: E402  after load_aiogram
from aiogram.client.telegram import TelegramAPIServer  # noqa: E402  after load_aiogram
from aiogram.exceptions import (  # noqa: E402  after load_aiogram
    TelegramBadRequest,
    TelegramForbiddenError,
    TelegramNetworkError,
    TelegramRetryAfter,
    TelegramUnauthorizedError,
)
from aiogram.types import (  # noqa: E402  after load_aiogram
    BotCommand,
    CallbackQuery,
    Message,
    MessageEntity,
    ReactionTypeEmoji,
    ReplyParameters,
)

from channels.simulators.shared.faults import Fault  # noqa: E402  after load_aiogram
from channels.simulators.telegram.server import TelegramSimulator  # noqa: E402  after load_aiogram
from tests.fakes.telegram import TOKEN  # noqa: E402  after load_aiogram


@asynccontextmanager
async def _plain_bot() -> AsyncIterator[tuple[TelegramSimulator, Bot]]:
    async with TelegramSimulator(throttled=False) as simulator:
        simulator.add_bot(TOKEN)
        simulator.add_chat(1, "private")
        bot = Bot(TOKEN, session=AiohttpSession(api=TelegramAPIServer.from_base(simulator.base_url)))
        try:
            yield simulator, bot
        finally:
            await bot.session.close()


async def test_dispatcher_polls_and_answers():
    dispatcher = Dispatcher()
    heard: list[str] = []

    @dispatcher.message()
    async def answer(message: Message) -> None:
        heard.append(f"said {message.text}")
        await message.reply(f"you said {message.text}")

    @dispatcher.edited_message()
    async def edited(message: Message) -> None:
        heard.append(f"changed {message.text}")

    @dispatcher.callback_query()
    async def pressed(press: CallbackQuery) -> None:
        heard.append(f"pressed {press.data}")
        await press.answer()

    async with _plain_bot() as (simulator, bot), asyncio.TaskGroup() as tasks:
        polling = dispatcher.start_polling(bot, handle_signals=False, polling_timeout=1, close_bot_session=False)
        tasks.create_task(polling)
        said = simulator.say(1, "hello 🎹")
        await simulator.until(lambda: len(simulator.answers(1)) == 1)
        (reply,) = simulator.answers(1)
        simulator.edit(1, said, "hello again")
        simulator.press(1, reply.message_id, "yes")
        await simulator.until(lambda: any(simulator.world.bot().callbacks.values()))
        assert ("you said hello 🎹", said) == (reply.text, reply.reply_to)
        assert ["changed hello again", "pressed yes", "said hello 🎹"] == sorted(heard)
        await dispatcher.stop_polling()


async def test_methods_return_what_aiogram_validates():
    async with _plain_bot() as (simulator, bot):
        asked = simulator.say(1, "hi")
        assert "tenk_bot" == (await bot.get_me()).username
        bold = MessageEntity(type="bold", offset=0, length=2)
        sent = await bot.send_message(1, "ok then", entities=[bold], reply_parameters=ReplyParameters(message_id=asked))
        assert [("bold", 0, 2)] == [(one.type, one.offset, one.length) for one in sent.entities or []]
        changed = await bot.edit_message_text("better", chat_id=1, message_id=sent.message_id)
        assert isinstance(changed, Message)
        assert "better" == changed.text
        assert await bot.set_message_reaction(1, asked, [ReactionTypeEmoji(emoji="👀")])
        assert await bot.send_chat_action(1, "typing")
        assert await bot.set_my_commands([BotCommand(command="start", description="Begin")])
        assert ["start"] == [command.command for command in await bot.get_my_commands()]
        assert await bot.delete_message(1, sent.message_id)
        assert await bot.set_webhook("https://example.com/hook")
        assert "https://example.com/hook" == (await bot.get_webhook_info()).url
        assert await bot.delete_webhook()


async def test_refusals_are_the_exceptions_aiogram_has_for_them():
    async with _plain_bot() as (simulator, bot):
        sent = await bot.send_message(1, "same")
        with pytest.raises(TelegramBadRequest, match="message is not modified"):
            await bot.edit_message_text("same", chat_id=1, message_id=sent.message_id)
        with pytest.raises(TelegramBadRequest, match="message to edit not found"):
            await bot.edit_message_text("same", chat_id=1, message_id=99)
        with pytest.raises(TelegramBadRequest, match="message is too long"):
            await bot.send_message(1, "x" * 4097)
        with pytest.raises(TelegramBadRequest, match="message text is empty"):
            await bot.send_message(1, "  ")
        with pytest.raises(TelegramBadRequest, match="message to be replied not found"):
            await bot.send_message(1, "x", reply_parameters=ReplyParameters(message_id=99))
        with pytest.raises(TelegramBadRequest, match="REACTION_INVALID"):
            await bot.set_message_reaction(1, sent.message_id, [ReactionTypeEmoji(emoji="🎹")])
        simulator.block(1)
        with pytest.raises(TelegramForbiddenError, match="blocked by the user"):
            await bot.send_message(1, "x")
        simulator.world.bot().revoked = True
        with pytest.raises(TelegramUnauthorizedError):
            await bot.get_me()


async def test_faults_reach_aiogram_as_real_ones():
    async with _plain_bot() as (simulator, bot):
        simulator.faults.script(
            Fault(kind="status", status=429, retry_after_s=3), Fault(kind="cut", method="sendMessage", applied=True)
        )
        with pytest.raises(TelegramRetryAfter) as flood:
            await bot.send_message(1, "one")
        assert 3 == flood.value.retry_after
        with pytest.raises(TelegramNetworkError):
            await bot.send_message(1, "two")
        assert ["two"] == [answer.text for answer in simulator.answers(1)]


async def test_second_poller_ends_the_first_ones_wait():
    async with _plain_bot() as (simulator, bot):

        async def first() -> str:
            try:
                await bot.get_updates(timeout=5)
            except Exception as error:  # noqa: BLE001  which one it is is the question
                return str(error)
            return "answered"

        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(first())
            while simulator.world.bot().updates.polls < 1:
                await asyncio.sleep(0)
            simulator_polls = tasks.create_task(bot.get_updates(timeout=30))
            while not waiting.done():
                await asyncio.sleep(0)
            simulator.say(1, "hello")
            updates = await simulator_polls
        assert "terminated by other getUpdates" in waiting.result()
        assert ["hello"] == [update.message.text for update in updates if update.message]


async def test_offset_semantics_are_telegrams():
    async with _plain_bot() as (simulator, bot):
        for n in range(5):
            simulator.say(1, f"m{n}")
        first = await bot.get_updates(limit=2)
        again = await bot.get_updates(limit=2)
        assert [update.update_id for update in first] == [update.update_id for update in again]
        rest = await bot.get_updates(offset=first[-1].update_id + 1)
        assert ["m2", "m3", "m4"] == [update.message.text for update in rest if update.message]
        last = await bot.get_updates(offset=-1)
        assert ["m4"] == [update.message.text for update in last if update.message]
        assert 1 == len(simulator.world.bot().updates)
        assert [] == await bot.get_updates(offset=last[-1].update_id + 1)
