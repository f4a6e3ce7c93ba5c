"""What of `gateway.delivery` reads a model's words: parts of a size so small that every text becomes several."""

from channels.base import Limits, TextUnit
from channels.telegram.render import TelegramRenderer
from gateway.delivery.block_splitter import cut_before
from gateway.delivery.pages import AnswerPages
from gateway.delivery.splitter import MAX_PARTS, split
from tests.attacks.entries import Entry
from tests.fakes.chat import FakeChannel

TELEGRAM = TelegramRenderer()
SMALL = Limits(max_text=400, unit=TextUnit.UTF16)
"""Little room; of more than `MAX_PARTS` times that no more is looked at."""


def in_parts(text: str) -> None:
    """An answer cut to the size of a platform's messages."""
    split(text, TELEGRAM, SMALL)


def growing(text: str) -> None:
    """The same while it is written, and in the end."""
    half = len(text) // 2
    AnswerPages(FakeChannel(limits=SMALL, renderer=TELEGRAM)).read(text[:half]).read(text).all_of(text)


def cut(text: str) -> None:
    """The best place to cut a text near its end."""
    cut_before(text, len(text) - 2)
    cut_before(text, len(text) - 2, [(0, 3), (5, 7)])


ENTRIES: dict[str, Entry] = {
    "gateway.delivery.block_splitter:cut_before": Entry(cut),
    "gateway.delivery.splitter:split": Entry(in_parts, MAX_PARTS * SMALL.max_text),
    "gateway.delivery.pages:AnswerPages": Entry(growing, MAX_PARTS * SMALL.max_text),
}

EXCUSED: dict[str, str] = {
    "gateway.delivery.pacing": "chats by their ids, of which a bounded number is kept",
}
