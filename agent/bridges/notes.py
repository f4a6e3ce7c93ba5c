"""Notes of the gateway to agents that keep the conversation themselves: what was said before they did; pure."""

from collections.abc import Iterable

from agent.bridges.port import Exchange
from agent.context.compaction import lines_of
from agent.models.openai_format import note_text
from agent.transcript import Item, NoteItem

MOST_TOKENS = 4000
"""About the most of one message that a note has."""


def as_note(text: str) -> str:
    """Return the text in the form that models get notes in."""
    return note_text(NoteItem(text))


def conversation_note(exchange: Exchange) -> str:
    """Return the earlier conversation as a note; "" if there is none."""
    lines = to_lines(exchange.earlier)
    return as_note("\n".join(("This is the conversation before:", *lines))) if lines else ""


def to_lines(items: Iterable[Item]) -> list[str]:
    """Return messages, calls, results and notes as lines of text."""
    return [
        line for item in items for line in ([item.text] if isinstance(item, NoteItem) else lines_of(item, MOST_TOKENS))
    ]
