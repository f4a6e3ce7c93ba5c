"""Execution of the steps that `ingest` decides: commit with backoff, fetch channels, fill gaps, defer interactions.

What comes next and how far the session is committed is decided there; connecting is `connection`'s matter.
"""

import asyncio
from collections.abc import Sequence
from functools import partial

import structlog
from pydantic import TypeAdapter, ValidationError

from channels.base import ChannelState, Sink
from channels.chat.backfill import Backfill
from channels.chat.offering import offer_until_stored
from channels.chat.refusals import ApiRefusal
from channels.chat.retrying import Backoff
from channels.clocks import Clock, Sleep
from channels.discord.backfill import Histories
from channels.discord.channel_cache import Place, place_of
from channels.discord.ingest import STATE_EVENTS, Commit, Dispatch, FetchChannel, FillGap, Ingest
from channels.discord.interaction_replies import InteractionReplies
from channels.discord.raw import RawChannel
from channels.discord.sent_lookup import Echoes
from channels.discord.sharding import Shard
from channels.discord.translate import TranslationContext
from channels.discord.wire import DiscordWire
from channels.errors import ChannelError
from channels.messages import InboundEvent, Rejected

CHANNEL_BACKOFF = Backoff((0.2, 0.5, 1.0, 2.0, 5.0))
FILLING = "fetching the messages it missed; newer ones are answered after that"
_CHANNEL = TypeAdapter(RawChannel)

log = structlog.get_logger()


class DispatchConsumer:
    """Processes the dispatches of one shard while `run` runs: `receive` queues them, `ingest` chooses the next step."""

    def __init__(
        self,
        ingest: Ingest,
        context: TranslationContext,
        wire: DiscordWire,
        sink: Sink,
        replies: InteractionReplies,
        echoes: Echoes,
        *,
        sleep: Sleep,
        clock: Clock,
    ) -> None:
        self._ingest = ingest
        self._context = context
        self._wire = wire
        self._sink = sink
        self._replies = replies
        self._echoes = echoes
        self._sleep = sleep
        self._clock = clock
        self._news = asyncio.Event()  # set when `ingest` may have a next step
        self._committed = asyncio.Event()
        shard, histories = context.shard, Histories(wire, sink, context, sleep, clock)
        self._backfill = Backfill(
            histories,
            self._hand_in,
            lambda words: sink.report_missing(shard.name(words) if words else ""),
            sleep,
            context.bot.account,
        )

    @property
    def shard(self) -> Shard:
        return self._context.shard

    # ------------------------------------------------------------ from the socket

    async def room(self) -> None:
        """Wait until the queue has room for a dispatch."""
        while self._ingest.is_full:
            self._committed.clear()
            await self._committed.wait()

    def receive(self, received: Dispatch | Rejected) -> None:
        """Queue a dispatch, or a malformed frame in its place, without waiting.

        Raises:
            ValueError: a READY that opens no session.
        """
        self._ingest.receive(received)
        if isinstance(received, Dispatch):
            if received.event == "MESSAGE_CREATE":
                self._echoes.note(received.data, self._context.bot.user_id)
            elif received.event in STATE_EVENTS:
                self.report_alive()
        self._news.set()

    def report_alive(self) -> None:
        """Report READY once a session is open: later messages are received, even if a gap is still being filled."""
        if self._ingest.is_connected:
            self._sink.report(ChannelState.READY, self.shard.name(FILLING) if self._ingest.has_gap else "")

    # ------------------------------------------------------------ steps

    async def run(self) -> None:
        """Execute steps for ever."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                while (step := self._ingest.next(self._clock())) is not None:
                    match step:
                        case Commit():
                            await self._commit(step, tasks)
                        case FetchChannel():
                            tasks.create_task(self._fetch_channel(step.id))
                        case FillGap():
                            self.report_alive()
                            tasks.create_task(self._fill_gap(step.since, tasks))
                await self._news.wait()
                self._news.clear()

    async def _commit(self, commit: Commit, tasks: asyncio.TaskGroup) -> None:
        """Commit a batch with its resume point, then defer its interactions."""
        for reply_route in commit.reply_routes:
            self._replies.expect(reply_route)
        await self._hand_in((*commit.events, *commit.rejected), commit.cursor)
        self._ingest.mark_committed(commit)
        self._committed.set()
        for reply_route in commit.reply_routes:
            tasks.create_task(self._replies.defer(reply_route))

    async def _hand_in(self, results: Sequence[InboundEvent | Rejected], cursor: str | None = None) -> None:
        """Offer events to the sink until it has committed them."""
        events = [result for result in results if not isinstance(result, Rejected)]
        rejected = [result for result in results if isinstance(result, Rejected)]
        for bad in rejected:
            log.warning(
                "dispatch_rejected", account=self._context.bot.account, event_id=bad.event_id, reason=bad.reason
            )
        offer = partial(self._sink.receive, events, rejected=rejected, cursor=cursor)
        await offer_until_stored(offer, self._sink, self._sleep)

    async def _fill_gap(self, since: int, tasks: asyncio.TaskGroup) -> None:
        """Fetch the messages between this one and the session; retry failed channels in the background."""
        whole = await self._backfill.fill(since)
        self._ingest.gap_filled(whole=whole)
        self.report_alive()
        self._news.set()
        if not whole:
            tasks.create_task(self._read_on())

    async def _read_on(self) -> None:
        await self._backfill.read_on()
        self._ingest.caught_up()
        self._news.set()

    async def _fetch_channel(self, channel: str) -> None:
        """Fetch a channel until its place is known."""
        attempt = 0
        while (place := await self._find_place(channel)) is None:
            attempt += 1
            await self._sleep(CHANNEL_BACKOFF.wait_s(attempt))
        self._ingest.channel_known(place)
        self._news.set()

    async def _find_place(self, channel: str) -> Place | None:
        """Return the channel's place, or None if Discord does not answer now. A hidden channel counts as a server's."""
        try:
            answer = await self._wire.call("GET", "/channels/{channel_id}", at={"channel_id": channel})
            return place_of(_CHANNEL.validate_python(answer))
        except ValidationError:
            return Place(channel, "0")
        except (ApiRefusal, ChannelError) as error:
            if isinstance(error, ApiRefusal) and error.status in (403, 404):
                return Place(channel, "0")
            log.warning("channel_unknown", account=self._context.bot.account, channel=channel, detail=str(error))
            return None
