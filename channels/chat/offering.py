"""Delivery of received events to the store, in order, for as long as it takes."""

from collections.abc import Awaitable, Callable

from channels.base import ChannelState, NotPersisted, Sink
from channels.chat.retrying import Backoff
from channels.clocks import Sleep

STORE_BACKOFF = Backoff((0.05, 0.1, 0.2, 0.5, 1.0, 2.0))


async def offer_until_stored(offer: Callable[[], Awaitable[None]], sink: Sink, sleep: Sleep) -> None:
    """Offer events to the sink until it has committed them; report each refusal to health."""
    refusals = 0
    while True:
        try:
            return await offer()
        except NotPersisted:
            refusals += 1
        sink.report(ChannelState.DEGRADED, "the store takes no messages; these are offered again")
        await sleep(STORE_BACKOFF.wait_s(refusals))
