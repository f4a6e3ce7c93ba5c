"""Live answers: the busy sign, the placeholder and its paced edits while a turn runs. The final is the outbox's.

A quick answer costs one timer and nothing else. Live edits are never stored: the placeholder is an outbox row, and so
is the final that fills it; what a crash leaves in between is filled by the resumed turn.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import structlog

from channels.base import Channel, EditsMessages, Reacts, ShowsTyping, Sign, StreamsDrafts
from channels.errors import ChannelError, Retryable, Unknown
from channels.messages import GOES_ON, OutboundPart, Rendered
from gateway.delivery.calls import call
from gateway.delivery.compose import Said, Standing, filled_part, waiting_part
from gateway.delivery.config import DeliveryConfig
from gateway.delivery.outbox import Delivery
from gateway.delivery.pages import Pages
from gateway.delivery.splitting import MAX_PARTS
from gateway.delivery.streamed import StreamedDraft
from gateway.failpoints import failpoint
from gateway.store import attempts, outbox
from gateway.store.engine import Store
from gateway.store.outbox import NewPart, OutboxRow

log = structlog.get_logger()

SETTLE_S = 5.0
"""How long the final waits for a live edit that is in flight."""


@dataclass(frozen=True, slots=True)
class Settled:
    """How the live answer stood when the final came."""

    standing: tuple[Standing, ...]  # what the final fills, part by part
    pages: Pages  # how its text was cut


@dataclass(slots=True)
class _Shown:
    """One part of the live answer, as it stands in the chat."""

    platform_id: str | None = None  # None: it is on its way, or was not sent
    next_op: int = 1
    told: Rendered | None = None  # what the outbox makes it say for good
    seen: Rendered | None = None  # what a live edit made it say last
    dangling: bool = False  # a live edit timed out and may arrive late


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
        self._pieces: list[str] = []  # of the text so far
        self._chars = 0
        self._looked_at_chars = -1  # of the text when it was last compared with what is seen; -1: it is to be looked at
        self._look_due_s = float("-inf")
        self._pages = Pages(channel)
        self._shown: list[_Shown] = []
        self._reacted = False
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._draft = self._new_draft()

    def _new_draft(self) -> StreamedDraft | None:
        """Where the platform shows drafts in this chat, and was told to: no placeholder then."""
        if not isinstance(self._channel, StreamsDrafts) or not self._channel.drafts_in(self._address):
            return None
        return StreamedDraft(
            self._channel,
            self._address,
            self._turn_id,
            self._tools.now_s,
            every_s=self._channel.limits.edit_interval_s,
            timeout_s=self._tools.config.send_timeout_s,
        )

    def start(self, message_id: str | None, standing: Sequence[attempts.Standing] = ()) -> None:
        """Begin to watch the time; `standing` is from before a crash."""
        self._message_id = message_id
        self._shown = [_Shown(part.platform_id, part.next_op, part.rendered) for part in standing]
        self._timer = asyncio.get_running_loop().call_later(self._tools.config.typing_after_s, self._begin)
        if self._tools.config.signs == "always":
            self._tools.tasks.create_task(self._react())

    def feed(self, text: str) -> None:
        """More of the answer."""
        self._pieces.append(text)
        self._chars += len(text)

    def go_on_from(self, text: str) -> None:
        """Take this as fed and shown: what an attempt before a crash had answered. It changes when there is more."""
        self.discard(text)
        self._looked_at_chars = self._chars

    def discard(self, back_to: str = "") -> None:
        """What was fed is void, but for what stands already."""
        self._pieces, self._chars, self._looked_at_chars = [back_to], len(back_to), -1

    async def settle(self) -> Settled:
        """Stop showing; when this returns no live edit is in flight, or it is known that one may be."""
        self._over.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            _, pending = await asyncio.wait([self._task], timeout=SETTLE_S)
            if pending:
                if self._shown:
                    self._shown[-1].dangling = True
                self._task.cancel()
                await asyncio.wait([self._task])
        return Settled(tuple([Standing(one.next_op, one.told, one.dangling) for one in self._shown]), self._pages)

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
            quiet = bool(self._shown) and self._pacer.is_narrow(self._address.chat)  # what grows there is sign enough
            if now_s - typed_s >= self._channel.limits.typing_every_s and not quiet:
                await self._sign_only(self._typing())
                typed_s = self._tools.now_s()
            if age_s >= config.placeholder_after_s:
                await self._show_answer()
            if age_s >= config.note_after_s and not self._noted:
                await self._show_note()
            if age_s >= config.sign_after_s and not self._reacted and config.signs != "off":
                await self._react()
            await self._pause()

    async def _show_answer(self) -> None:
        if self._draft is not None and not self._draft.refused:
            if self._draft.is_due:
                await self._read_on()
                await self._draft.show(self._so_far() or self._rendered_note() or Rendered(""))
        elif not self._shown:
            await self._put_placeholder()
        elif self._is_worth_a_look():
            await self._look()

    async def _show_note(self) -> None:
        """Say in the placeholder, or in the draft, that it takes long: once, and only where nothing is seen yet."""
        if self._chars or len(self._shown) > 1 or self._draft_shows():
            self._noted = True
        elif self._shown and self._shown[0].platform_id is not None and self._pacer.may_edit(self._address.chat):
            self._noted = True
            if (rendered := self._rendered_note()) is not None:
                await self._edit(self._shown[0], rendered)

    def _draft_shows(self) -> bool:
        return self._draft is not None and not self._draft.refused

    def _rendered_note(self) -> Rendered | None:
        """The note, once it is time for it."""
        current = Pages(self._channel).read(self._note).current if self._noted and self._note else None
        return None if current is None else _unfinished(current)

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
        self._pacer.note(self._address.chat)
        try:
            await call(asked, self._tools.config.send_timeout_s)
        except ChannelError as failure:
            log.debug("sign_failed", turn_id=self._turn_id, error=str(failure))

    # ------------------------------------------------------------ what grows

    def _is_worth_a_look(self) -> bool:
        """Whether there is more of the text, a part to show it in, and time."""
        if self._chars == self._looked_at_chars or self._tools.now_s() < self._look_due_s:
            return False
        return self._shown[-1].platform_id is not None and self._pacer.could_edit(self._address.chat)

    async def _look(self) -> None:
        """Show what changed of what is seen: the last part grows, or a new one begins where it is full."""
        self._look_due_s = self._tools.now_s() + self._channel.limits.edit_interval_s
        chars = self._chars
        await self._read_on()
        last, current = len(self._shown) - 1, len(self._pages.full)
        rendered = _unfinished(self._pages.full[last].rendered) if current > last else self._so_far()
        if current > last and self._may_go_on(last + 1):
            await self._turn_page(last)
        elif current < last or rendered is None or rendered == self._shown[last].seen:
            self._looked_at_chars = chars
        elif self._pacer.may_edit(self._address.chat):
            await self._edit(self._shown[last], rendered)

    async def _read_on(self) -> None:
        if not self._pages.wants(self._chars):
            return
        text = "".join(self._pieces)
        self._pieces = [text]
        pages, clean = self._pages, self._tools.clean
        self._pages = await self._tools.delivery.aside.run(len(text), lambda: pages.read(clean(text)))

    def _so_far(self) -> Rendered | None:
        """What the part that grows is to show now; None where there is nothing to see yet."""
        current = self._pages.current
        return None if current is None else _unfinished(current)

    def _may_go_on(self, number: int) -> bool:
        """Whether another part may begin before the answer is done; where a reply has its own way, it waits."""
        return number < MAX_PARTS - 1 and self._said.answers is None

    async def _put_placeholder(self) -> None:
        if not isinstance(self._channel, EditsMessages):
            return
        part = waiting_part(self._channel, self._said)
        failpoint("placeholder_pre")
        await self._stand(_Shown(), [part])

    async def _turn_page(self, last: int) -> None:
        """The last part says for good what it has room for, and another one begins: both are rows of one commit."""
        if not self._pacer.may_edit(self._address.chat):
            return
        full, shown = self._pages.full[last], self._shown[last]
        parts = [waiting_part(self._channel, self._said, last + 1)]
        if shown.told != full.rendered or shown.dangling:
            ops = range(shown.next_op, shown.next_op + (2 if shown.dangling else 1))
            parts[:0] = [filled_part(self._said, last, op, full) for op in ops]
            shown.next_op = ops.stop  # whether or not the commit comes: no other row may have these numbers
            shown.told = None
        failpoint("page_pre")
        await self._stand(_Shown(), parts, (shown, full.rendered))

    async def _stand(self, new: _Shown, parts: Sequence[NewPart], told: tuple[_Shown, Rendered] | None = None) -> None:
        """Put these rows into the outbox, the last of which is a new placeholder, and wait until it was sent."""
        self._shown.append(new)
        rows: list[OutboxRow] = await self._tools.store.write(
            lambda connection: outbox.put(connection, self._tenant, parts, self._tools.delivery.now()),
            self._tools.delivery.publish,
        )
        if told is not None:
            told[0].told, told[0].dangling = told[1], False
            failpoint("page_post")
        if rows:
            new.platform_id = await self._tools.delivery.sent(rows[-1])

    async def _edit(self, shown: _Shown, rendered: Rendered) -> None:
        """Show what there is."""
        if not isinstance(self._channel, EditsMessages) or shown.platform_id is None:
            return
        part = OutboundPart(address=self._address, rendered=rendered, idem_key="", unfinished=True)
        try:
            await call(self._channel.edit(part, shown.platform_id), self._tools.config.send_timeout_s)
            failpoint("live_edit")
        except asyncio.CancelledError:
            shown.dangling = True
            raise
        except Unknown:
            shown.dangling = True
        except Retryable as failure:
            # the next edit obeys it, of whichever answer in this chat, and the final too
            self._pacer.refused(self._address.chat, failure.retry_after_s or 1.0)
            return
        except ChannelError as failure:
            log.debug("live_edit_refused", turn_id=self._turn_id, error=str(failure))
        shown.seen = rendered


def _unfinished(rendered: Rendered) -> Rendered:
    return replace(rendered, text=rendered.text + GOES_ON)
