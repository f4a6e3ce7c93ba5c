"""The live view of a turn before its answer is done: typing signs, a draft, or messages that grow part by part.

Live edits are not stored; placeholders and full parts are outbox rows, as the final answer is. A quick answer costs one
timer. Decision 0017.
"""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import structlog

from agent.catalogue import Catalogue
from agent.errors import Fenced
from agent.ports import TextDelta, TextDiscarded
from agent.turn_events import EventReader
from agent.turn_progress import ToolProgress, ToolStarted
from channels.base import (
    Channel,
    EditsMessages,
    Reaction,
    Reacts,
    ShowsTyping,
    ShowsWaits,
    StreamsDrafts,
)
from channels.errors import ChannelError, Permanent, Retryable, Unknown
from channels.messages import GOES_ON, Address, OutboundPart, Rendered
from gateway.delivery.config import DeliveryConfig
from gateway.delivery.delivery import Delivery
from gateway.delivery.message_parts import LivePart, OutboundMessage, filled_part, waiting_part
from gateway.delivery.pages import AnswerPages
from gateway.delivery.sender import call_within
from gateway.delivery.splitter import MAX_PARTS
from gateway.failpoints import failpoint
from gateway.store import journal, outbox
from gateway.store.engine import Connection, Store
from gateway.store.journal import Fence
from gateway.store.outbox import OutboxPart, OutboxRow

log = structlog.get_logger()

SETTLE_S = 5.0
"""Seconds that the final answer waits for a live edit in flight."""

BUSY_S = 60.0
"""Assumed seconds for a busy model that names no time; the answer's text says a minute, too."""

PAUSE_S = 0.25
"""Seconds between two updates of the view."""

RENEW_SHARE = 2 / 3
"""Share of a draft's lifetime after which an unchanged one is sent again."""


@dataclass(frozen=True, slots=True)
class LiveDeps:
    """Dependencies of all live answers of a tenant."""

    store: Store
    delivery: Delivery
    config: DeliveryConfig
    now_s: Callable[[], float]  # monotonic
    clean: Callable[[str], str]  # from model text to what a person may see
    tasks: asyncio.TaskGroup
    texts: Catalogue  # for people


@dataclass(slots=True)
class _Part:
    """One part of the live answer in the chat."""

    platform_id: str | None = None  # None: being sent, or not sent
    next_revision: int = 1
    final: Rendered | None = None  # its content by the outbox
    seen: Rendered | None = None  # its content by the last live edit
    dangling: bool = False  # a live edit timed out and may arrive late


