"""One account on a Matrix homeserver as a channel. `receiving` receives, `payloads` builds events, `wire` makes calls.

No retry, no splitting and no pacing live here. Each event that is sent has a transaction id, by which the homeserver
recognises a repeated attempt; so a part is shown once, also if this process is killed while it sends.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar
from uuid import uuid4

from channels.base import ChannelConnection, ChannelState, Limits, Sink, TextUnit
from channels.chat.refusals import ApiRefusal
from channels.foreign import JsonObject
from channels.messages import Address, Attachment, OutboundPart, Receipt
from tenk_matrix.config import MatrixAccount
from tenk_matrix.payloads import to_edit, to_key, to_media_message, to_message
from tenk_matrix.receiving import MatrixSync
from tenk_matrix.render import MatrixRenderer
from tenk_matrix.translate import CHANNEL
from tenk_matrix.wire import MAX_FILE_BYTES, REFUSALS, MatrixWire, path_of, token_refused

TYPING_S = 5.0  # until a typing indicator vanishes

T = TypeVar("T")


def limits_of(config: MatrixAccount) -> Limits:
    """Return Matrix's limits.

    Sources: 65,536 bytes an event (spec.matrix.org/v1.15/client-server-api/#size-limits); Synapse's `rc_message`, 0.2
    events a second after a burst of 10 (element-hq.github.io/synapse, read 2026-11).
    """
    return Limits(
        max_text=12_000,  # of 4 bytes each, with room for what comes with them
        unit=TextUnit.CHARS,
        edit_interval_s=2.0,
        typing_every_s=4.0,
        overall_per_s=max(0.2, config.edits_per_min / 60),
        edits_per_min=config.edits_per_min,
        idempotent_sends=True,
        hints="Write Markdown: paragraphs, lists, **bold**, code; a table only when it is under 40 characters wide.",
    )


class MatrixChannel:
    """One account: receives by /sync, sends, edits and deletes, moves files, shows typing."""

    name = CHANNEL
    account_model = MatrixAccount
    max_media_bytes = MAX_FILE_BYTES

    def __init__(self, config: MatrixAccount) -> None:
        self.account = config.name
        self.limits = limits_of(config)
        self.renderer = MatrixRenderer()
        self._config = config
        self._wire = MatrixWire(config)
        self._sink: Sink | None = None
        self._user = ""  # our id, once it is known

    async def connections(self) -> Sequence[ChannelConnection]:
        """Return this channel: it has one connection."""
        return (self,)

    async def run(self, sink: Sink) -> None:
        """Receive until cancelled.

        Raises:
            ConfigRefused: the access token is refused.
        """
        self._sink = sink
        try:
            async with asyncio.TaskGroup() as tasks:
                syncing = MatrixSync(self._config, self._wire, sink, tasks)
                bot = await syncing.identify()
                self._user = bot.user
                await syncing.run(bot)
        except ExceptionGroup as group:
            raise group.exceptions[0] from None  # the first says why; the rest were cancelled for it

    async def aclose(self) -> None:
        """Close the connections after `run` has ended."""
        await self._wire.aclose()

    # ------------------------------------------------------------ sending

    async def send(self, part: OutboundPart) -> Receipt:
        """Send one message; several files are a message each, the receipt is that of the first.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`.
        """
        room = part.address.chat
        if not part.media:
            event_id = await self._or_channel_error(
                self._wire.send(room, "m.room.message", to_key(part), to_message(part))
            )
        else:
            event_ids = [await self._or_channel_error(self._send_file(part, at)) for at in range(len(part.media))]
            event_id = event_ids[0]
        return Receipt(event_id)

    async def _send_file(self, part: OutboundPart, number: int) -> str:
        media = part.media[number]
        uri = await self._wire.upload(media.name, media.mime, media.content)
        content = to_media_message(part, media, uri, captioned=number == 0)
        return await self._wire.send(part.address.chat, "m.room.message", to_key(part, number), content)

    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        """Replace the text of our message; a repetition shows the same.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`.
        """
        key = to_key(part) if part.idem_key else uuid4().hex
        content = to_edit(part, platform_id)
        await self._or_channel_error(self._wire.send(part.address.chat, "m.room.message", key, content))
        return Receipt(platform_id)

    async def delete(self, address: Address, message_id: str) -> None:
        """Delete our message."""
        path = path_of("rooms", address.chat, "redact", message_id, f"redact-{message_id}")
        await self._or_channel_error(self._wire.call("PUT", path, {}))

    # ------------------------------------------------------------ typing, files

    async def show_typing(self, address: Address) -> None:
        """Show "typing" for some seconds."""
        shown: JsonObject = {"typing": True, "timeout": int(TYPING_S * 1000)}
        path = path_of("rooms", address.chat, "typing", self._user)
        await self._or_channel_error(self._wire.call("PUT", path, shown))

    async def fetch(self, attachment: Attachment, max_bytes: int) -> bytes:
        """Return the content of a file.

        Raises:
            Permanent: it is larger than `max_bytes`, or gone.
            Retryable: not now.
        """
        return await self._wire.download(attachment.handle, max_bytes)

    async def _or_channel_error(self, call: Awaitable[T]) -> T:
        """Await a call; raise a refusal as one of the three kinds of error, and report a refused token to health."""
        try:
            return await call
        except ApiRefusal as refusal:
            refused = token_refused(self.account, refusal)
            if self._sink is not None and refused is not None:
                self._sink.report(ChannelState.DEGRADED, str(refused))
            raise REFUSALS.to_channel_error(refusal) from None
