"""What a person sees of one turn before its answer is done: busy signs, a draft, messages that grow part by part.

Live edits are never stored. Placeholders, and what full parts say for good, are outbox rows, as the final answer is.
Where a part ends is decided in `pages`. A quick answer costs one timer and nothing else. Decision 0017.
"""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import structlog

from agent.catalogue import Catalogue
from agent.errors import Fenced
from agent.ports import TextDelta, TextDiscarded, TurnEvent
from agent.turn_events import EventReader, Watcher
from agent.turn_progress import ToolProgress, ToolStarted, TurnFinished
from channels.base import (
    Channel,
    EditsMessages,
    FollowsAnswers,
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
from gateway.delivery.message_parts import OutboundMessage, StandingPart, filled_part, waiting_part
from gateway.delivery.pages import AnswerPages
from gateway.delivery.sender import call_within
from gateway.delivery.splitter import MAX_PARTS
from gateway.failpoints import failpoint
from gateway.store import journal, outbox
from gateway.store.engine import Connection, Store
from gateway.store.journal import Fence, TurnRow
from gateway.store.outbox import OutboxPart, OutboxRow

log = structlog.get_logger()

SETTLE_S = 5.0
"""How long the final waits for a live edit that is in flight."""

BUSY_S = 60.0
"""A model is busy that does not say for how long: the words of the answer say a minute, too."""

PAUSE_S = 0.25
"""Between two looks at what is to be shown: nobody sees a quarter of a second."""

RENEW_SHARE = 2 / 3
"""Part of a draft's life after which an unchanged one is shown again."""


@dataclass(frozen=True, slots=True)
class LiveDeps:
    """What every live answer of a tenant shares."""

    store: Store
    delivery: Delivery
    config: DeliveryConfig
    now_s: Callable[[], float]  # monotonic
    clean: Callable[[str], str]  # model text to what a person may see
    tasks: asyncio.TaskGroup
    texts: Catalogue  # what people read


@dataclass(slots=True)
class _Part:
    """One part of the live answer, as it stands in the chat."""

    platform_id: str | None = None  # None: it is on its way, or was not sent
    next_revision: int = 1
    final: Rendered | None = None  # what the outbox makes it say for good
    seen: Rendered | None = None  # what a live edit made it say last
    dangling: bool = False  # a live edit timed out and may arrive late


class LiveAnswer:
    """What a person sees of one turn before its answer is done."""

    def __init__(
        self,
        deps: LiveDeps,
        channel: Channel,
        tenant: str,
        message: OutboundMessage,
        fence: Fence,
        events: EventReader,
    ) -> None:
        """`message` is the answer to come, its text still empty; `events` is what happens in the turn.

        Once another process owns the turn's `fence` nothing more is shown: that process goes on with it.
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
        self._status = ""  # what a tool is doing, or did last; empty: nothing yet
        self._shown_status = ""
        self._draft = self._new_draft()  # None: messages show the answer
        self._pieces: list[str] = []  # of the text so far
        self._chars = 0
        self._read_chars = 0  # of the text when it was last cut into pages
        self._compared_chars = -1  # of the text when it was last compared with what is seen; -1: not yet
        self._next_edit_s = float("-inf")
        self.pages = AnswerPages(channel, locale=message.locale)
        self._parts: list[_Part] = []
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def _new_draft(self) -> "StreamedDraft | None":
        """Return a draft if the platform shows drafts in this chat; there is no placeholder then."""
        if not isinstance(self._channel, StreamsDrafts) or not self._channel.drafts_in(self._address):
            return None
        return StreamedDraft(
            self._channel,
            self._address,
            self._message.source_id,
            self._deps.now_s,
            every_s=self._channel.limits.edit_interval_s,
            timeout_s=self._deps.config.send_timeout_s,
        )

    # ------------------------------------------------------------ its life

    def start(self, message_id: str | None, standing: Sequence[outbox.RecoveredPart] = (), answered: str = "") -> None:
        """Start the timer for typing and placeholders.

        `standing` are parts from before a crash and `answered` is what they said; they change when there is more.
        """
        self._message_id = message_id
        self._parts = [_Part(part.platform_id, part.next_revision, part.rendered) for part in standing]
        self._set_text(answered)
        self._compared_chars = self._chars
        self._timer = asyncio.get_running_loop().call_later(self._deps.config.typing_after_s, self.resume)
        if self._deps.config.signs == "always":
            self._deps.tasks.create_task(self._react())

    def resume(self) -> None:
        """Start showing, or resume after `settle`."""
        self._over.clear()
        self._task = self._deps.tasks.create_task(self._show())

    async def settle(self) -> None:
        """Stop showing; when this returns no live edit is in flight, or it is known that one may be."""
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
    def standing(self) -> tuple[StandingPart, ...]:
        """The parts that the final answer fills, in order."""
        return tuple([StandingPart(part.next_revision, part.final, part.dangling) for part in self._parts])

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
            log.info("live_answer_fenced", turn_id=self._message.source_id, error=str(fenced))
            self._events.close()
        except Exception:  # noqa: BLE001  one live answer: recorded here; the turn and its final answer go on without
            log.exception("live_answer_broken", turn_id=self._message.source_id)
            self._events.close()

    async def _keep_showing(self) -> None:
        config, ownership = self._deps.config, self._deps.delivery.ownership
        begun_s = self._deps.now_s() - config.typing_after_s
        typed_s = float("-inf")
        while not self._over.is_set() and ownership.stands(self._fence):
            now_s = self._deps.now_s()
            age_s = now_s - begun_s
            self._read_events()
            is_growing = bool(self._parts) and self._pacer.is_narrow(self._address.chat)  # that is sign enough
            if now_s - typed_s >= self._channel.limits.typing_every_s and not is_growing:
                if isinstance(self._channel, ShowsTyping):
                    await self._call_sign(self._channel.show_typing(self._address))
                typed_s = self._deps.now_s()
            if age_s >= config.placeholder_after_s:
                await self._show_progress()
            if age_s >= config.note_after_s and not self._noted:
                await self._show_note()
            if age_s >= config.sign_after_s and not self._reacted and config.signs != "off":
                await self._react()
            try:
                async with asyncio.timeout(PAUSE_S):
                    await self._over.wait()
            except TimeoutError:
                pass

    def _read_events(self) -> None:
        """Take in what has happened since the last look."""
        for event in self._events.drain():
            match event:
                case TextDelta():
                    self._pieces.append(event.text)
                    self._chars += len(event.text)
                case TextDiscarded():
                    self._set_text(event.stands)
                case ToolStarted() | ToolProgress():
                    self._status = tool_words(self._deps.texts, self._message.locale, event) or self._status
                case _:
                    pass

    def _set_text(self, text: str) -> None:
        """Let the text so far be this; what stands in the chat already stays."""
        self._pieces, self._chars, self._compared_chars = [text], len(text), -1

    @property
    def _sends_here(self) -> bool:
        """Whether this process sends in the chat: no other edits there."""
        return self._deps.delivery.ownership.sends(self._address) is not None

    async def _show_progress(self) -> None:
        """Show the answer so far; as long as there is none, what a tool is doing."""
        if self._draft is not None:
            if self._draft.is_due:
                await self._read_on()
                words = self._status or (self._note if self._noted else "")
                await self._draft.show(self._growing_part() or self._render_words(words) or Rendered(""))
            if self._draft.refused:
                self._draft = None
        elif self._sends_here:
            await self._show_parts()
            if self._status != self._shown_status and await self._say_meanwhile(self._status, is_status=True):
                self._shown_status = self._status

    async def _show_note(self) -> None:
        """Say in the placeholder, or in the draft, that it takes long: once, and only if nothing is seen yet."""
        if self._draft is not None:
            self._noted = True
        elif self._sends_here:
            self._noted = await self._say_meanwhile(self._note)

    # ------------------------------------------------------------ signs

    async def _react(self) -> None:
        self._reacted = True
        if self._message_id and isinstance(self._channel, Reacts):
            await self._call_sign(self._channel.react(self._address, self._message_id, Reaction.WORKING))

    def clear_sign(self) -> None:
        """Take the working sign away: the answer is out."""
        if self._reacted and self._message_id and isinstance(self._channel, Reacts):
            taking_away = self._channel.react(self._address, self._message_id, None)
            self._deps.tasks.create_task(self._call_sign(taking_away))

    def show_wait(self, busy_s: float | None) -> None:
        """Show at the turn's end how long the model is busy, 0 if it does not say; None: it is not."""
        if isinstance(self._channel, ShowsWaits):
            for_s = 0.0 if busy_s is None else busy_s or BUSY_S
            self._deps.tasks.create_task(self._call_sign(self._channel.show_wait(self._address, for_s)))

    async def _call_sign(self, asked: Awaitable[None]) -> None:
        """Make a call that may fail without harm."""
        self._pacer.note(self._address.chat)
        try:
            await call_within(self._deps.config.send_timeout_s, asked)
        except ChannelError as failure:
            log.debug("sign_failed", turn_id=self._message.source_id, error=str(failure))

    # ------------------------------------------------------------ messages that grow

    async def _show_parts(self) -> None:
        """Put the placeholder, or show what is new in the last part, if it may be edited now."""
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
        """Find what was being sent when the process ended: by now its lane may know the message."""
        query = partial(outbox.recovered_parts, turn_id=self._message.source_id)
        stored = await self._deps.store.read(query, lasting=True)
        last = len(self._parts) - 1
        if last < len(stored) and stored[last].platform_id is not None:
            self._parts[last].platform_id, self._next_edit_s = stored[last].platform_id, float("-inf")

    async def _grow(self) -> None:
        """Show what changed: the last part grows, or a new one begins behind it if it is full."""
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
        """Cut the text so far into pages, if enough was added since the last time."""
        if not self.pages.wants(self._chars, self._read_chars):
            return
        text = "".join(self._pieces)
        self._pieces, self._read_chars = [text], len(text)
        pages, clean = self.pages, self._deps.clean
        self.pages = await self._deps.delivery.long_texts.run(len(text), lambda: pages.read(clean(text)))

    def _growing_part(self) -> Rendered | None:
        """Return what a part that grows is to show now; None if there is nothing to see yet."""
        return None if self.pages.current is None else _mark_unfinished(self.pages.current)

    async def _turn_page(self, last: int) -> None:
        """Let the last part say for good what it has room for, and begin another one: both are rows of one commit."""
        if not self._pacer.may_edit(self._address.chat):
            return
        full, part = self.pages.full[last], self._parts[last]
        rows = [waiting_part(self._channel, self._message, last + 1)]
        if part.final != full.rendered or part.dangling:
            revisions = range(part.next_revision, part.next_revision + (2 if part.dangling else 1))
            rows[:0] = [filled_part(self._message, last, revision, full) for revision in revisions]
            part.next_revision = revisions.stop  # whether or not the commit comes: no other row may have these numbers
            part.final = None
        await self._stand(rows, (part, full.rendered))

    async def _stand(self, parts: Sequence[OutboxPart], filled: tuple[_Part, Rendered] | None = None) -> None:
        """Put these rows into the outbox, the last of which is a new placeholder, and wait until it was sent."""
        new = _Part()
        self._parts.append(new)

        def put_placeholder(connection: Connection) -> list[OutboxRow]:
            journal.check_fence(connection, self._fence)  # or who goes on with the turn had not known of these parts
            return outbox.put(connection, self._tenant, parts, self._deps.delivery.now())

        with self._deps.delivery.expecting(parts[-1]) as done:
            rows = await self._deps.store.commit(put_placeholder)
            self._deps.delivery.publish(rows)
            if filled is not None:
                filled[0].final, filled[0].dangling = filled[1], False
            if rows:
                new.platform_id = await done

    async def _say_meanwhile(self, words: str, *, is_status: bool = False) -> bool:
        """Show these words in the placeholder as long as there is no answer; return False to be asked again."""
        if self._chars or len(self._parts) > 1:
            return True
        if not self._parts or self._parts[0].platform_id is None or not self._pacer.may_edit(self._address.chat):
            return False
        if (rendered := self._render_words(words)) is not None:
            await self._edit(self._parts[0], rendered, is_status=is_status)
        return True

    def _render_words(self, words: str) -> Rendered | None:
        """Render a few words of ours as a part that goes on; None for no words."""
        current = AnswerPages(self._channel).read(words).current
        return None if current is None else _mark_unfinished(current)

    async def _edit(self, shown: _Part, rendered: Rendered, *, is_status: bool = False) -> None:
        """Make a part say this for now."""
        owns_turn = self._deps.delivery.ownership.stands(self._fence)  # it may have run out while the text was read
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
            # the next edit obeys it, of whichever answer in this chat, and the final too
            self._pacer.slow_down(self._address.chat, failure.retry_after_s or 1.0)
            return
        except ChannelError as failure:
            log.debug("live_edit_refused", turn_id=self._message.source_id, error=str(failure))
        shown.seen = rendered


def _mark_unfinished(rendered: Rendered) -> Rendered:
    return replace(rendered, text=rendered.text + GOES_ON)


class StreamedDraft:
    """One answer as the platform's own draft: no message, nothing stored, a weaker promise than a placeholder's."""

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
        """`every_s` is the least time between two shows."""
        self._channel = channel
        self._address = address
        self._id = zlib.crc32(turn_id.encode()) or 1
        self._now_s = now_s
        self._every_s = every_s
        self._timeout_s = timeout_s
        self._shown: Rendered | None = None
        self._due_s = float("-inf")  # nothing before
        self._shown_s = float("-inf")
        self.refused = False  # this chat takes no drafts after all

    @property
    def is_due(self) -> bool:
        """Whether something may be shown now."""
        return self._now_s() >= self._due_s

    async def show(self, rendered: Rendered) -> None:
        """Show the draft if it changed or is about to expire and the interval is over; a failure is ignored."""
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
"""What is done is said in a line."""


def tool_words(texts: Catalogue, locale: str | None, event: ToolStarted | ToolProgress) -> str:
    """Return the words for what a tool does: its own, else its name."""
    if isinstance(event, ToolProgress):
        words = texts.text(locale, event.words, **event.values)
    elif event.words:
        words = texts.text(locale, event.words)
    else:
        words = texts.text(locale, "answer.tool_runs", tool=event.name.replace("_", " "))
    return " ".join(words[:MAX_CHARS].split())


EVERY_S = 0.05
"""Least time between two looks: nobody reads faster, and each look is at the whole text."""

MOST_CHARS = 20_000
"""Beyond this the rest comes with the final: a look at so much costs milliseconds."""


class FollowedAnswer:
    """The text of one turn so far, told to who follows it."""

    def __init__(self, channel: FollowsAnswers, address: Address, turn_id: str, clean: Callable[[str], str]) -> None:
        """Nothing is written yet. `clean` makes of a model's text what a person may see."""
        self._channel = channel
        self._address = address
        self._turn_id = turn_id
        self._clean = clean
        self._pieces: list[str] = []
        self._chars = 0
        self._timer: asyncio.TimerHandle | None = None

    def note(self, event: TurnEvent) -> None:
        """What happened in the turn; it never waits."""
        if isinstance(event, TextDelta):
            self._pieces.append(event.text)
            self._chars += len(event.text)
            self._plan()
        elif isinstance(event, TextDiscarded):
            self._pieces, self._chars = [event.stands], len(event.stands)
            self._plan()
        elif isinstance(event, TurnFinished) and self._timer is not None:
            self._timer.cancel()  # the final is on its way

    def _plan(self) -> None:
        if self._timer is None and self._chars <= MOST_CHARS and self._channel.is_followed(self._address):
            self._timer = asyncio.get_running_loop().call_later(EVERY_S, self._tell)

    def _tell(self) -> None:
        self._timer = None
        if self._chars <= MOST_CHARS:
            self._pieces = ["".join(self._pieces)]
            self._channel.follow(self._address, self._turn_id, self._clean(self._pieces[0]).strip())


def followers(channel: Channel, turn: TurnRow, clean: Callable[[str], str]) -> tuple[Watcher, ...]:
    """Who reads along in the place where a turn answers: nobody, unless its channel follows answers."""
    if not isinstance(channel, FollowsAnswers):
        return ()
    return (FollowedAnswer(channel, turn.address, turn.id, clean).note,)