class LiveAnswer:
    """Live view of one turn's answer."""

    def __init__(
        self,
        deps: LiveDeps,
        channel: Channel,
        tenant: str,
        message: OutboundMessage,
        fence: Fence,
        events: EventReader,
    ) -> None:
        """Take the answer to come, its text still empty, and the turn's events.

        Nothing more is shown once another process owns the turn's `fence`: that process continues the turn.
        """
        self._deps = deps
        self._channel = channel
        self._pacer = deps.delivery.pacer(channel)
        self._tenant = tenant
        self._message = message
        self._fence = fence
        self._address = message.address
        self._message_id: str | None = None  # of the person's message
        self._reacted = False
        self._note = deps.texts.text(message.locale, "answer.still_working")
        self._noted = False
        self._events = events
        self._pinned = ""  # a list that a tool keeps, as Markdown; "": none
        self._running = ""  # the running or last tool; "" before the first
        self._shown_status = ""
        self._draft = self._new_draft()  # None: the answer is shown in messages
        self._pieces: list[str] = []  # of the text so far
        self._chars = 0
        self._read_chars = 0  # length of the text when it was last split into pages
        self._compared_chars = -1  # length of the text when it was last compared with the chat; -1: never
        self._next_edit_s = float("-inf")
        self.pages = AnswerPages(channel, locale=message.locale)
        self._parts: list[_Part] = []
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def _new_draft(self) -> "StreamedDraft | None":
        """Return a draft if the platform shows drafts in this chat; then there is no placeholder."""
        if not isinstance(self._channel, StreamsDrafts) or not self._channel.drafts_in(self._address):
            return None
        return StreamedDraft(
            self._channel,
            self._address,
            str(self._message.cause),
            self._deps.now_s,
            every_s=self._channel.limits.edit_interval_s,
            timeout_s=self._deps.config.send_timeout_s,
        )

    # ------------------------------------------------------------ its life

    def start(self, message_id: str | None, standing: Sequence[outbox.RecoveredPart] = (), answered: str = "") -> None:
        """Start the timer for typing and placeholders.

        `standing` are parts from before a crash, `answered` is their text; they change once there is more.
        """
        self._message_id = message_id
        self._parts = [_Part(part.platform_id, part.next_revision, part.rendered) for part in standing]
        self._set_text(answered)
        self._compared_chars = self._chars
        self._timer = asyncio.get_running_loop().call_later(self._deps.config.typing_after_s, self.resume)
        if self._deps.config.reactions == "always":
            self._deps.tasks.create_task(self._react())

    def resume(self) -> None:
        """Start showing, or resume after `settle`."""
        self._over.clear()
        self._task = self._deps.tasks.create_task(self._show())

    async def settle(self) -> None:
        """Stop showing. Afterwards no live edit is in flight, except a timed-out one that is marked."""
        self._over.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            _, pending = await asyncio.wait([self._task], timeout=SETTLE_S)
            if pending:
                if self._parts:
                    self._parts[-1].dangling = True
                self._task.cancel()
                await asyncio.wait([self._task])

    @property
    def standing(self) -> tuple[LivePart, ...]:
        """Return the parts that the final answer fills, in order."""
        return tuple([LivePart(part.next_revision, part.final, part.dangling) for part in self._parts])

    def cancel(self) -> None:
        """Stop at once, for a turn that ends without an answer of its own."""
        self._events.close()
        self._over.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    # ------------------------------------------------------------ what is due

    async def _show(self) -> None:
        try:
            await self._keep_showing()
        except Fenced as fenced:
            log.info("live_answer_fenced", turn_id=str(self._message.cause), error=str(fenced))
            self._events.close()
        except Exception:  # noqa: BLE001  one live answer: logged; the turn and its final answer go on
            log.exception("live_answer_broken", turn_id=str(self._message.cause))
            self._events.close()

    async def _keep_showing(self) -> None:
        config, ownership = self._deps.config, self._deps.delivery.ownership
        begun_s = self._deps.now_s() - config.typing_after_s
        typed_s = float("-inf")
        while not self._over.is_set() and ownership.stands(self._fence):
            now_s = self._deps.now_s()
            age_s = now_s - begun_s
            self._read_events()
            is_growing = bool(self._parts) and self._pacer.is_narrow(self._address.chat)  # growing text is enough
            if now_s - typed_s >= self._channel.limits.typing_every_s and not is_growing:
                if isinstance(self._channel, ShowsTyping):
                    await self._call_optional(self._channel.show_typing(self._address))
                typed_s = self._deps.now_s()
            if age_s >= config.placeholder_after_s:
                await self._show_progress()
            if age_s >= config.note_after_s and not self._noted:
                await self._show_note()
            if age_s >= config.reaction_after_s and not self._reacted and config.reactions != "off":
                await self._react()
            try:
                async with asyncio.timeout(PAUSE_S):
                    await self._over.wait()
            except TimeoutError:
                pass

    def _read_events(self) -> None:
        """Process the turn's events since the last call."""
        for event in self._events.drain():
            match event:
                case TextDelta():
                    self._pieces.append(event.text)
                    self._chars += len(event.text)
                case TextDiscarded():
                    self._set_text(event.kept_text)
                case ToolProgress(stays=True):
                    self._pinned, self._running = pinned_text(self._deps.texts, self._message.locale, event), ""
                case ToolStarted() | ToolProgress():
                    self._running = tool_words(self._deps.texts, self._message.locale, event) or self._running
                case _:
                    pass

    @property
    def _status(self) -> str:
        """Return the text in place of an answer that has not begun; "" if nothing is known."""
        return "\n\n".join(filter(None, (self._pinned, self._running)))

    def _set_text(self, text: str) -> None:
        """Replace the text so far; parts in the chat stay."""
        self._pieces, self._chars, self._compared_chars = [text], len(text), -1

    @property
    def _sends_here(self) -> bool:
        """Return True if this process sends in the chat; only then may it edit there."""
        return self._deps.delivery.ownership.sends(self._address) is not None

    async def _show_progress(self) -> None:
        """Show the answer so far, or the running tool while there is none."""
        if self._draft is not None:
            if self._draft.is_due:
                await self._read_on()
                words = self._status or (self._note if self._noted else "")
                await self._draft.show(self._growing_part() or self._render_words(words) or Rendered(""))
            if self._draft.refused:
                self._draft = None
        elif self._sends_here:
            await self._show_parts()
            status = self._status
            if status != self._shown_status and await self._say_meanwhile(status, is_status=True):
                self._shown_status = status

    async def _show_note(self) -> None:
        """Tell once that it takes long, in the placeholder or draft, if no text is visible yet."""
        if self._draft is not None:
            self._noted = True
        elif self._sends_here:
            self._noted = await self._say_meanwhile(self._note)

    # ------------------------------------------------------------ reactions and typing

    async def _react(self) -> None:
        self._reacted = True
        if self._message_id and isinstance(self._channel, Reacts):
            await self._call_optional(self._channel.react(self._address, self._message_id, Reaction.WORKING))

    def clear_reaction(self) -> None:
        """Remove the working reaction after the answer is out."""
        if self._reacted and self._message_id and isinstance(self._channel, Reacts):
            taking_away = self._channel.react(self._address, self._message_id, None)
            self._deps.tasks.create_task(self._call_optional(taking_away))

    def show_wait(self, busy_s: float | None) -> None:
        """Show at the turn's end how long the model is busy, 0 if unknown; None: it is not busy."""
        if isinstance(self._channel, ShowsWaits):
            for_s = 0.0 if busy_s is None else busy_s or BUSY_S
            self._deps.tasks.create_task(self._call_optional(self._channel.show_wait(self._address, for_s)))

    async def _call_optional(self, asked: Awaitable[None]) -> None:
        """Make a call that may fail without harm."""
        self._pacer.note(self._address.chat)
        try:
            await call_within(self._deps.config.send_timeout_s, asked)
        except ChannelError as failure:
            log.debug("call_failed", turn_id=str(self._message.cause), error=str(failure))

    # ------------------------------------------------------------ messages that grow

    async def _show_parts(self) -> None:
        """Put the placeholder, or update the last part if it may be edited now."""
        if not self._parts:
            if isinstance(self._channel, EditsMessages):
                failpoint("placeholder_pre")
                await self._stand([waiting_part(self._channel, self._message)])
            return
        now_s, every_s = self._deps.now_s(), self._channel.limits.edit_interval_s
        if self._parts[-1].platform_id is None and now_s >= self._next_edit_s:
            self._next_edit_s = now_s + every_s
            await self._find_message()
        has_news = self._chars != self._compared_chars and now_s >= self._next_edit_s
        if has_news and self._parts[-1].platform_id is not None and self._pacer.could_edit(self._address.chat):
            self._next_edit_s = self._deps.now_s() + every_s
            await self._grow()

    async def _find_message(self) -> None:
        """Find the message that was being sent when the process ended; its lane may know it by now."""
        query = partial(outbox.recovered_parts, answer=self._message.cause)
        stored = await self._deps.store.read(query, lasting=True)
        last = len(self._parts) - 1
        if last < len(stored) and stored[last].platform_id is not None:
            self._parts[last].platform_id, self._next_edit_s = stored[last].platform_id, float("-inf")

    async def _grow(self) -> None:
        """Update the last part, or start a new one if it is full."""
        chars = self._chars
        await self._read_on()
        last, full = len(self._parts) - 1, self.pages.full
        is_full = len(full) > last
        rendered = _mark_unfinished(full[last].rendered) if is_full else self._growing_part()
        if is_full and last + 1 < MAX_PARTS - 1 and self._message.reply_route_of is None:
            await self._turn_page(last)
        elif len(full) < last or rendered is None or rendered == self._parts[last].seen:
            self._compared_chars = chars
        elif self._pacer.may_edit(self._address.chat):
            await self._edit(self._parts[last], rendered)

    async def _read_on(self) -> None:
        """Split the text so far into pages, if enough was added."""
        if not self.pages.wants(self._chars, self._read_chars):
            return
        text = "".join(self._pieces)
        self._pieces, self._read_chars = [text], len(text)
        pages, clean = self.pages, self._deps.clean
        self.pages = await self._deps.delivery.long_texts.run(len(text), lambda: pages.read(clean(text)))

    def _growing_part(self) -> Rendered | None:
        """Return the growing part's content, or None if there is nothing to see yet."""
        return None if self.pages.current is None else _mark_unfinished(self.pages.current)

    async def _turn_page(self, last: int) -> None:
        """Complete the last part and start another one, in one commit."""
        if not self._pacer.may_edit(self._address.chat):
            return
        full, part = self.pages.full[last], self._parts[last]
        rows = [waiting_part(self._channel, self._message, last + 1)]
        if part.final != full.rendered or part.dangling:
            revisions = range(part.next_revision, part.next_revision + (2 if part.dangling else 1))
            rows[:0] = [filled_part(self._message, last, revision, full) for revision in revisions]
            part.next_revision = revisions.stop  # also if the commit fails: no other row may reuse these numbers
            part.final = None
        await self._stand(rows, (part, full.rendered))

    async def _stand(self, parts: Sequence[OutboxPart], filled: tuple[_Part, Rendered] | None = None) -> None:
        """Add rows, the last of which is a new placeholder, and wait until it was sent."""
        new = _Part()
        self._parts.append(new)

        def put_placeholder(connection: Connection) -> list[OutboxRow]:
            journal.check_fence(connection, self._fence)  # or the turn's owner would not know these parts
            return outbox.put(connection, self._tenant, parts, self._deps.delivery.now())

        with self._deps.delivery.expecting(parts[-1]) as done:
            rows = await self._deps.store.commit(put_placeholder)
            if filled is not None:
                filled[0].final, filled[0].dangling = filled[1], False
            if rows:
                new.platform_id = await done

    async def _say_meanwhile(self, words: str, *, is_status: bool = False) -> bool:
        """Show a short text in the placeholder while there is no answer; return False to be called again."""
        if self._chars or len(self._parts) > 1:
            return True
        if not self._parts or self._parts[0].platform_id is None or not self._pacer.may_edit(self._address.chat):
            return False
        if (rendered := self._render_words(words)) is not None:
            await self._edit(self._parts[0], rendered, is_status=is_status)
        return True

    def _render_words(self, words: str) -> Rendered | None:
        """Render a short text as an unfinished part; None for an empty one."""
        current = AnswerPages(self._channel).read(words).current
        return None if current is None else _mark_unfinished(current)

    async def _edit(self, shown: _Part, rendered: Rendered, *, is_status: bool = False) -> None:
        """Edit a part for now."""
        owns_turn = self._deps.delivery.ownership.stands(
            self._fence
        )  # ownership may have ended while the text was split
        if not isinstance(self._channel, EditsMessages) or shown.platform_id is None or not owns_turn:
            return
        part = OutboundPart(address=self._address, rendered=rendered, idem_key="", unfinished=True, is_status=is_status)
        try:
            await call_within(self._deps.config.send_timeout_s, self._channel.edit(part, shown.platform_id))
            failpoint("live_edit")
        except asyncio.CancelledError:
            shown.dangling = True
            raise
        except Unknown:
            shown.dangling = True
        except Retryable as failure:
            # the next edit in this chat waits for it, and so does the final answer
            self._pacer.slow_down(self._address.chat, failure.retry_after_s or 1.0)
            return
        except ChannelError as failure:
            log.debug("live_edit_refused", turn_id=str(self._message.cause), error=str(failure))
        shown.seen = rendered


