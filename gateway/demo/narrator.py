"""Who tells the story between what people and the bot say, and plays the operator at the machine."""

import re
import time
from collections.abc import Callable

from gateway.demo.chat import Chat
from gateway.demo.errors import StoryBroken
from gateway.demo.stage import Stage
from gateway.demo.transcript import Entry, Kind

CODE = re.compile(r"^[A-HJ-NP-Z2-9]{8}$", re.MULTILINE)
"""A pairing code, alone on its line."""


class Narrator:
    """Tells scenes, notes and commands to `show`, and when they were."""

    def __init__(self, stage: Stage, show: Callable[[Entry], None]) -> None:
        """The story begins now."""
        self.stage = stage
        self.show = show
        self.begun_s = time.monotonic()

    @property
    def lasted_s(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.begun_s

    def scene(self, text: str) -> None:
        """A heading."""
        self.show(Entry(Kind.SCENE, text, self.lasted_s))

    def note(self, text: str) -> None:
        """A remark."""
        self.show(Entry(Kind.NOTE, text, self.lasted_s))

    def command(self, text: str) -> None:
        """What the operator types."""
        self.show(Entry(Kind.COMMAND, text, self.lasted_s))

    async def approve(self, chat: Chat) -> None:
        """The operator lets somebody in by the code that stands in their chat.

        Raises:
            StoryBroken: there is no code, or it is not taken.
        """
        code = next((found[0] for seen in chat.seen.values() if (found := CODE.search(seen.text))), None)
        if code is None:
            raise StoryBroken(f"{chat.name} was given no pairing code")
        self.command(f"tenk pairing approve {code}")
        printed = await self.stage.tenk("pairing", "approve", code)
        self.show(Entry(Kind.OUTPUT, printed, self.lasted_s))
