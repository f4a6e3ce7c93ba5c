"""An answer while it is written, page by page: what of it stands for good, and what the page shows that still grows.

Pure and immutable; reading on gives the next state. A full page is never cut anew: where the cut was between two
blocks, only what comes behind is ever read again, so that a long answer costs no more at its end than at its begin.
"""

from dataclasses import dataclass, replace

from channels.base import Channel
from channels.markdown.tree import clean
from channels.messages import Rendered
from gateway.delivery.compose import parts_of
from gateway.delivery.splitting import MAX_PARTS, SplitPart
from gateway.delivery.unfinished import closed

ENOUGH_SHARE = 10
"""A page is full once the one behind it has a tenth of its room: then the end of the answer cannot be a few words."""

OFTEN = 256
"""A growing text is read anew when it is longer by one part in so many; of what is no page yet by one in `OFTEN_BEHIND`
beyond the first few pages: one block of a whole book is not read again for each of its words."""

OFTEN_BEHIND = 8
FREE_PAGES = 4


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of an answer as far as it is known."""

    channel: Channel
    full: tuple[SplitPart, ...] = ()  # pages that will not change while the answer only grows
    current: Rendered | None = None  # of the page behind them; None: nothing to see there yet
    before: str = ""  # the text up to the last cut between two blocks
    since: int = 0  # how many of the full pages are of the text behind that

    def wants(self, chars: int, read_chars: int) -> bool:
        """Whether an answer of so many characters, of which so many were read, should be read on."""
        behind = chars - len(self.before) - FREE_PAGES * self.channel.limits.max_text
        return abs(chars - read_chars) >= max(1, chars // OFTEN, behind // OFTEN_BEHIND)

    def read(self, text: str) -> "Pages":
        """The pages of a longer text; of another one than before only what stands already."""
        text = _plain(text)
        if not text.startswith(self.before):
            return replace(self, current=None)
        parts = parts_of(
            self.channel, closed(text[len(self.before) :]), max(1, MAX_PARTS - len(self.full) + self.since)
        )
        sure = max(self.since, len(parts) - (1 if parts and self._is_enough(parts[-1]) else 2))
        current = parts[sure].rendered if sure < len(parts) else None
        return self._turned(parts[:sure], text, current)

    def _turned(self, sure: tuple[SplitPart, ...], text: str, current: Rendered | None) -> "Pages":
        """With these pages of the text behind the last cut between blocks, of which some stand already.

        Where those would be cut in other places by now, all of that text is read again, up to the whole answer.
        """
        full = self.full + sure[self.since :]
        before, since = self.before, len(sure)
        as_they_stand = sure[: self.since] == self.full[len(self.full) - self.since :]
        for index in range(len(sure) - 1, self.since - 1, -1):
            if as_they_stand and (next_at := sure[index].next_at) is not None:
                before, since = text[: len(before) + next_at], len(sure) - index - 1
                break
        return replace(self, full=full, current=current, before=before, since=since)

    def _is_enough(self, part: SplitPart) -> bool:
        return self.channel.limits.unit.measure(part.rendered.text) * ENOUGH_SHARE >= self.channel.limits.max_text

    def all_of(self, text: str) -> tuple[SplitPart, ...]:
        """The parts of the whole answer; those that stand are among them as they stand, where the text goes on so."""
        text = _plain(text)
        stand = self.full[: len(self.full) - self.since]
        if not stand or not text.startswith(self.before):
            return parts_of(self.channel, text, MAX_PARTS)
        return stand + parts_of(self.channel, text[len(self.before) :], MAX_PARTS - len(stand))


def _plain(text: str) -> str:
    return clean(text).lstrip()