class HiddenAnswer(LiveAnswer):
    """View of a turn whose answer no person reads: nothing is shown."""

    def start(self, message_id: str | None, standing: Sequence[outbox.RecoveredPart] = (), answered: str = "") -> None:
        self._events.close()

    def resume(self) -> None:
        pass

    def show_wait(self, busy_s: float | None) -> None:
        pass


def _mark_unfinished(rendered: Rendered) -> Rendered:
    return replace(rendered, text=rendered.text + GOES_ON)


class StreamedDraft:
    """One answer as a platform draft: no message, nothing stored, and it may vanish."""

    def __init__(
        self,
        channel: StreamsDrafts,
        address: Address,
        turn_id: str,
        now_s: Callable[[], float],
        *,
        every_s: float,
        timeout_s: float,
    ) -> None:
        """Take the least seconds between two updates, `every_s`."""
        self._channel = channel
        self._address = address
        self._id = zlib.crc32(turn_id.encode()) or 1
        self._now_s = now_s
        self._every_s = every_s
        self._timeout_s = timeout_s
        self._shown: Rendered | None = None
        self._due_s = float("-inf")  # no update before
        self._shown_s = float("-inf")
        self.refused = False  # this chat does not support drafts

    @property
    def is_due(self) -> bool:
        return self._now_s() >= self._due_s

    async def show(self, rendered: Rendered) -> None:
        """Send the draft if it changed or is about to expire, and the interval is over; failures are ignored."""
        now_s = self._now_s()
        fading = now_s - self._shown_s >= self._channel.draft_lasts_s * RENEW_SHARE
        if now_s < self._due_s or (rendered == self._shown and not fading):
            return
        self._due_s = now_s + self._every_s
        try:
            await call_within(self._timeout_s, self._channel.draft(self._address, self._id, rendered))
        except Retryable as failure:
            self._due_s = self._now_s() + max(self._every_s, failure.retry_after_s or 0.0)
        except ChannelError as failure:
            self.refused = isinstance(failure, Permanent)
            log.debug("draft_failed", chat=self._address.chat, error=str(failure))
        self._shown, self._shown_s = rendered, self._now_s()


MAX_CHARS = 120
"""Maximum of characters for a tool's status line."""


MAX_PINNED_CHARS = 3_000


def pinned_text(texts: Catalogue, locale: str | None, event: ToolProgress) -> str:
    """Return the Markdown that a tool keeps in the chat."""
    return texts.text(locale, event.words, **event.values)[:MAX_PINNED_CHARS]


def tool_words(texts: Catalogue, locale: str | None, event: ToolStarted | ToolProgress) -> str:
    """Return the status line of a tool: its own text, else its name."""
    if isinstance(event, ToolProgress):
        words = texts.text(locale, event.words, **event.values)
    elif event.words:
        words = texts.text(locale, event.words)
    else:
        words = texts.text(locale, "answer.tool_runs", tool=event.name.replace("_", " "))
    return " ".join(words[:MAX_CHARS].split())
