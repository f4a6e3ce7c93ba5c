"""Every channel as a rig. Another channel needs a subclass of `Rig` and a line in `RIGS`."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from channels.base import Channel
from channels.messages import Address
from channels.registry import account_model, load_channel
from gateway.store.engine import Store
from gateway.testing.channel_rig import Rig, Trouble
from tests.contract.platform_rigs import DiscordRig, SlackRig, TelegramRig
from tests.contract.view_rigs import ConsoleRig, WebRig


class LetterboxRig(Rig):
    """The channel of an installed distribution, found by its entry point alone."""

    name = "letterbox"

    async def open(self) -> None:
        self._in, self._out = self.directory / "in", self.directory / "out"
        self._in.mkdir()
        (self._out / "ada").mkdir(parents=True)
        self._number = 0

    async def make(self) -> Channel:
        config = account_model("letterbox").model_validate({"directory": self.directory})
        channel: Channel = load_channel("letterbox")(config)
        return channel

    @property
    def address(self) -> Address:
        return Address("letterbox", "main", "ada")

    async def people_say(self, texts: Sequence[str]) -> None:
        for text in texts:
            self._number += 1
            self._last = text
            self._put(text)

    async def redeliver(self) -> None:
        self._put(self._last)
        await asyncio.sleep(0.05)

    def _put(self, text: str) -> None:
        draft = self.directory / "draft"
        draft.write_text(text)
        draft.replace(self._in / f"{self._number:06}-ada.txt")

    def count_unacknowledged(self) -> int:
        return len(list(self._in.iterdir()))

    def sent_texts(self) -> list[str]:
        answers = sorted((self._out / "ada").glob("*.txt"), key=lambda path: path.stat().st_mtime_ns)
        return [answer.read_text() for answer in answers]

    async def fail_next(self, trouble: Trouble) -> None:
        if trouble is Trouble.RETRYABLE:
            self._out.rename(self.directory / "elsewhere")
        elif trouble is Trouble.PERMANENT:
            (self._out / "ada").rename(self._out / "moved")
        else:
            (self._out / "ada" / "0123456789abcdef.txt").mkdir()

    async def mend(self) -> None:
        for was, is_now in [(self.directory / "elsewhere", self._out), (self._out / "moved", self._out / "ada")]:
            if was.exists():
                was.rename(is_now)
        blocked = self._out / "ada" / "0123456789abcdef.txt"
        if blocked.is_dir():
            blocked.rmdir()


RIGS: Sequence[Callable[[Store, Path], Rig]] = (TelegramRig, DiscordRig, SlackRig, WebRig, ConsoleRig, LetterboxRig)
