"""A live answer shows the busy sign, the placeholder and its edits while a turn runs. The final is the outbox's.

A quick answer costs one timer and nothing else. What is shown of an answer that grows lives in `growing_answer`.
"""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import structlog

from agent.catalogue import Catalogue
from agent.errors import Fenced
from agent.ports import TextDelta, TextDiscarded, TurnEvent
from agent.turn_events import EventReader, Watcher
from agent.turn_progress import ToolProgress, ToolStarted, TurnFinished
from channels.base import Channel, FollowsAnswers, Reacts, ShowsTyping, ShowsWaits, Sign, StreamsDrafts
from channels.errors import ChannelError, Permanent, Retryable
from channels.messages import Address, Rendered
from gateway.delivery.growing_answer import GrowingAnswer, LiveDeps, LiveOutcome
from gateway.delivery.message_parts import OutboundMessage
from gateway.delivery.sender import call_within
from gateway.store import sends
from gateway.store.journal import Fence, TurnRow

log = structlog.get_logger()

SayTool = Callable[[ToolStarted | ToolProgress], str]

SETTLE_S = 5.0
"""How long the final waits for a live edit that is in flight."""

BUSY_S = 60.0
"""A model is busy that does not say for how long: the words of the answer say a minute, too."""

RENEW_SHARE = 2 / 3
"""Part of a draft's life after which an unchanged one is shown again."""


