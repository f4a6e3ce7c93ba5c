"""The channel over a real homeserver, with Ada at its other end."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from channels.base import Channel
from channels.messages import Address
from channels.registry import account_model, load_channel
from distributions.matrix.tests.homeserver import Homeserver
from distributions.matrix.tests.wire_tap import WireTap
from gateway.testing.channel_rig import Rig, Trouble, run_rig


class MatrixRig(Rig):
    """Ada in a room with the bot; the committed token is the acknowledgement: the next /sync begins there."""

    name = "matrix"

    def __init__(self, server: Homeserver, *given: Any) -> None:
        super().__init__(*given)
        self.server = server

    async def open(self) -> None:
        self.tap = await self._stack.enter_async_context(WireTap(self.server.url))
        self.bot, self.ada = self.server.register("Bot"), self.server.register("Ada")
        self.room = self.ada.make_room(self.bot)

    async def make(self) -> Channel:
        given = {"api_base": self.tap.url, "access_token": self.bot.token}
        channel: Channel = load_channel(self.name)(account_model(self.name).model_validate(given))
        return channel

    @property
    def address(self) -> Address:
        return Address(self.name, self.account, self.room)

    async def people_say(self, texts: Sequence[str]) -> None:
        await self.sink.until(lambda: self.sink.committed is not None)
        for text in texts:
            self.ada.say(self.room, text)

    async def redeliver(self) -> None:
        await self.tap.redeliver()

    def count_unacknowledged(self) -> int:
        return self.ada.said_since(self.room, str(self.sink.committed))

    def sent_texts(self) -> list[str]:
        return [content["body"] for content in self.ada.seen(self.room, self.bot)]

    async def fail_next(self, trouble: Trouble) -> None:
        if trouble is Trouble.RETRYABLE:
            refusal = {"errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests", "retry_after_ms": 50}
            self.tap.answer_next("/send/", 429, refusal)
        elif trouble is Trouble.PERMANENT:
            self.tap.answer_next("/send/", 403, {"errcode": "M_FORBIDDEN", "error": "not in room"})
        else:
            self.tap.cut_next("/send/")


@asynccontextmanager
async def running(directory: Path, server: Homeserver) -> AsyncIterator[MatrixRig]:
    """Run the channel until the bot is in the room."""
    async with run_rig(partial(MatrixRig, server), directory) as made:
        await made.sink.until(lambda: made.bot.user in made.ada.members(made.room))
        yield made
