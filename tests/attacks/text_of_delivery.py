"""What of `gateway.delivery` reads a model's words: parts of a size so small that every text becomes several."""

from functools import partial

from channels.base import Limits, Renderer, TextUnit
from channels.discord.render import DiscordRenderer
from channels.telegram.render import TelegramRenderer
from gateway.delivery.boundaries import cut_before
from gateway.delivery.splitting import MAX_PARTS, split
from tests.attacks.entries import Entry

SMALL = Limits(max_text=200, unit=TextUnit.UTF16)
"""Little room; of more than `MAX_PARTS` times that no more is looked at."""


def in_parts(text: str, renderer: Renderer) -> None:
    """An answer cut to the size of a platform's messages."""
    split(text, renderer, SMALL)


def in_parts_of_blocks(text: str) -> None:
    """The same words as an entry of a list, as code and as a quote, all of which have to be cut."""
    split(f"- {text}\n\n```\n{text}\n```\n> {text}", TelegramRenderer(), SMALL)


def cut(text: str) -> None:
    """The best place to cut a text near its end."""
    cut_before(text, len(text) - 2)
    cut_before(text, len(text) - 2, [(0, 3), (5, 7)])


PLATFORMS: dict[str, Renderer] = {"telegram": TelegramRenderer(), "discord": DiscordRenderer()}
MOST_CHARS = MAX_PARTS * SMALL.max_text

ENTRIES: dict[str, Entry] = {
    "gateway.delivery.boundaries:cut_before": Entry(cut),
    "gateway.delivery.splitting:split of blocks": Entry(in_parts_of_blocks, MOST_CHARS // 3),
    **{
        f"gateway.delivery.splitting:split for {name}": Entry(partial(in_parts, renderer=renderer), MOST_CHARS)
        for name, renderer in PLATFORMS.items()
    },
}

EXCUSED: dict[str, str] = {
    "gateway.delivery.pacing": "chats by their ids, of which a bounded number is kept",
    "gateway.delivery.under_way": "the lanes that are at work, by their names",
}