class LiveAnswer:
    """What a person sees of one turn before its answer is done."""

    def __init__(
        self,
        deps: LiveDeps,
        channel: Channel,
        tenant: str,
        message: OutboundMessage,
        fence: Fence,
        note: str = "",
        say: SayTool = lambda _event: "",
    ) -> None:
        """`message` is the answer to come, its text still empty; `note` is shown where that takes long.

        `say` puts what a tool does into words for the person. Once the turn's `fence` stands no more nothing is shown:
        another process goes on with it.
        """
        self._say = say
        self._is_ours = partial(deps.delivery.ownership.stands, fence)
        self._deps = deps
        self._channel = channel
        self._pacer = deps.delivery.pacer(channel)
        self._note = note
        self._noted = not note
        self._address = message.address
        self._turn_id = message.source_id
        self._message_id: str | None = None
        self._growing = GrowingAnswer(deps, channel, tenant, message, fence)
        self._reacted = False
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._draft = self._new_draft()
        self._events = EventReader()  # nothing, until there is a turn to watch
        self._status = ""  # what a tool is doing, or did last; empty: nothing yet
        self._said_status = ""

    def _new_draft(self) -> "StreamedDraft | None":
        """Where the platform shows drafts in this chat, and was told to: no placeholder then."""
        if not isinstance(self._channel, StreamsDrafts) or not self._channel.drafts_in(self._address):
            return None
        return StreamedDraft(
            self._channel,
            self._address,
            self._turn_id,
            self._deps.now_s,
            every_s=self._channel.limits.edit_interval_s,
            timeout_s=self._deps.config.send_timeout_s,
        )

    def start(self, message_id: str | None, standing: Sequence[sends.RecoveredPart] = ()) -> None:
        """Begin to watch the time; `standing` is from before a crash."""
        self._message_id = message_id
        self._growing.take_up(standing)
        self._timer = asyncio.get_running_loop().call_later(self._deps.config.typing_after_s, self._begin)
        if self._deps.config.signs == "always":
            self._deps.tasks.create_task(self._react())

    def watch(self, events: EventReader) -> None:
        """Show what is read here, whenever something may be shown."""
        self._events = events

    def go_on_from(self, text: str) -> None:
        """Take this as fed and shown: what an attempt before a crash had answered. It changes when there is more."""
        self._growing.go_on_from(text)

    async def settle(self) -> LiveOutcome:
        """Stop showing; when this returns no live edit is in flight, or it is known that one may be."""
        self._over.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            _, pending = await asyncio.wait([self._task], timeout=SETTLE_S)
            if pending:
                self._growing.doubt()
                self._task.cancel()
                await asyncio.wait([self._task])
        return self._growing.to_outcome()

    def resume(self) -> None:
        """Go on showing: the turn goes on after all."""
        self._over.clear()
        self._task = self._deps.tasks.create_task(self._show())

    def clear_sign(self) -> None:
        """The answer is out: take the working sign away."""
        if self._reacted and self._message_id and isinstance(self._channel, Reacts):
            taking_away = self._channel.react(self._address, self._message_id, None)
            self._deps.tasks.create_task(self._sign_only(taking_away))

    def show_wait(self, busy_s: float | None) -> None:
        """The turn has ended: for so long the model is busy, 0 where it does not say; None: it is not."""
        if isinstance(self._channel, ShowsWaits):
            for_s = 0.0 if busy_s is None else busy_s or BUSY_S
            self._deps.tasks.create_task(self._sign_only(self._channel.show_wait(self._address, for_s)))

    def cancel(self) -> None:
        """Let go at once, for a turn that ends without an answer of its own."""
        self._events.close()
        self._over.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    # ------------------------------------------------------------ while it runs

    def _begin(self) -> None:
        self._task = self._deps.tasks.create_task(self._show())

    async def _show(self) -> None:
        try:
            await self._keep_showing()
        except Fenced as fenced:
            log.info("live_answer_fenced", turn_id=self._turn_id, error=str(fenced))
            self._events.close()
        except Exception:  # noqa: BLE001  one live answer: recorded here; the turn and its final answer go on without
            log.exception("live_answer_broken", turn_id=self._turn_id)
            self._events.close()

    async def _keep_showing(self) -> None:
        config = self._deps.config
        begun_s = self._deps.now_s() - config.typing_after_s
        typed_s = float("-inf")
        while not self._over.is_set() and self._is_ours():
            now_s = self._deps.now_s()
            age_s = now_s - begun_s
            self._read_events()
            quiet = self._growing.stands and self._pacer.is_narrow(
                self._address.chat
            )  # what grows there is sign enough
            if now_s - typed_s >= self._channel.limits.typing_every_s and not quiet:
                await self._sign_only(self._typing())
                typed_s = self._deps.now_s()
            if age_s >= config.placeholder_after_s:
                await self._show_answer()
                await self._show_status()
            if age_s >= config.note_after_s and not self._noted:
                await self._show_note()
            if age_s >= config.sign_after_s and not self._reacted and config.signs != "off":
                await self._react()
            await self._pause()

    def _read_events(self) -> None:
        """Take in what has happened since this was last looked at."""
        for event in self._events.drain():
            match event:
                case TextDelta():
                    self._growing.feed(event.text)
                case TextDiscarded():
                    self._growing.discard(event.stands)
                case ToolStarted() | ToolProgress():
                    self._status = self._say(event) or self._status
                case _:
                    pass

    async def _show_status(self) -> None:
        """Say in the placeholder what a tool is doing, as long as there is no answer."""
        if self._status == self._said_status or (self._draft is not None and not self._draft.refused):
            return
        if self._deps.delivery.ownership.sends(self._address) is None:
            return
        if await self._growing.say_meanwhile(self._status, is_status=True):
            self._said_status = self._status

    async def _show_answer(self) -> None:
        if self._draft is not None and not self._draft.refused:
            if self._draft.is_due:
                note = self._status or (self._note if self._noted else "")
                await self._draft.show(await self._growing.so_far() or self._growing.render_words(note) or Rendered(""))
        elif self._deps.delivery.ownership.sends(self._address) is not None:  # who sends there edits there, too
            await self._growing.show()

    async def _show_note(self) -> None:
        """Say in the placeholder, or in the draft, that it takes long: once, and only where nothing is seen yet."""
        draft_says_it = self._draft is not None and not self._draft.refused
        if draft_says_it or self._deps.delivery.ownership.sends(self._address) is not None:
            self._noted = draft_says_it or await self._growing.say_meanwhile(self._note)

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
            await call_within(self._deps.config.send_timeout_s, asked)
        except ChannelError as failure:
            log.debug("sign_failed", turn_id=self._turn_id, error=str(failure))


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
        """Show this where it is new or about to vanish, and it is time. A failure is a sign that did not come."""
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
    """What is said of it: in the tool's own words, else by its name."""
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
