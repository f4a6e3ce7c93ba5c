"""A shard as a connection of its account: identity, resume point, dispatches and gateway session, wired for one run."""

import asyncio
from collections.abc import Callable

from channels.base import Sink
from channels.clocks import Clock, Sleep
from channels.discord.connection import GatewayConnection
from channels.discord.consumer import DispatchConsumer
from channels.discord.cursor import read_cursor
from channels.discord.identity import identify
from channels.discord.ingest import Ingest
from channels.discord.interaction_replies import InteractionReplies
from channels.discord.sent_lookup import Echoes
from channels.discord.sharding import SessionStarts, Shard
from channels.discord.translate import TranslationContext
from channels.discord.wire import DiscordWire


class ShardConnection:
    """Receives by one shard."""

    def __init__(
        self,
        shard: Shard,
        wire: DiscordWire,
        replies: InteractionReplies,
        echoes: Echoes,
        starts: SessionStarts,
        is_shared: Callable[[str], bool],
        *,
        sleep: Sleep,
        clock: Clock,
    ) -> None:
        """Take `starts`, shared by all shards of the account, and `is_shared`, true if a command's answer is public."""
        self._shard = shard
        self._wire = wire
        self._replies = replies
        self._echoes = echoes
        self._starts = starts
        self._is_shared = is_shared
        self._sleep = sleep
        self._clock = clock
        self._gateway: GatewayConnection | None = None  # while it runs

    @property
    def is_running(self) -> bool:
        return self._gateway is not None

    @property
    def is_open(self) -> bool:
        """True if something was received on the connection that is open now."""
        return self._gateway is not None and self._gateway.is_open

    async def run(self, sink: Sink) -> None:
        """Receive until cancelled.

        Raises:
            ConfigRefused: Discord refuses the token, an intent, or so few shards.
            Retryable: Discord asks for more shards than `shards = "auto"` gave at the start.
        """
        bot = await identify(self._wire.config.name, self._wire.identify, sink, self._sleep)
        context = TranslationContext(bot, self._wire.config, self._shard, is_shared=self._is_shared)
        ingest = Ingest(context, read_cursor(await sink.cursor()))
        consumer = DispatchConsumer(
            ingest, context, self._wire, sink, self._replies, self._echoes, sleep=self._sleep, clock=self._clock
        )
        self._gateway = gateway = GatewayConnection(self._wire, sink, ingest, consumer, self._starts, self._sleep)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(consumer.run())
                tasks.create_task(gateway.run(tasks))
        except BaseExceptionGroup as ended:
            raise ended.exceptions[0] from None  # the first says why; the other was cancelled for it
        finally:
            self._gateway = None
