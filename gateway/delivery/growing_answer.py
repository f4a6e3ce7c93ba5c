"""An answer stands in its chat while it is written: messages grow one after the other, from part to part.

Live edits are never stored; placeholders and what full parts say for good are outbox rows. When something is shown is
`live_answer`'s matter, where pages end that of `pages`. Decision 0014.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import structlog

from channels.base import Channel, EditsMessages
from channels.errors import ChannelError, Retryable, Unknown
from channels.messages import GOES_ON, OutboundPart, Rendered
from gateway.delivery.config import DeliveryConfig
from gateway.delivery.delivery import Delivery
from gateway.delivery.message_parts import OutboundMessage, StandingPart, filled_part, waiting_part
from gateway.delivery.pages import AnswerPages
from gateway.delivery.sender import call_within
from gateway.delivery.splitter import MAX_PARTS
from gateway.failpoints import failpoint
from gateway.store import journal, outbox, sends
from gateway.store.engine import Connection, Store
from gateway.store.journal import Fence
from gateway.store.outbox import OutboxPart, OutboxRow

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class LiveOutcome:
    """How the live answer stood when the final came."""

    standing: tuple[StandingPart, ...]  # what the final fills, part by part
    pages: AnswerPages  # how its text was cut


@dataclass(slots=True)
class _Shown:
    """One part of the live answer, as it stands in the chat."""

    platform_id: str | None = None  # None: it is on its way, or was not sent
    next_revision: int = 1
    final: Rendered | None = None  # what the outbox makes it say for good
    seen: Rendered | None = None  # what a live edit made it say last
    dangling: bool = False  # a live edit timed out and may arrive late


@dataclass(frozen=True, slots=True)
class LiveDeps:
    """What every live answer of a gateway shares."""

    store: Store
    delivery: Delivery
    config: DeliveryConfig
    now_s: Callable[[], float]  # monotonic
    clean: Callable[[str], str]  # model text to what a person may see
    tasks: asyncio.TaskGroup


class GrowingAnswer:
    """The text of one turn's answer so far, and the messages that show it."""

    def __init__(self, deps: LiveDeps, channel: Channel, tenant: str, message: OutboundMessage, fence: Fence) -> None:
        """`message` is the answer to come, its text still empty; `fence` that of its turn."""
        self._deps = deps
        self._channel = channel
        self._pacer = deps.delivery.pacer(channel)
        self._tenant = tenant
        self._message = message
        self._fence = fence
        self._chat = message.address.chat
        self._pieces: list[str] = []  # of the text so far
        self._chars = 0
        self._read_chars = 0  # of the text when it was last read
        self._looked_at_chars = -1  # of the text when it was last compared with what is seen; -1: it is to be looked at
        self._look_due_s = float("-inf")
        self._pages = AnswerPages(channel, locale=message.locale)
        self._shown: list[_Shown] = []

    @property
    def stands(self) -> bool:
        """Whether there is a message of it, or one is on its way."""
        return bool(self._shown)

    def take_up(self, standing: Sequence[sends.RecoveredPart]) -> None:
        """What stands already, from before a crash."""
        self._shown = [_Shown(part.platform_id, part.next_revision, part.rendered) for part in standing]

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

    def doubt(self) -> None:
        """A live edit may arrive late."""
        if self._shown:
            self._shown[-1].dangling = True

    def to_outcome(self) -> LiveOutcome:
        """How it stands now."""
        return LiveOutcome(
            tuple([StandingPart(part.next_revision, part.final, part.dangling) for part in self._shown]), self._pages
        )

    async def show(self) -> None:
        """Show what is new, if anything is and it may be shown now."""
        if not self._shown:
            await self._put_placeholder()
            return
        if self._shown[-1].platform_id is None and self._deps.now_s() >= self._look_due_s:
            await self._find_message()
        if self._is_worth_a_look():
            await self._look()

    async def so_far(self) -> Rendered | None:
        """What a part that grows is to show now; None where there is nothing to see yet."""
        await self._read_on()
        return self._current()

    async def say_meanwhile(self, words: str, *, is_status: bool = False) -> bool:
        """Show these words in the placeholder as long as there is no answer; False where they are to be tried again."""
        if self._chars or len(self._shown) > 1:
            return True
        rendered = self.render_words(words)
        if not self._shown or self._shown[0].platform_id is None or not self._pacer.may_edit(self._chat):
            return False
        if rendered is not None:
            await self._edit(self._shown[0], rendered, is_status=is_status)
        return True

    def render_words(self, words: str) -> Rendered | None:
        """A few words of ours as a part that goes on; None for no words."""
        current = AnswerPages(self._channel).read(words).current
        return None if current is None else _mark_unfinished(current)

    def _is_worth_a_look(self) -> bool:
        """Whether there is more of the text, a part to show it in, and time."""
        if self._chars == self._looked_at_chars or self._deps.now_s() < self._look_due_s:
            return False
        return self._shown[-1].platform_id is not None and self._pacer.could_edit(self._chat)

    async def _find_message(self) -> None:
        """What was being sent when the process ended is found by its lane: by now that may know the message."""
        self._look_due_s = self._deps.now_s() + self._channel.limits.edit_interval_s
        query = partial(sends.recovered_parts, turn_id=self._message.source_id)
        stored = await self._deps.store.read(query, lasting=True)
        last = len(self._shown) - 1
        if last < len(stored) and stored[last].platform_id is not None:
            self._shown[last].platform_id, self._look_due_s = stored[last].platform_id, float("-inf")

    async def _look(self) -> None:
        """Show what changed of what is seen: the last part grows, or a new one begins where it is full."""
        self._look_due_s = self._deps.now_s() + self._channel.limits.edit_interval_s
        chars = self._chars
        await self._read_on()
        last, current = len(self._shown) - 1, len(self._pages.full)
        rendered = _mark_unfinished(self._pages.full[last].rendered) if current > last else self._current()
        if current > last and self._may_go_on(last + 1):
            await self._turn_page(last)
        elif current < last or rendered is None or rendered == self._shown[last].seen:
            self._looked_at_chars = chars
        elif self._pacer.may_edit(self._chat):
            await self._edit(self._shown[last], rendered)

    async def _read_on(self) -> None:
        if not self._pages.wants(self._chars, self._read_chars):
            return
        text = "".join(self._pieces)
        self._pieces, self._read_chars = [text], len(text)
        pages, clean = self._pages, self._deps.clean
        self._pages = await self._deps.delivery.long_texts.run(len(text), lambda: pages.read(clean(text)))

    def _current(self) -> Rendered | None:
        current = self._pages.current
        return None if current is None else _mark_unfinished(current)

    def _may_go_on(self, number: int) -> bool:
        """Whether another part may begin before the answer is done; where a reply has its own way, it waits."""
        return number < MAX_PARTS - 1 and self._message.reply_route_of is None

    async def _put_placeholder(self) -> None:
        if not isinstance(self._channel, EditsMessages):
            return
        part = waiting_part(self._channel, self._message)
        failpoint("placeholder_pre")
        await self._stand(_Shown(), [part])

    async def _turn_page(self, last: int) -> None:
        """The last part says for good what it has room for, and another one begins: both are rows of one commit."""
        if not self._pacer.may_edit(self._chat):
            return
        full, shown = self._pages.full[last], self._shown[last]
        parts = [waiting_part(self._channel, self._message, last + 1)]
        if shown.final != full.rendered or shown.dangling:
            revisions = range(shown.next_revision, shown.next_revision + (2 if shown.dangling else 1))
            parts[:0] = [filled_part(self._message, last, revision, full) for revision in revisions]
            shown.next_revision = revisions.stop  # whether or not the commit comes: no other row may have these numbers
            shown.final = None
        await self._stand(_Shown(), parts, (shown, full.rendered))

    async def _stand(
        self, new: _Shown, parts: Sequence[OutboxPart], filled: tuple[_Shown, Rendered] | None = None
    ) -> None:
        """Put these rows into the outbox, the last of which is a new placeholder, and wait until it was sent."""
        self._shown.append(new)

        def put(connection: Connection) -> list[OutboxRow]:
            journal.check_fence(connection, self._fence)  # or who goes on with the turn had not known of these parts
            return outbox.put(connection, self._tenant, parts, self._deps.delivery.now())

        rows = await self._deps.store.write(put, self._deps.delivery.publish)
        if filled is not None:
            filled[0].final, filled[0].dangling = filled[1], False
            failpoint("page_turned")
        if rows:
            new.platform_id = await self._deps.delivery.wait_until_done(rows[-1])

    async def _edit(self, shown: _Shown, rendered: Rendered, *, is_status: bool = False) -> None:
        """Show what there is."""
        stands = self._deps.delivery.ownership.stands(self._fence)  # it may have run out while this was read
        if not isinstance(self._channel, EditsMessages) or shown.platform_id is None or not stands:
            return
        part = OutboundPart(
            address=self._message.address, rendered=rendered, idem_key="", unfinished=True, is_status=is_status
        )
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
            self._pacer.slow_down(self._chat, failure.retry_after_s or 1.0)
            return
        except ChannelError as failure:
            log.debug("live_edit_refused", turn_id=self._message.source_id, error=str(failure))
        shown.seen = rendered


def _mark_unfinished(rendered: Rendered) -> Rendered:
    return replace(rendered, text=rendered.text + GOES_ON)
