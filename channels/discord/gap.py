"""One gap of one bot: filled as far as it can be, then tried again until it is filled or too old to be fetched.

How channels are read is `backfill`'s matter, what the resume point says of it `hearing`'s.
"""

from collections.abc import Callable
from datetime import datetime

import structlog

from channels.base import Sink
from channels.discord.backfill import Backfill, Found, HandIn, Pause
from channels.discord.connection import step
from channels.discord.translate import Surroundings, snowflake_at
from channels.discord.wire import DiscordWire

READ_ON_S = (30.0, 60.0, 120.0, 300.0, 600.0)  # between tries of what could not be read

log = structlog.get_logger()


class Gap:
    """What was said after a message and was not heard."""

    def __init__(
        self,
        wire: DiscordWire,
        sink: Sink,
        near: Surroundings,
        hand_in: HandIn,
        pause: Pause,
        since: int,
        clock: Callable[[], datetime],
    ) -> None:
        """`since` is the id of that message."""
        self._wire = wire
        self._sink = sink
        self._near = near
        self._hand_in = hand_in
        self._pause = pause
        self._since = since
        self._clock = clock
        self._backfill: Backfill | None = None
        self._found = Found()

    async def fill(self) -> bool:
        """Read every channel once; False where something could not be read, which health then shows."""
        known = await self._sink.chats()
        self._backfill = Backfill(self._wire, self._near, self._hand_in, self._pause, known)
        self._found = await self._backfill.run(self._since, 1000 * self._clock().timestamp())
        self._sink.report_missing(self._found.words)
        return self._found.whole

    async def read_on(self) -> None:
        """Try again what could not be read, until nothing is missing or it is older than what is fetched."""
        assert self._backfill is not None, "fill first"
        attempt, oldest = 0, 0
        while not self._found.whole and oldest < self._since:
            attempt += 1
            await self._pause(step(READ_ON_S, attempt))
            now_ms = 1000 * self._clock().timestamp()
            oldest = snowflake_at(now_ms - self._near.config.backfill_hours * 3_600_000)
            self._found = await self._backfill.again(self._found, self._since, now_ms)
            self._sink.report_missing(self._found.words)
        if not self._found.whole:
            log.error("gap_given_up", account=self._near.us.account, detail=self._found.words)
