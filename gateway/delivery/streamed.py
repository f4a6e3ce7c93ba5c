"""A live answer as the platform's own draft: no message, nothing stored, and a weaker promise than a placeholder's."""

import zlib
from collections.abc import Callable

import structlog

from channels.base import StreamsDrafts
from channels.errors import ChannelError, Permanent, Retryable
from channels.messages import Address, Rendered
from gateway.delivery.calls import call

log = structlog.get_logger()

RENEW_SHARE = 2 / 3
"""Part of a draft's life after which an unchanged one is shown again."""


class StreamedDraft:
    """The draft of one turn's answer."""

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
            await call(self._channel.draft(self._address, self._id, rendered), self._timeout_s)
        except Retryable as failure:
            self._due_s = self._now_s() + max(self._every_s, failure.retry_after_s or 0.0)
        except ChannelError as failure:
            self.refused = isinstance(failure, Permanent)
            log.debug("draft_failed", chat=self._address.chat, error=str(failure))
        self._shown, self._shown_s = rendered, self._now_s()
