"""Live answers: the busy sign, the placeholder and its paced edits while a turn runs. The final is the outbox's.

A quick answer costs one timer and nothing else. Live edits are never stored: the placeholder is an outbox row, and so
is the final that fills it; what a crash leaves in between is filled by the resumed turn.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import structlog

from channels.base import Channel, EditsMessages, Reacts, ShowsTyping, Sign, StreamsDrafts
from channels.errors import ChannelError, Retryable, Unknown
from channels.messages import GOES_ON, OutboundPart, Rendered
from gateway.delivery.calls import call
from gateway.delivery.compose import RECOVERED_MARK, Said, waiting_part
from gateway.delivery.config import DeliveryConfig
from gateway.delivery.outbox import Delivery
from gateway.delivery.splitting import split
from gateway.delivery.streamed import StreamedDraft
from gateway.delivery.unfinished import closed
from gateway.failpoints import failpoint
from gateway.store import attempts, outbox
from gateway.store.engine import Store
from gateway.store.outbox import OutboxRow

log = structlog.get_logger()

SETTLE_S = 5.0
"""How long the final waits for a live edit that is in flight."""


@dataclass(frozen=True, slots=True)
class Settled:
    """How the live answer stood when the final came."""

    placeholder: bool  # the final is an edit
    again: bool = False  # a live edit timed out and may arrive late: the final edit is made twice


@dataclass(frozen=True, slots=True)
class LiveTools:
    """What every live answer of a gateway shares."""

    store: Store
    delivery: Delivery
    config: DeliveryConfig
    now_s: Callable[[], float]  # monotonic
    clean: Callable[[str], str]  # model text to what a person may see
    tasks: asyncio.TaskGroup


class LiveAnswer:
    """What a person sees of one turn before its answer is done."""

    def __init__(self, tools: LiveTools, channel: Channel, tenant: str, said: Said, note: str = "") -> None:
        """`said` is the answer to come, its text still empty; `note` is shown where that takes long."""
        self._tools = tools
        self._channel = channel
        self._pacer = tools.delivery.pacer(channel)
        self._tenant = tenant
        self._said = said
        self._note = note
        self._noted = not note
        self._address = said.address
        self._turn_id = said.cause
        self._message_id: str | None = None
        self._text = ""
        self._shown = ""
        self._has_placeholder = False
        self._platform_id: str | None = None
        self._dangling = False
        self._reacted = False
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._draft = _draft_of(tools, channel, said, self._so_far)

    def start(self, message_id: str | None, placeholder: attempts.Placeholder | None = None) -> None:
        """Begin to watch the time; `placeholder` is one from before a crash."""
        self._message_id = message_id
        if placeholder is not None:
            self._has_placeholder = True
            self._platform_id = placeholder.platform_id
        self._timer = asyncio.get_running_loop().call_later(self._tools.config.typing_after_s, self._begin)
        if self._tools.config.signs == "always":
            self._tools.tasks.create_task(self._react())

    def feed(self, text: str) -> None:
        """More of the answer."""
        self._text += text

    def go_on_from(self, text: str) -> None:
        """Take this as fed and shown: what an attempt before a crash had answered. It changes when there is more."""
        self._text = self._shown = text

    def discard(self, back_to: str = "") -> None:
        """What was fed is void, but for what stands already."""
        self._text = back_to

    async def settle(self) -> Settled:
        """Stop showing; when this returns no live edit is in flight, or it is known that one may be."""
        self._over.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            _, pending = await asyncio.wait([self._task], timeout=SETTLE_S)
            if pending:
                self._dangling = True
                self._task.cancel()
                await asyncio.wait([self._task])
        return Settled(self._has_placeholder, self._dangling)

    def resume(self) -> None:
        """Go on showing: the turn goes on after all."""
        self._over.clear()
        self._task = self._tools.tasks.create_task(self._show())

    def finished(self) -> None:
        """The answer is out: take the working sign away."""
        if self._reacted and self._message_id and isinstance(self._channel, Reacts):
            self._tools.tasks.create_task(self._sign_only(self._channel.react(self._address, self._message_id, None)))

    def cancel(self) -> None:
        """Let go at once, for a turn that ends without an answer of its own."""
        self._over.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    # ------------------------------------------------------------ while it runs

    def _begin(self) -> None:
        self._task = self._tools.tasks.create_task(self._show())

    async def _show(self) -> None:
        try:
            await self._keep_showing()
        except Exception:  # noqa: BLE001  one live answer: recorded here; the turn and its final answer go on without
            log.exception("live_answer_broken", turn_id=self._turn_id)

    async def _keep_showing(self) -> None:
        config = self._tools.config
        begun_s = self._tools.now_s() - config.typing_after_s
        typed_s = float("-inf")
        while not self._over.is_set():
            now_s = self._tools.now_s()
            age_s = now_s - begun_s
            if now_s - typed_s >= self._channel.limits.typing_every_s:
                await self._sign_only(self._typing())
                typed_s = self._tools.now_s()
            if age_s >= config.placeholder_after_s:
                await self._show_answer()
            if age_s >= config.note_after_s and not self._noted:
                await self._show_note()
            if age_s >= config.sign_after_s and not self._reacted and config.signs != "off":
                await self._react()
            if self._worth_an_edit() and self._pacer.may_edit(self._address.chat):
                await self._edit()
            await self._pause()

    async def _show_answer(self) -> None:
        if self._draft is not None and not self._draft.refused:
            await self._draft.show(self._text or (self._note if self._noted else ""))
        elif not self._has_placeholder:
            await self._put_placeholder()

    async def _pause(self) -> None:
        """Wait until something may be due: coarse, because nobody sees a quarter of a second."""
        try:
            async with asyncio.timeout(0.25):
                await self._over.wait()
        except TimeoutError:
            pass

    async def _typing(self) -> None:
        if isinstance(self._channel, ShowsTyping):
            await self._channel.show_typing(self._address)

    async def _react(self) -> None:
        self._reacted = True
        if self._message_id and isinstance(self._channel, Reacts):
            await self._sign_only(self._channel.react(self._address, self._message_id, Sign.WORKING))

    async def _sign_only(self, asked: Awaitable[None]) -> None:
        """Signs may fail without harm."""
        try:
            await call(asked, self._tools.config.send_timeout_s)
        except ChannelError as failure:
            log.debug("sign_failed", turn_id=self._turn_id, error=str(failure))

    async def _put_placeholder(self) -> None:
        self._has_placeholder = True
        if not isinstance(self._channel, EditsMessages):
            self._has_placeholder = False
            return
        part = waiting_part(self._channel, self._said)
        failpoint("placeholder_pre")
        rows: list[OutboxRow] = await self._tools.store.write(
            lambda connection: outbox.put(connection, self._tenant, [part], self._tools.delivery.now()),
            self._tools.delivery.publish,
        )
        if rows:
            self._platform_id = await self._tools.delivery.sent(rows[0])

    def _worth_an_edit(self) -> bool:
        return self._platform_id is not None and bool(self._text.strip()) and self._text != self._shown

    def _so_far(self, text: str) -> Rendered | None:
        """What to show of an answer that is still being written; None where there is nothing to see yet."""
        limits = self._channel.limits
        reserve = limits.unit.measure(RECOVERED_MARK)  # as the final: what is cut off here is cut off there
        pieces = split(closed(self._tools.clean(text)), self._channel.renderer, limits, reserve=reserve)
        return replace(pieces[0].rendered, text=pieces[0].rendered.text + GOES_ON) if pieces else None

    async def _show_note(self) -> None:
        """Say in the placeholder, or in the draft, that it takes long: once, and only where nothing was shown yet."""
        if self._text.strip() or self._shown or (self._draft is not None and not self._draft.refused):
            self._noted = True
        elif self._platform_id is not None and self._pacer.may_edit(self._address.chat):
            self._noted = True
            await self._edit_to(self._so_far(self._note))

    async def _edit(self) -> None:
        """Show what there is."""
        text = self._text
        if await self._edit_to(self._so_far(text)):
            self._shown = text

    async def _edit_to(self, rendered: Rendered | None) -> bool:
        """Put this in the placeholder's place; False where it is worth another try."""
        if rendered is None or not isinstance(self._channel, EditsMessages) or self._platform_id is None:
            return False
        part = OutboundPart(address=self._address, rendered=rendered, idem_key="", unfinished=True)
        try:
            await call(self._channel.edit(part, self._platform_id), self._tools.config.send_timeout_s)
            failpoint("live_edit")
        except asyncio.CancelledError:
            self._dangling = True
            raise
        except Unknown:
            self._dangling = True
        except Retryable as failure:
            # the next edit obeys it, of whichever answer in this chat, and the final too
            self._pacer.refused(self._address.chat, failure.retry_after_s or 1.0)
            return False
        except ChannelError as failure:
            log.debug("live_edit_refused", turn_id=self._turn_id, error=str(failure))
        return True


def _draft_of(
    tools: LiveTools, channel: Channel, said: Said, render: Callable[[str], Rendered | None]
) -> StreamedDraft | None:
    """Where the platform shows drafts in this chat, and was told to: no placeholder then."""
    if not isinstance(channel, StreamsDrafts) or not channel.drafts_in(said.address):
        return None
    return StreamedDraft(
        channel,
        said.address,
        said.cause,
        render,
        tools.now_s,
        every_s=channel.limits.edit_interval_s,
        timeout_s=tools.config.send_timeout_s,
    )
